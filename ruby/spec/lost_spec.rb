# frozen_string_literal: true

require "tmpdir"
require_relative "../lib/proctor/wire"
require_relative "../lib/proctor/runner/time_limit"

# What is large, late, or comes at a bad moment must not be lost. Numbers are those of the audit.
RSpec.describe "nothing is lost on the way" do
  def suite(files, env: {})
    Dir.mktmpdir("proctor-lost") do |root|
      files.each do |name, text|
        path = File.join(root, "spec", name)
        FileUtils.mkdir_p(File.dirname(path))
        File.write(path, text)
      end
      Host.open(root, env: env) { |host| yield host }
    end
  end

  def run_suite(text)
    Dir.mktmpdir("proctor-lost") do |root|
      FileUtils.mkdir_p("#{root}/spec")
      File.write("#{root}/spec/a_spec.rb", text)
      SuiteRun.new(root).call
    end
  end

  def units(host)
    host.examples.chunk_while { |one, other| one["unit"] && one["unit"] == other["unit"] }
        .map { |unit| unit.map { |example| { key: example["key"], repeat: 1, attempt: 1 } } }
  end

  def results(messages)
    messages.select { |message| message["event_type"] == "ExampleFinished" }.map { |message| message["payload"]["status"] }
  end

  describe Proctor::LineLimit do
    it "B3 cuts texts and lists to fit, keeps the names, and says how long they were" do
      message = { type: "event", payload: { key: "k" * 300, status: "pending", text: "x" * 5_000, list: (1..9_000).to_a } }
      line = described_class.json(message, 2_000)
      expect(line.bytesize).to be <= 2_000
      payload = JSON.parse(line)["payload"]
      expect(payload).to include("key" => "k" * 300, "status" => "pending", "text" => /\Ax+… \(5000 bytes in all\)\z/)
      expect(payload["list"].last).to eq("… (9000 entries in all)")
    end

    it "B3 leaves the names when nothing else helps" do
      deep = (1..12).inject("x" * 200) { |inner, _| [inner] * 3 }
      line = described_class.json({ type: "event", event_type: "ExampleFinished", payload: { key: "k", status: "failed", deep: deep } }, 1_000)
      expect(JSON.parse(line)).to include("event_type" => "ExampleFinished", "payload" => include("key" => "k", "status" => "failed"))
    end

    it "never exceeds the limit and always keeps the key" do
      random = Random.new(15)
      200.times do
        value = ->(depth) { depth.zero? ? "é\"\n" * random.rand(40) : Array.new(random.rand(5)) { value.call(depth - 1) } }
        message = { type: "event", payload: { key: "k", status: "failed", a: value.call(random.rand(5)), b: { "k" * random.rand(500) => value.call(2) } } }
        line = described_class.json(message, 600)
        expect(line.bytesize).to be <= 600
        expect(JSON.parse(line)["payload"]["key"]).to eq("k")
      end
    end
  end

  it "B1 lists 300 examples with long descriptions and one with large metadata, all of them" do
    text = <<~RUBY
      RSpec.describe "long" do
        300.times { |n| it("\#{n} " + "d" * 40_000) { } }
        it("large", blob: "x" * 9_000_000, big: 10**5_000) { }
        it("x" * 9_000_000) { }
        it("x" * 9_000_000 + "y") { }
      end
    RUBY
    suite({ "a_spec.rb" => text }) do |host|
      expect(host.list).to include("count" => 303)
      examples = host.examples
      expect(examples.size).to eq(303)
      expect(examples.map { |example| example["path"] }.uniq.size).to eq(303)
      expect(examples[0]["description"]).to match(/\A0 d+… \(40002 bytes in all\)\z/)
      expect(examples[0]["path"].last.bytesize).to eq(40_002)
      expect(examples[300]["tags"]).to include("blob" => /… \(9000000 bytes in all\)/, "big" => /\A10+… \(5001 bytes in all\)\z/)
    end
  end

  it "B3 delivers results however large their texts are" do
    run = run_suite(<<~RUBY)
      RSpec.describe "results" do
        it("skips") { skip "x" * 9_000_000 }
        it("fails") { raise "y" * 9_000_000 }
        it("is an aggregate") { aggregate_failures { 80.times { expect("z" * 200_000).to eq("") } } }
        it("has a long backtrace") { e = RuntimeError.new("b"); e.set_backtrace(["l" * 300_000] * 60); raise e }
      end
    RUBY
    expect(run.finished.map { |event| event["status"] }).to eq(%w[pending failed failed failed])
    expect(run.result("skips")["pending_message"]).to match(/x… \(9000000 bytes in all\)\z/)
    expect(run.crashes).to be_empty
  end

  it "V7 runs examples that are defined while the suite runs, and reports those that come too late" do
    run = run_suite(<<~RUBY)
      require "rspec/core/sandbox"
      RSpec.describe "early" do
        it("adds a group") { RSpec.describe("late") { it("fails") { raise }; it("passes") { } } }
        it("adds to its group") { self.class.describe("nested") { it("x") { } }; self.class.it("own") { } }
        it("plays in a sandbox") { RSpec::Core::Sandbox.sandboxed { RSpec.describe("inner") { it("x") { raise } } } }
        it("makes a group that nobody knows") { Class.new(RSpec::Core::ExampleGroup) }
      end
    RUBY
    results = run.finished.map { |event| [event["key"][/\[[\d:]+\]/], event["status"]] }
    expect(results).to contain_exactly(["[1:1]", "passed"], ["[1:2]", "passed"], ["[1:3]", "passed"], ["[1:4]", "passed"],
                                       ["[2:1]", "failed"], ["[2:2]", "passed"], ["[1:5:1]", "passed"])
    expect(run.outside.size).to eq(1)
    expect(run.outside.first["message"]).to start_with("1 example was defined while the suite ran, by ./spec/a_spec.rb:4").and include("(early own)")
  end

  it "V7 runs those defined by hooks, unless nothing can follow" do
    run = run_suite(<<~RUBY)
      RSpec.configure { |c| c.after(:suite) { RSpec.describe("last") { it("x") { } } } }
      RSpec.describe "hooked" do
        before(:context) { RSpec.describe("late") { it("x") { raise } } }
        after(:context) { RSpec.describe("later") { it("y") { } }; self.class.describe("too late") { it("z") { } } }
        it("passes") { }
      end
    RUBY
    expect(run.finished.map { |event| event["status"] }).to eq(%w[passed failed passed])
    expect(run.outside.map { |error| error["message"][/too late to be run: (.*)/, 1] })
      .to eq(["./spec/a_spec.rb:4 (hooked too late z)", "./spec/a_spec.rb:1 (last x)"])
  end

  GROUP = <<~RUBY
    RSpec.describe "group" do
      before(:context) { @value = 1 }
      8.times { |n| it("example \#{n}") { expect(n % 2).to eq(0) } }
    end
  RUBY

  it "B6 holds after the allowed failures, even within a group, until told how to go on" do
    suite({ "a_spec.rb" => GROUP }) do |host|
      host.list
      worker = host.fork(0)
      worker.request("run", units: units(host), failures_left: 2)
      worker.rpc.wait_for("the second failure") { |messages| results(messages).count("failed") == 2 }
      expect(worker.request("dump")).to include("threads")
      expect(results(worker.rpc.events)).to eq(%w[passed failed passed failed])
      worker.rpc.tell("failures_left", by: 1)
      worker.rpc.wait_for("the third failure") { |messages| results(messages).count("failed") == 3 }
      reply = worker.request("__shutdown__")
      expect(results(worker.rpc.events).size).to eq(6)
      expect(reply).to include("started" => 6, "finished" => 6)
    end
  end

  it "B7 writes a key with control characters as JSON into the marks" do
    suite({ "a\tb\nc_spec.rb" => 'RSpec.describe("odd") { it("prints") { puts "hello" } }' }) do |host|
      reply = host.list
      expect(reply["errors"]).to be_empty
      worker = host.fork(0)
      worker.request("run", units: units(host), marks: "m4rk")
      # A shutdown takes back what has not started yet.
      worker.rpc.wait_for("the start") { |messages| messages.any? { |message| message["event_type"] == "ExampleStarted" } }
      worker.request("__shutdown__")
      worker.rpc.wait_closed
      expect(worker.stdout.finish).to eq(%(m4rk "./spec/a\\tb\\nc_spec.rb[1:1]"\t1\t1\nhello\nm4rk\n))
    end
  end

  it "B8 ends a before_fork hook that hangs, and does not try it again" do
    text = <<~RUBY
      require "proctor/fork_hooks"
      Proctor.before_fork { begin; sleep; rescue StandardError; retry; end }
      RSpec.describe("x") { it("y") { } }
    RUBY
    suite({ "a_spec.rb" => text }) do |host|
      host.list
      2.times do |slot|
        error = host.parent.request("fork", slot: slot, generation: 1, hooks_within_ms: 50)["error"]
        expect(error["message"]).to eq("a `before_fork` hook did not return within 0.05 s")
      end
    end
  end
end
