# frozen_string_literal: true

require "json"
require "open3"
require "tmpdir"

# The bus, the events and the observers of a program, without a host. They are loaded in a process of their own, because
# requiring the library changes the configuration of RSpec.
RSpec.describe "observers" do
  def ruby(code, folder: Dir.pwd, library: "proctor/rspec")
    lib = File.expand_path("../lib", __dir__)
    output, = Open3.capture2e(RbConfig.ruby, "-W", "-I", lib, "-e", "require #{library.inspect}\n#{code}", chdir: folder)
    output.gsub(/^.*(?:gems|rubygems-integration).*warning:.*\n/, "")
  end

  # A host that has so many events, in pages.
  let(:host) do
    <<~RUBY
      class PagedHost
        def initialize(count)
          @count = count
        end

        def request(_action, fields)
          last = [fields[:after] + 50, @count].min
          events = ((fields[:after] + 1)..last).map do |seq|
            { "seq" => seq, "event_type" => seq == @count ? "SuiteFinished" : "UserMessage", "text" => "t" }
          end
          { "events" => events, "bytes" => 200_000, "last" => last, "left_out" => 0, "ended" => fields[:after] >= @count }
        end
      end
      Subscription = Proctor::EventBus::Subscription
      def deliver(count, *handlers, within: 60)
        subscriptions = handlers.map { |handler| Subscription.new([], handler, nil) }
        feed = Proctor::Observation::EventFeed.new(PagedHost.new(count))
        Proctor::Observation::Delivery.new(feed, subscriptions).start.finish(within)
      end
    RUBY
  end

  it "knows every event and every field of the schema" do
    schema = JSON.parse(File.read(File.expand_path("../../schema/events.schema.json", __dir__)))
    known = JSON.parse(ruby("puts Proctor::Events::TYPES.transform_values(&:members).to_json"))
    described = schema.fetch("allOf").map { |rule| rule.dig("if", "properties", "event_type", "const") }.compact
    expect(known.keys).to match_array(described)
    described.each do |name|
      fields = schema.dig("$defs", name, "properties").keys + schema.dig("$defs", "Envelope", "properties").keys - %w[event_type digest]
      fields.map! { |field| field == "example_id" && name.start_with?("Example") ? "id" : field }
      expect(fields.uniq - known[name]).to eq([]), name
    end
  end

  it "has value objects that behave like Data" do
    code = <<~RUBY
      message = RspecAgents::Events::UserMessage.new(example_id: "a", turn_number: 1, text: "hi", source: :script, time: Time.at(0))
      p message.to_h, message.to_json, message.frozen?, message == message.with(text: "hi"), message.with(text: "no") == message
      p RspecAgents::Events::UserMessage.new("a", 1, "hi", :script, Time.at(0)) == message
      p RspecAgents::Events::UserMessage.members.first(5)
      case message
      in { text: String => text, turn_number: 1 } then p text
      end
      [{ nonsense: 1 }].each { |fields| RspecAgents::Events::UserMessage.new(**fields) rescue p $!.message }
      RspecAgents::Events::TopicChanged.new(*Array.new(99)) rescue p $!.class
    RUBY
    json = '{"example_id":"a","turn_number":1,"text":"hi","source":"script","time":"1970-01-01T00:00:00.000000Z","event_type":"UserMessage"}'
    lines = ruby(code).lines.map(&:chomp)
    expect(lines[0]).to start_with('{:example_id=>"a", :turn_number=>1, :text=>"hi", :source=>:script, :time=>')
    expect(lines.drop(1)).to eq([json.inspect, "true", "true", "false", "true",
                                 "[:example_id, :turn_number, :text, :source, :time]", '"hi"',
                                 '"unknown keyword: :nonsense"', "ArgumentError"])
  end

  it "takes over what a newer host adds" do
    code = <<~RUBY
      fields = { "event_type" => "ExampleFinished", "example_id" => "e", "seq" => 4, "time" => "2026-01-22T10:30:00.123456Z",
                 "status" => "failed", "exception" => { "class" => "X" }, "brand_new" => [{ "a" => 1 }], "digest" => "d" }
      event = Proctor::Events.from_wire(fields)
      p event.id, event.example_id, event.status, event.exception[:class], event.time.usec, event[:brand_new], event.to_h.key?(:digest)
      other = Proctor::Events.from_wire({ "event_type" => "Unheard", "text" => "t" })
      p other.event_type, other.text, other[:text], other.respond_to?(:nothing)
    RUBY
    expect(ruby(code).lines.map(&:chomp)).to eq(%w["e" "e" :failed "X" 123456 [{:a=>1}] false "Unheard" "t" "t" false])
  end

  it "hands events to subscribers of their type, to observers, and past those that fail" do
    code = <<~RUBY
      bus = Proctor::EventBus.new
      seen = []
      same = bus.subscribe { |_| raise NotImplementedError, "broken" }
                .subscribe { |_| exit 3 }
                .subscribe(Proctor::Events::UserMessage, "AgentError") { |event| seen << event.event_type }
      watcher = Class.new(Proctor::Observers::Base) { define_method(:on_agent_error) { |event| seen << event.message } }.new(event_bus: bus)
      bus.add_observer(watcher)
      2.times { bus.publish(Proctor::Events::UserMessage.new(text: "hi")) }
      bus.publish(Proctor::Events::AgentError.new(message: "oh"))
      bus.publish(Proctor::Events::JudgeError.new(message: "no"))
      p same.equal?(bus), seen
      bus.clear!
      bus.publish(Proctor::Events::UserMessage.new(text: "hi"))
      p seen.size, Proctor::EventBus.instance.equal?(Proctor::EventBus.instance)
    RUBY
    output = ruby(code)
    expect(output).to end_with("true\n[\"UserMessage\", \"UserMessage\", \"AgentError\", \"oh\"]\n4\ntrue\n")
    expect(output.scan("NotImplementedError: broken").size).to eq(1)
    expect(output.scan("SystemExit").size).to eq(1)
  end

  it "delivers everything to a slow observer, past its feed's memory, and to others at once" do
    output = ruby(<<~RUBY)
      #{host}
      slow = []
      fast = []
      deliver(3000, ->(event) { sleep(0.0005); slow << event[:seq] }, ->(event) { fast << event[:seq] })
      p slow == (1..3000).to_a, fast == (1..3000).to_a
    RUBY
    expect(output.lines.last(2)).to eq(%W[true\n true\n])
  end

  it "keeps every observer from harming the process and the others, and says each once" do
    output = ruby(<<~RUBY)
      #{host}
      good = []
      bad = { exit: -> { exit 3 }, now: -> { exit! 4 }, process: -> { Process.exit!(5) }, kernel: -> { Kernel.exit!(6) }, abort: -> { abort "gone" }, thrown: -> { throw :x }, thread: -> { Thread.exit },
              raised: -> { raise Interrupt }, memory: -> { raise NoMemoryError } }
      counts = Hash.new(0)
      deliver(100, ->(event) { good << event[:seq] }, *bad.map { |name, action| ->(_) { counts[name] += 1; action.call } })
      p good.size, counts.values.uniq
      fork { Process.exit!(7) }.then { |pid| p Process.wait2(pid).last.exitstatus }
    RUBY
    expect(output.lines.last(3)).to eq(%W[100\n [100]\n 7\n])
    expect(output.scan("this is said once").size).to eq(9)
  end

  it "goes on when a test ends every thread it finds" do
    output = ruby(<<~RUBY)
      #{host}
      seen = []
      subscription = Subscription.new([], ->(event) { sleep(0.001); seen << event[:seq] }, nil)
      feed = Proctor::Observation::EventFeed.new(PagedHost.new(300))
      delivery = Proctor::Observation::Delivery.new(feed, [subscription]).start
      sleep(0.001) until seen.size > 5
      (Thread.list - [Thread.current]).each(&:kill).each(&:join)
      delivery.finish(60)
      p seen.uniq == seen, (300 - seen.size) <= 1, seen.last
    RUBY
    expect(output.lines.last(3)).to eq(%W[true\n true\n 300\n])
  end

  it "gives up an observer that hangs, with the number of events it missed" do
    output = ruby(<<~RUBY)
      #{host}
      deliver(60, ->(event) { sleep if event[:seq] == 10 }, within: 1)
      puts "ended"
    RUBY
    expect(output).to include("missed 50 of 60 events, and has been busy with one for").and end_with("ended\n")
  end

  it "writes files and serves WebSockets on a bus of a program's own" do
    Dir.mktmpdir do |folder|
      output = ruby(<<~RUBY, folder: folder)
        bus = Proctor::EventBus.new
        Proctor::Observers::JsonlFileObserver.new(path: "a.jsonl", event_bus: bus)
        Proctor::Observers::JsonlFileObserver.new(path: "no/where.jsonl", event_bus: bus)
        server = Proctor::Observers::WebSocketObserver.new(port: 0, event_bus: bus).start
        client = TCPSocket.new("127.0.0.1", server.port)
        client.write("GET / HTTP/1.1\\r\\nHost: localhost\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n" \\
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n")
        puts client.gets, client.gets, client.gets, client.gets
        client.gets
        2.times { |n| bus.publish(Proctor::Events::UserMessage.new(text: n.to_s * 200)) }
        2.times do
          head = client.read(4).unpack("CCn")
          puts JSON.parse(client.read(head[2]))["text"].size
        end
        stranger = TCPSocket.new("127.0.0.1", server.port)
        stranger.write("GET / HTTP/1.1\\r\\nOrigin: https://example.org\\r\\nSec-WebSocket-Key: eA==\\r\\n\\r\\n")
        p stranger.read
      RUBY
      expect(output).to include("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=").and end_with("200\n200\n\"\"\n")
      expect(output.scan("JsonlFileObserver failed: Errno::ENOENT").size).to eq(1)
      texts = File.readlines("#{folder}/a.jsonl").map { |line| JSON.parse(line).values_at("event_type", "text") }
      expect(texts).to eq([["UserMessage", "0" * 200], ["UserMessage", "1" * 200]])
    end
  end

  it "can be required by the name of the design" do
    code = "p RspecAgents::EventBus == Proctor::EventBus, RspecAgents::Observers::Base.instance_methods(false).size > 20"
    expect(ruby(code, library: "rspec_agents")).to eq("true\ntrue\n")
  end

  it "publishes what RSpec does on a bus of a program's own, without a host" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/a_spec.rb", <<~RUBY)
        require "proctor/rspec"
        BUS = RspecAgents::EventBus.new
        RspecAgents::RSpecIntegration.install!(BUS)
        BUS.subscribe { |event| File.write("seen", event.to_json + "\n", mode: "a") }
        RSpec.describe("A") do
          it("passes") { expect(Thread.current[:rspec_agents_example_id]).to match(/\\A[0-9a-f]{12}\\z/) }
          it("fails") { raise IOError, "no" }
          it("waits") { skip "later" }
        end
      RUBY
      lib = File.expand_path("../lib", __dir__)
      output, status = Open3.capture2e({ "PROCTOR_BIN" => "/nowhere", "SPEC_OPTS" => nil }, "rspec", "-I", lib, "a_spec.rb", chdir: folder)
      expect([status.exitstatus, output]).to match([1, /3 examples, 1 failure, 1 pending/])
      events = File.readlines("#{folder}/seen").map { |line| JSON.parse(line) }
      expect(events.map { |event| event["event_type"] }).to eq(
        ["SuiteStarted", *(%w[ExampleStarted ExampleFinished] * 3), "SuiteFinished"]
      )
      finished = events.select { |event| event["event_type"] == "ExampleFinished" }
      expect(finished.map { |event| event["status"] }).to eq(%w[passed failed pending])
      expect(finished[1]["exception"]).to include("class" => "IOError", "message" => "no")
      expect(events.last).to include("example_count" => 3, "failure_count" => 1)
      ids = events.map { |event| event["example_id"] }.compact
      expect(ids.each_slice(2).map(&:uniq).map(&:size)).to eq([1, 1, 1])
    end
  end
end
