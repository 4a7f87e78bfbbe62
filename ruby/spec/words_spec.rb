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

  it "says which scenario of which file is wrong" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/rows.json", '[{"name": "a", "goal": "g"}, {"name": "b"}]')
      code = "begin; Proctor::Specs::Scenarios.load('set', 'rows.json', nil, '#{folder}/x_spec.rb')\n" \
             "rescue Proctor::UsageError => e; puts e.message; end"
      expect(ruby(code)).to eq("rows.json: scenario 2 needs `goal`, a text\n")
    end
  end

  it "takes the destination of events from the configuration, else from the environment" do
    code = <<~RUBY
      config = Proctor.configuration
      puts config.destination({ "RSPEC_AGENTS_EVENTS" => "old", "PROCTOR_EVENTS" => "" })
      config.add_observer(:jsonl, path: "a.jsonl")
      config.add_observer(:websocket, port: 4567)
      puts config.destination({ "PROCTOR_EVENTS" => "new" })
    RUBY
    expect(ruby(code)).to eq("old\na.jsonl,ws://localhost:4567\n")
  end

  it "tells observers on a thread of its own and survives their errors" do
    code = <<~RUBY
      seen = []
      good = Object.new.tap { |o| o.define_singleton_method(:on_user_message) { |event| seen << event.text } }
      observers = Proctor::Observers.new([->(_) { raise "broken" }, good])
      2.times { observers.tell({ "event_type" => "UserMessage", "text" => "hi" }) }
      observers.finish
      p seen
    RUBY
    expect(ruby(code)).to match(/\Aproctor: the observer Proc failed: RuntimeError: broken .*\n\["hi", "hi"\]\n\z/)
  end
end
