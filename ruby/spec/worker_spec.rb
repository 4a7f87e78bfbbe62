# frozen_string_literal: true

RSpec.describe "a worker" do
  def with_worker(name, *args, **options)
    Host.open(fixture(name), **options) do |host|
      host.list(*args)
      worker = host.fork(0)
      @keys = host.examples.to_h { |example| [example["description"], example["key"]] }
      yield worker, host
    end
  end

  def item(description, repeat: 1, attempt: 1)
    { key: @keys.fetch(description), repeat: repeat, attempt: attempt }
  end

  def finished(worker, count)
    worker.rpc.wait_for("#{count} results") do |messages|
      found = messages.select { |message| message["event_type"] == "ExampleFinished" }
      found.map { |message| message["payload"] } if found.size == count
    end
  end

  it "says hello, refuses what it does not know, and leaves when told" do
    with_worker("tags") do |worker, host|
      expect(worker.rpc.connect_line).to include("slot" => 0, "generation" => 0, "pid" => worker.pid, "token" => host.token)
      expect(worker.request("hello", protocol: 1)).to include("protocol" => 1, "pid" => worker.pid)
      expect(worker.request("nonsense")["error"]["code"]).to eq("unknown_action")
      expect(worker.request("run", units: [[{ key: "no such" }]])["error"]).to include("code" => "bad_request", "message" => /no such/)
      expect(worker.request("__shutdown__")["status"]).to eq("shutting_down")
      expect(host.exited(worker.pid)).to include("exit_status" => 0, "slot" => 0)
    end
  end

  it "refuses another protocol and exits" do
    with_worker("tags") do |worker, host|
      expect(worker.request("hello", protocol: 2)["error"]["code"]).to eq("unsupported_protocol")
      expect(host.exited(worker.pid)).to include("exit_status" => 1)
    end
  end

  it "gives back what it has not started" do
    with_worker("crashes") do |worker, _host|
      order = ["is fine before", "hangs", "is fine after", "exits now"]
      worker.request("run", units: order.map { |each| [item(each)] })
      worker.rpc.wait_for("the hanging example") { |messages| messages.count { |each| each["event_type"] == "ExampleStarted" } == 2 }
      expect(worker.request("unrun", keys: [@keys["exits now"], @keys["hangs"]])["returned"]).to eq([@keys["exits now"]])
      expect(worker.request("unrun", all: true)["items"]).to eq([{ "key" => @keys["is fine after"], "repeat" => 1, "attempt" => 1 }])
      expect(worker.request("unrun", all: true)["returned"]).to eq([])
      threads = worker.request("dump")["threads"]
      expect(threads.find { |thread| thread["name"] == "main" }["backtrace"].join).to include("crash_spec.rb:12")
    end
  end

  it "gives back the rest of a unit only when asked" do
    with_worker("hooks") do |worker, _host|
      worker.request("run", units: [[item("sees the variable"), item("may replace it")]])
      finished(worker, 2)
      expect(worker.request("unrun", all: true, current: true)["returned"]).to eq([])
    end
  end

  it "starts nothing more once cancelled" do
    with_worker("stubs") do |worker, _host|
      worker.request("run", units: [[item("stubs the clock")], [item("is still reported")]])
      reply = worker.request("cancel", grace_ms: 100)
      expect(reply["status"]).to eq("cancelling")
      expect(worker.request("run", units: [[item("is still reported")]])["error"]["code"]).to eq("cancelled")
      worker.request("__shutdown__")
      done = worker.rpc.events("ExampleFinished").map { |payload| payload["key"] }
      expect(done + reply["returned"]).to contain_exactly(@keys["stubs the clock"], @keys["is still reported"])
    end
  end

  it "runs an example again as if for the first time" do
    with_worker("broad") do |worker, _host|
      again = ["is pending and fails", "is pending but fixed", "is skipped inside", "raises"]
      worker.request("run", units: again.flat_map { |each| [[item(each)], [item(each, repeat: 2, attempt: 3)]] })
      results = finished(worker, 8)
      results.each_slice(2) do |first, second|
        expect(second).to include("repeat" => 2, "attempt" => 3)
        ignored = %w[repeat attempt duration_ms]
        expect(second.reject { |key, _| ignored.include?(key) }).to eq(first.reject { |key, _| ignored.include?(key) })
      end
    end
  end

  it "writes one example's start together with the end of the one before, and before its code runs" do
    with_worker("crashes") do |worker, host|
      worker.request("run", units: [[item("is fine before")], [item("exits now")]])
      host.exited(worker.pid)
      worker.rpc.wait_closed
      kinds = worker.rpc.events.map { |event| event["event_type"] }
      expect(kinds).to eq(%w[GroupStarted ExampleStarted ExampleFinished ExampleStarted])
    end
  end

  it "dies with its process group when the host is gone" do
    with_worker("leaks") do |worker, host|
      worker.request("run", units: [[item("is up")]])
      finished(worker, 1)
      worker.rpc.close
      expect(host.exited(worker.pid)).to include("signal" => 9)
      expect(running?("sleep 4323")).to be(false)
    end
  end

  it "opens named pipes for its output when asked" do
    Dir.mktmpdir do |folder|
      File.mkfifo("#{folder}/out")
      Host.open(fixture("output")) do |host|
        host.list
        reader = Thread.new { File.read("#{folder}/out") }
        worker = host.fork(0, streams: { stdout: "#{folder}/out" })
        worker.request("run", units: [[{ key: host.examples.first["key"] }]])
        finished(worker, 1)
        worker.request("__shutdown__")
        expect(reader.value).to eq("one\nno newline")
      end
    end
  end
end
