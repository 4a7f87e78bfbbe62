# frozen_string_literal: true

require "tmpdir"

# `require "rspec/agents"` where the gem rspec-agents is not installed, and where it is. What conversations do under these
# names: spec/fixtures/moved.
RSpec.describe "rspec/agents" do
  library = File.expand_path("../lib", __dir__)

  define_method(:ruby) do |code, folders: [library], env: {}|
    command = [env, RbConfig.ruby, "-W", *folders.flat_map { |folder| ["-I", folder] }, "-e", code, { err: %i[child out] }]
    IO.popen(command, &:read).gsub(/^.*(?:gems|rubygems-integration).*warning:.*\n/, "")
  end

  def agents(code, **options)
    ruby("require 'rspec/agents'\n#{code}", **options)
  end

  def message(code, **options)
    agents("begin; #{code}\nrescue NameError, Proctor::Error => error; puts error.message; end", **options)
  end

  it "stands in for the gem, without a warning" do
    expect(agents("p RSpec::Agents::STAND_IN == Proctor::VERSION, RSpec::Agents::Agents::Base.superclass"))
      .to eq("true\nProctor::Agent\n")
  end

  # The gem, reduced to a name.
  def with_gem
    Dir.mktmpdir do |home|
      folder = "#{home}/gems/rspec-agents-9.9.9/lib/rspec"
      FileUtils.mkdir_p([folder, "#{home}/specifications"])
      File.write("#{folder}/agents.rb", "module RSpec; module Agents; REAL = true; module DSL; end; end; end")
      File.write("#{home}/specifications/rspec-agents-9.9.9.gemspec", <<~RUBY)
        Gem::Specification.new do |spec|
          spec.name = "rspec-agents"
          spec.version = "9.9.9"
          spec.summary = "a stand-in"
          spec.authors = ["nobody"]
          spec.files = ["lib/rspec/agents.rb"]
        end
      RUBY
      yield home, File.dirname(folder)
    end
  end

  it "leaves the place to the gem where it is installed" do
    with_gem do |home, _|
      expect(agents("p RSpec::Agents::REAL, defined?(Proctor::Specs)", env: { "GEM_PATH" => home })).to eq("true\nnil\n")
    end
  end

  it "leaves the place to the gem wherever it stands in the load path" do
    with_gem do |_, folder|
      [[folder, library], [library, folder]].each do |folders|
        expect(agents("p RSpec::Agents::REAL, defined?(Proctor::Specs)", folders: folders)).to eq("true\nnil\n")
      end
    end
  end

  it "is not confused by a second copy of itself" do
    Dir.mktmpdir do |folder|
      FileUtils.cp_r("#{library}/.", folder)
      expect(agents("p RSpec::Agents::STAND_IN", folders: [library, folder])).to start_with("\"")
    end
  end

  it "refuses to define the words of conversations beside the gem's" do
    with_gem do |_, folder|
      code = "require 'rspec/core'; begin; require 'proctor/rspec'; rescue Proctor::UsageError => error; puts error.message; end"
      expect(agents(code, folders: [folder, library])).to start_with("the gem rspec-agents is loaded already")
    end
  end

  it "says that a part of the gem has no counterpart" do
    expect(message("RSpec::Agents::Judge")).to start_with("RSpec::Agents::Judge of the gem rspec-agents has no counterpart")
    expect(message("Class.new(RSpec::Agents::Llm::Base)")).to start_with("RSpec::Agents::Llm::Base of the gem")
  end

  it "takes the model of Anthropic, and its key from the environment only" do
    fields = "p Proctor.configuration.models['judge'].model_fields"
    configure = ->(call) { "RSpec::Agents.configure { |config| config.#{call} }" }
    expect(agents("#{configure.call("use_anthropic!(model: 'm')")}; #{fields}")).to eq("{\"anthropic\"=>\"m\"}\n")
    expect(agents("#{configure.call("use_anthropic!(api_key: ENV['MY_KEY'])")}; p Proctor.configuration.models['judge'].model_fields['key_env']",
                  env: { "MY_KEY" => "secret-1" })).to eq("\"MY_KEY\"\n")
    refused = message(configure.call("use_anthropic!(api_key: 'secret-2')"))
    expect(refused).to include("set ANTHROPIC_API_KEY").and(satisfy { |text| !text.include?("secret-2") })
  end

  it "refuses models written in Ruby, and says what to write" do
    expect(message("RSpec::Agents.configure { |config| config.llm = Object.new }")).to include("config.model = { anthropic:")
  end

  it "warns of settings that have no effect" do
    expect(agents("RSpec::Agents.configure { |config| config.cache_dir = 'tmp' }")).to eq(
      "proctor: `cache_dir` of rspec-agents has no effect: answers of models are kept with `proctor run --cache`\n"
    )
  end

  it "passes other settings on" do
    expect(agents("RSpec::Agents.configure { |config| config.events = 'a.jsonl' }; p Proctor.configuration.events")).to eq("\"a.jsonl\"\n")
  end

  it "forgets agent and model" do
    code = "RSpec::Agents.configure(&:use_mock_llm!); RSpec::Agents.reset_configuration!; p Proctor.configuration.models, RSpec::Agents.configuration.llm"
    expect(agents(code)).to eq("{}\nnil\n")
  end

  it "takes a block as what builds the agent" do
    code = "RSpec::Agents.configure { |config| config.agent = ->(context) { context[:name] } }; p Proctor.configuration.agent.build({ name: 1 })"
    expect(agents(code)).to eq("1\n")
  end

  describe "the mock" do
    it "answers for names, and for the texts of criteria with them" do
      code = <<~RUBY
        mock = RSpec::Agents::Llm::Mock.new
        mock.set_evaluation(:friendly, true, "why (not)?")
        criterion = Struct.new(:text).new("It is kind. (Always.)")
        rules = mock.model_fields("judge", { friendly: criterion })["verdicts"]
        p rules.map { |rule| rule["about"] }, rules.first["asked"], rules.map { |rule| rule["satisfied"] }.uniq
      RUBY
      expect(agents(code)).to eq(<<~TEXT)
        ["criterion", "grounded", "forbidden_claims", "intent", "goal"]
        "(?i)\\\\bfriendly\\\\b|It is kind\\\\. \\\\(Always\\\\.\\\\)"
        [true]
      TEXT
    end

    it "never leaves a part to a model of the project" do
      code = "mock = RSpec::Agents::Llm::Mock.new; %w[judge simulator].each { |part| p mock.model_fields(part, {}).values.first.size }"
      expect(agents(code)).to eq("1\n1\n")
    end

    it "refuses what it cannot do, and says what to write" do
      expect(message("RSpec::Agents::Llm::Mock.new.queue_topic_classification(:loan)")).to include("triggers").and include("about: \"topic\"")
      expect(message("RSpec::Agents::Llm::Mock.new.last_prompt")).to include("proctor show last")
    end
  end

  it "has notes that are read and written in every way" do
    code = <<~RUBY
      notes = RSpec::Agents::Metadata.new("a" => 1)
      notes.b = 2
      notes.scope!(:c, :d) { |inner| inner.e = 3 }
      p notes.a, notes["b"], notes.dig(:c, :d, :e), notes.dig(:x, :y), notes.to_h, notes == { a: 1, b: 2, c: { d: { e: 3 } } }
    RUBY
    expect(agents(code)).to eq("1\n2\n3\nnil\n{:a=>1, :b=>2, :c=>{:d=>{:e=>3}}}\ntrue\n")
  end

  it "counts calls with a number that compares as one" do
    code = <<~RUBY
      two = Proctor::RspecAgentsCompat::CallCount.new(2)
      p two > 0, two == 2, two >= 2.5, 3 > two, two + 1, two.zero?, two.positive?, two == 3
    RUBY
    expect(agents(code)).to eq("true\ntrue\nfalse\ntrue\n3\nfalse\ntrue\nfalse\n")
  end
end
