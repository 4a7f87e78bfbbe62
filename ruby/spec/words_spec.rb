# frozen_string_literal: true

require "tmpdir"

# The parts of the conversation library that need no host. They are loaded in a process of their own, because requiring
# the library changes the configuration of RSpec.
RSpec.describe "proctor/rspec" do
  def ruby(code)
    library = File.expand_path("../lib", __dir__)
    output = IO.popen([RbConfig.ruby, "-W", "-I", library, "-e", "require 'proctor/rspec'\n#{code}", { err: %i[child out] }], &:read)
    output.gsub(/^.*(?:gems|rubygems-integration).*warning:.*\n/, "")
  end

  it "loads with nothing but RSpec, without a warning" do
    expect(ruby("puts $LOADED_FEATURES.grep(/proctor.rspec.install/).size")).to eq("1\n")
  end

  it "does not hide RSpec's own name from the library" do
    expect(ruby("puts Proctor.const_defined?(:RSpec, false)")).to eq("false\n")
  end

  it "merges simulators from the outside in" do
    code = <<~RUBY
      build = ->(&block) { Proctor::Specs::SimulatorBuilder.new(Object.new).fill(block) }
      outer = build.call { role "guest"; personality { note "calm" }; context "outer"; rule :should, "ask"; max_turns 5 }
      inner = build.call { personality { note "curt" }; context "inner"; rule :should, "wait" }
      puts JSON.generate(inner.inside(outer).to_wire(nil, nil))
    RUBY
    expect(JSON.parse(ruby(code))).to eq(
      "role" => "guest", "personality" => %w[calm curt], "context" => "inner", "max_turns" => 5,
      "rules" => { "should" => %w[ask wait] }
    )
  end

  it "compares arguments of tool calls by value, pattern, block and matcher" do
    code = <<~RUBY
      call = Proctor::Specs::Call.new("name" => "book", "arguments" => { "guests" => 5, "city" => "Rome", "tags" => ["a"] })
      matches = ->(wanted) { Proctor::Specs::ToolPattern.new(:book, wanted).matches?(call) }
      p [{ guests: 5 }, { guests: 6 }, { city: /om/ }, { city: :Rome }, { guests: ->(n) { n > 4 } }, { tags: [:a] }, { no: 1 }].map(&matches)
      p [{ guests: 5 }, { city: /om/ }].map { |wanted| Proctor::Specs::ToolPattern.new(:book, wanted).plain? }
    RUBY
    expect(ruby(code)).to eq("[true, false, true, true, true, true, false]\n[true, false]\n")
  end

  it "refuses answers of an agent that say nothing, because every negated check would hold for them" do
    code = <<~RUBY
      [nil, {}, { content: "a" }, 12].each do |answer|
        Proctor::AgentResponse.from(answer)
      rescue Proctor::UsageError => error
        puts error.message
      end
      p Proctor::AgentResponse.from({ "tool_calls" => [] }).text, Proctor::AgentResponse.from("").text
    RUBY
    expect(ruby(code)).to eq(<<~TEXT)
      the agent answered with nil; return a String, a Hash with :text, or a Proctor::AgentResponse
      the agent answered with a Hash that has nothing in it; the words of the answer are :text
      the agent answered with a Hash that has :content; the words of the answer are :text
      the agent answered with Integer; return a String, a Hash with :text, or a Proctor::AgentResponse
      ""
      ""
    TEXT
  end

  # In the shape of RubyLLM's chats and messages, which no package here brings.
  it "reads calls, results and tokens off the messages of an agent with `ask` and `messages`" do
    code = <<~RUBY
      Message = Struct.new(:role, :content, :tool_calls, :tool_call_id, :input_tokens, :output_tokens, keyword_init: true)
      Call = Struct.new(:id, :name, :arguments, keyword_init: true)
      class Talk
        attr_reader :messages
        def initialize = @messages = [Message.new(role: :system, content: "Be brief")]
        def with_tool(*) = self
        def ask(text)
          @messages << Message.new(role: :user, content: text)
          if text == "book"
            call = Call.new(id: "c1", name: "book", arguments: { "guests" => 4 })
            @messages << Message.new(role: :assistant, content: "", tool_calls: { "c1" => call }, input_tokens: 5, output_tokens: 1)
            @messages << Message.new(role: :tool, content: "done", tool_call_id: "c1")
          end
          @messages << Message.new(role: :assistant, content: "said " + text, input_tokens: 7, output_tokens: 2)
          @messages.last
        end
      end
      chat = Proctor::Specs::Chat.new(Talk.new)
      answer = ->(text) { chat.call([{ "role" => "user", "content" => text }]) }
      p answer.call("book"), answer.call("thanks")

      Plain = Struct.new(:content)
      class Silent
        attr_reader :messages
        def initialize = @messages = []
        def ask(text) = (@messages << Plain.new(text)).last
      end
      p Proctor::Specs::Chat.new(Silent.new).call([{ "role" => "user", "content" => "hi" }])
      class Mute < Silent
        def ask(_) = nil
      end
      begin
        Proctor::Specs::Chat.new(Mute.new).call([{ "role" => "user", "content" => "hi" }])
      rescue Proctor::UsageError => error
        puts error.message
      end
    RUBY
    expect(ruby(code)).to eq(<<~TEXT)
      #{{ text: "said book", tool_calls: [{ id: "c1", name: "book", arguments: { "guests" => 4 }, result: "done" }],
          pending_tool_calls: [], metadata: { "input_tokens" => 12, "output_tokens" => 3 }, ends_turn: false }.inspect}
      #{{ text: "said thanks", tool_calls: [], pending_tool_calls: [], metadata: { "input_tokens" => 7, "output_tokens" => 2 },
          ends_turn: false }.inspect}
      #{{ text: "hi", pending_tool_calls: [], ends_turn: false }.inspect}
      `ask` of the agent returned nil without a text in `content`
    TEXT
  end

  it "says which scenario of which file is wrong" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/rows.json", '[{"name": "a", "goal": "g"}, {"name": "b"}]')
      code = "begin; Proctor::Specs::Scenarios.load('set', 'rows.json', nil, '#{folder}/x_spec.rb')\n" \
             "rescue Proctor::UsageError => e; puts e.message; end"
      expect(ruby(code)).to eq("rows.json: scenario 2 needs `goal`, a text\n")
    end
  end

  it "adds up the destinations that the code names, each once" do
    code = <<~RUBY
      Dir.chdir("/tmp")
      config = Proctor.configuration
      p config.destinations, config.destinations_elsewhere?({ "PROCTOR_EVENTS" => "" }), config.destinations_elsewhere?({ "RSPEC_AGENTS_EVENTS" => "old" })
      config.events = "b.jsonl, ws://localhost:4567"
      config.add_observer(:jsonl, path: "a.jsonl")
      config.add_observer(:websocket, port: 4567)
      config.observers << Proctor::Observers::JsonlFileObserver.new(path: "a.jsonl")
      p config.destinations, Proctor::Observation.subscriptions.size
      config.enable_events = false
      p config.destinations
    RUBY
    expect(ruby(code)).to eq(%([]\nfalse\ntrue\n["b.jsonl", "ws://localhost:4567", "/tmp/a.jsonl"]\n0\n[]\n))
  end
end
