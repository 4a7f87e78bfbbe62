# frozen_string_literal: true

RSpec.describe "a run" do
  it "attributes output by position, children's included" do
    run = run_fixture("output")
    expect(run.output("stdout", "prints")).to eq("one\nno newline")
    expect(run.output("stdout", "prints to both")).to eq("two out\n")
    expect(run.output("stderr", "prints to both")).to eq("two err\n")
    expect(run.output("stdout", "child that prints")).to eq("mine hi\n")
    expect(run.output("stderr", "child that prints")).to eq("oops\n")
    expect(run.output("stdout", "replaces stdout")).to eq("constant\n")
    expect(run.output("stdout", "still counts")).to eq("five\n")
    expect(run.output("stderr", "closes stderr")).to eq("")
    expect(run.outputs["stderr"].keys.size).to eq(7)
    expect(run.output("stdout", "is silent")).to eq("")
  end

  it "names and ends the processes an example leaves behind" do
    run = run_fixture("leaks")
    expect(run.result("daemonises")["leaked"].map { |leak| leak["command"] }).to eq(["sleep 4321"])
    expect(run.result("spawns and forgets")["leaked"].map { |leak| leak["command"] }).to eq(["sleep 4322"])
    expect(run.result("leaks next to it")["leaked"].map { |leak| leak["command"] }).to eq(["sleep 4324"])
    expect(run.finished.count { |event| event["leaked"] }).to eq(3)
    expect(run.finished.map { |event| event["status"] }.uniq).to eq(["passed"])
    groups = run.events.select { |event| event["event_type"] == "GroupFinished" }.map { |event| event["payload"]["leaked"] }.compact
    expect(groups.flatten.map { |leak| leak["command"] }).to eq(["sleep 4323"])
    (4321..4324).each { |number| expect(running?("sleep #{number}")).to be(false) }
  end

  it "only reports them when told so" do
    run = run_fixture("leaks", "-e", "spawns and forgets", worker_env: { "PROCTOR_LEAKS" => "report" })
    expect(run.result("spawns and forgets")["leaked"].size).to eq(1)
    expect(run.result("spawns and forgets")["status"]).to eq("passed")
  end

  it "loses exactly the examples that crash, and attributes each" do
    run = run_fixture("crashes", limit: 3)
    endings = run.crashes.to_h { |crash| [run.examples.find { |each| each["key"] == crash.key }["description"], crash.ending] }
    expect(endings).to eq(
      "exits now" => { "exit_status" => 7 }, "exits" => { "exit_status" => 8 }, "aborts" => { "exit_status" => 1 },
      "kills" => { "signal" => 9 }, "interrupts" => { "signal" => 15 }, "ends its thread" => { "exit_status" => 0 },
      "hangs" => { "signal" => 9 }, "never starts" => { "exit_status" => 9 }
    )
    passed = run.finished.select { |event| event["status"] == "passed" }
    expect(passed.size + endings.size).to eq(run.examples.size)
    expect(run.output("stdout", "exits")).to eq("leaving\n")
    expect(run.output("stderr", "aborts")).to eq("no more\n")
  end

  it "goes on whatever tests stub or break" do
    run = run_fixture("stubs", marks: "n0nce")
    statuses = run.examples.map { |example| run.finished.find { |event| event["key"] == example["key"] }&.fetch("status") }
    expect(statuses).to eq(%w[passed passed passed passed passed passed passed passed passed failed])
    expect(run.result("when it fails")["exception"]).to include("message" => "boom")
    expect(run.finished.first["duration_ms"]).to be >= 10
  end

  it "carries messages that are not text" do
    run = run_fixture("odd")
    expect(run.result("in bytes")["exception"]["message"]).to eq("caf\uFFFD \u0000 end")
    expect(run.result("another encoding")["exception"]["message"]).to eq("é")
    expect(run.result("that raises")["exception"]["message"]).to match(/raises RuntimeError/)
    expect(run.result("huge message")["exception"]["message"].bytesize).to be < 300_000
    expect(run.finished.size).to eq(5)
  end

  it "shows failures as RSpec would" do
    run = run_fixture("broad")
    failed = run.result("fails with a diff")["exception"]
    expect(failed["presented"]).to start_with("Failure/Error: it(\"fails with a diff\")")
    expect(failed["presented"]).to include("expected: [\"a\", \"c\"]", "# ./spec/nested_spec.rb:19")
    expect(failed["project_line"]).to start_with("./spec/nested_spec.rb:19")
    expect(run.result("has a cause")["exception"]["causes"].first).to include("class" => "ArgumentError")
    expect(run.result("has two failures")["failures"].map { |part| part["message"][/expected: \d/] }).to eq(["expected: 2", "expected: 4"])
    expect(run.result("deep backtrace")["exception"]["backtrace"].size).to eq(50)
    expect(run.result("is pending but fixed")).to include("status" => "failed", "fixed" => true)
    expect(run.result("is skipped inside")).to include("status" => "pending", "skipped" => true, "pending_message" => "not today")
    expect(run.result("is pending and fails")["pending_exception"]).to include("message" => "still broken")
    expect(run.finished.map { |event| event["full_description"] }.compact).to include("Cart is expected to eq 6")
  end

  it "reports errors in context hooks with their place" do
    run = run_fixture("hooks")
    expect(run.outside.first).to include("phase" => "after_context", "location" => "./spec/hooks_spec.rb:45")
    expect(run.outside.first["group"]["location"]).to eq("./spec/hooks_spec.rb:44")
    expect(run.outside.first["exception"]).to include("class" => "RuntimeError", "message" => "cannot clean up")
    expect(run.logs.map { |log| log["message"] }).to include("said by an example")
    expect(run.logs.find { |log| log["level"] == "deprecation" }["message"]).to include("the old way is deprecated")
  end

  it "runs nothing after a failed before(:suite) hook" do
    run = run_fixture("suite_error", env: { "WHICH" => "before" })
    expect(run.outside.first).to include("phase" => "before_suite")
    expect(run.finished.map { |event| event["status"] }).to eq(%w[not_run not_run])
    expect(plain("suite_error", env: { "WHICH" => "before" }).results).to eq({})
  end

  it "reports a failed after(:suite) hook" do
    run = run_fixture("suite_error", env: { "WHICH" => "after" })
    expect(run.finished.map { |event| event["status"] }).to eq(%w[passed passed])
    expect(run.outside.first).to include("phase" => "after_suite")
  end

  it "gives random data that depend on seed and example only" do
    one = run_fixture("random", "--seed", "5").outputs["stdout"]
    three = run_fixture("random", "--seed", "5", workers: 3).outputs["stdout"]
    other = run_fixture("random", "--seed", "6").outputs["stdout"]
    expect(three).to eq(one)
    expect(other).not_to eq(one)
    expect(one.values.reject(&:empty?).uniq.size).to be > 15
  end

  it "turns deprecations into errors when the project wants that" do
    env = { "WHICH" => "deprecations" }
    run = run_fixture("options", "-e", "deprecates", env: env)
    expect_equal_results(run, plain("options", "-e", "deprecates", env: env))
    expect(run.result("deprecates")["exception"]["class"]).to eq("RSpec::Core::DeprecationError")
  end

  it "gives workers their environment and runs the fork hooks" do
    run = run_fixture("options", "-e", "environment", "-e", "rspec", workers: 2, worker_env: { "EXTRA" => "1" })
    environments = run.outputs["stdout"].values.select { |text| text.start_with?("[\"0\"", "[\"1\"") }
    expect(environments - [%(["0", "0", "", nil, nil, "1"]\n), %(["1", "1", "2", nil, nil, "1"]\n)]).to eq([])
    expect(run.output("stdout", "is called rspec")).to eq(%(["rspec", true]\n))
    expect(run.host_stdout).to include("before fork")
  end

  it "runs nothing in a worker whose after_fork hook failed" do
    run = run_fixture("options", "-e", "comes last", env: { "WHICH" => "hook_error" })
    expect(run.outside.first["exception"]["message"]).to eq("no connection")
    expect(run.finished.map { |event| event["status"] }).to eq(["not_run"])
  end

  it "stops when RSpec is told to quit" do
    run = run_fixture("options", "-e", "quits", "-e", "comes last")
    expect(run.finished.map { |event| event["status"] }).to eq(%w[passed not_run])
  end

  %w[autorun minitest].each do |which|
    it "is not run a second time by #{which}" do
      run = run_fixture("options", "-e", "comes last", env: { "WHICH" => which })
      expect(run.finished.map { |event| event["status"] }).to eq(["passed"])
      expect(run.host_stdout).not_to match(/examples?,|runs,/)
    end
  end

  it "runs at_exit blocks in the parent, and in workers when asked" do
    run = run_fixture("options", "-e", "comes last", env: { "WHICH" => "at_exit" })
    expect(run.host_stdout.scan("at_exit in").size).to eq(1)
    expect(run.raw).not_to include("at_exit in")
    run = run_fixture("options", "-e", "comes last", env: { "WHICH" => "at_exit", "PROCTOR_AT_EXIT" => "all" })
    expect(run.raw).to include("at_exit in")
    run = run_fixture("options", "-e", "comes last", env: { "WHICH" => "at_exit", "PROCTOR_AT_EXIT" => "none" })
    expect(run.host_stdout).not_to include("at_exit in")
  end

  it "forwards the events of the rspec-agents gem" do
    run = run_fixture("agents")
    key = run.examples.first["key"]
    expect(run.events.select { |event| event["event_type"] == "UserMessage" }.map { |event| event["payload"] }).to eq(
      [{ "example_id" => key, "turn_number" => 1, "text" => "hi", "time" => "1970-01-01T00:00:00.000Z",
         "key" => key, "repeat" => 1, "attempt" => 1 }]
    )
  end
end
