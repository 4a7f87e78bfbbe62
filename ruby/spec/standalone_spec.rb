# frozen_string_literal: true

RSpec.describe "a worker that loads on its own" do
  def open_worker(name, env: {}, &block)
    Host.open(fixture(name), program: "proctor-rspec-worker", env: { "WORKER_INDEX" => "2" }.merge(env), &block)
  end

  it "lists and runs in one process" do
    open_worker("broad") do |host|
      expect(host.parent.request("run", units: [])["error"]["code"]).to eq("bad_request")
      reply = host.list
      expect(reply["count"]).to eq(host.examples.size)
      units = host.examples.map { |example| [{ key: example["key"], repeat: 1, attempt: 1 }] }
      host.parent.request("run", units: units, marks: "m")
      host.parent.wait_for("all results") { |messages| messages.count { |each| each["event_type"] == "ExampleFinished" } == units.size }
      results = host.parent.events("ExampleFinished").to_h do |event|
        [event["key"], [event["status"], event["pending_message"], PlainRSpec.exception(fixture("broad"), event["exception"])]]
      end
      expect(results).to eq(plain("broad").results)
      expect(host.parent.request("__shutdown__")["status"]).to eq("shutting_down")
      expect(host.wait.exitstatus).to eq(0)
      expect(host.stdout.finish.scan(/^m /).size).to eq(units.size)
    end
  end

  it "can keep the list to itself and has a digest to compare" do
    digests = Array.new(2) do
      open_worker("broad") do |host|
        reply = host.list(examples: false)
        expect(host.examples).to be_empty
        reply["digest"]
      end
    end
    expect(digests.uniq.size).to eq(1)
  end

  it "serves the older run_specs" do
    open_worker("tags") do |host|
      reply = host.parent.request("run_specs", example_ids: ["spec/tags_spec.rb[1:1]", "spec/tags_spec.rb[1:3]"])
      expect(reply).to include("exit_code" => 0, "example_count" => 2, "failure_count" => 0)
      expect(host.parent.events("ExamplePassed").map { |event| event["description"] }).to eq(%w[plain keyed])
      id = Digest::SHA256.hexdigest("./spec/tags_spec.rb::tags > plain")[0, 12]
      expect(host.parent.events("ExampleStarted").first).to include("example_id" => id, "location" => "./spec/tags_spec.rb:4")
      expect(host.parent.request("run_specs", example_ids: ["spec/tags_spec.rb[1:1]"])).to include("example_count" => 1)
    end
  end

  it "counts failures and errors in run_specs" do
    open_worker("broad") do |host|
      reply = host.parent.request("run_specs", example_ids: ["spec/nested_spec.rb[1:2]", "spec/pending_spec.rb[1:3]"])
      expect(reply).to include("exit_code" => 1, "example_count" => 2, "failure_count" => 1)
      expect(host.parent.events("ExampleFailed").first).to include("class" => "RSpec::Expectations::ExpectationNotMetError")
      expect(host.parent.events("ExamplePending").first).to include("message" => "not today")
    end
    open_worker("load_error") do |host|
      reply = host.parent.request("run_specs", example_ids: ["spec/bad_spec.rb[1:1]"])
      expect(reply).to include("exit_code" => 1, "example_count" => 0)
      expect(host.parent.events("ErrorOutsideExample").size).to eq(1)
    end
  end

  it "ends at once when the host is gone" do
    open_worker("tags") do |host|
      host.list
      host.parent.close
      expect(host.wait.exitstatus).to eq(1)
    end
  end
end
