# frozen_string_literal: true

RSpec.describe "list" do
  def list(name, *args, **options)
    Host.open(fixture(name), **options) do |host|
      @reply = host.list(*args)
      @examples = host.examples
    end
  end

  def example(text)
    @examples.find { |each| each["full_description"].end_with?(text) }
  end

  it "tells everything about an example" do
    list("tags")
    expect(example("keyed")).to eq(
      "key" => "./spec/tags_spec.rb[1:3]", "file" => "./spec/tags_spec.rb", "path" => %w[tags keyed],
      "location" => "./spec/tags_spec.rb:6", "line" => 6, "description" => "keyed", "full_description" => "tags keyed",
      "tags" => { "type" => "model", "level" => 3, "name" => "x" }, "unit" => nil, "ordinal" => 1
    )
    expect(@reply).to include("count" => 2, "total_loaded" => 4, "errors" => [], "order" => "defined", "ruby" => RUBY_VERSION)
  end

  it "counts duplicates before any filter" do
    list("focus")
    expect(example("same")).to include("path" => %w[focus same], "ordinal" => 2)
    list("broad", "-e", "duplicates")
    expect(@examples.map { |each| each["ordinal"] }).to eq([1, 2, 3, 4])
  end

  it "leaves empty descriptions out of the path" do
    list("broad")
    expect(example("nameless group")["path"]).to eq(["Cart", "#empty", "sits in a nameless group"])
    expect(@examples.select { |each| each["path"] == ["Cart"] }.map { |each| each["ordinal"] }).to eq([1, 2, 3])
  end

  it "names the shared group and says what is pending or skipped" do
    list("broad")
    expect(example("has 3 items")["shared"]).to eq("name" => "a container", "location" => "./spec/nested_spec.rb:36")
    expect(example("by tag and fixed")["pending"]).to be(true)
    expect(example("is crossed out")["skip"]).to eq("Temporarily skipped with xit")
  end

  it "keeps examples under context hooks together" do
    list("hooks")
    outer = @examples.select { |each| each["path"].first == "context hooks" }.map { |each| each["unit"] }.uniq
    expect(outer.size).to eq(1)
    unit = @reply["units"].find { |each| each["id"] == outer.first }
    expect(unit).to include("reason" => "context_hooks", "path" => ["context hooks"], "line" => 3)
    expect(example("is wrapped")["unit"]).to be_nil
    expect(example("has it once")["unit"]).not_to be_nil
  end

  it "keeps a group together that was taken out of a random order" do
    list("random", "--seed", "1")
    expect(@reply).to include("seed" => 1, "seed_used" => true, "order" => "random")
    expect(@reply["units"].map { |unit| unit["reason"] }).to eq(["order"])
    expect(@examples.select { |each| each["unit"] }.map { |each| each["description"] }).to eq(["step 0", "step 1", "step 2"])
  end

  it "reports errors while loading and selects nothing" do
    list("load_error")
    expect(@reply).to include("count" => 0, "total_loaded" => 1)
    expect(@reply["errors"].first).to include("phase" => "load", "file" => "./spec/bad_spec.rb", "location" => "./spec/bad_spec.rb:4")
    expect(@reply["errors"].first["exception"]).to include("class" => "RuntimeError", "message" => "broken while loading")
    expect(@examples).to be_empty
  end

  it "reports syntax errors and missing files" do
    list("syntax_error")
    expect(@reply["errors"].map { |error| error["exception"]["class"] }).to contain_exactly("LoadError", "SyntaxError")
    expect(@reply["errors"].map { |error| error["file"] }).to contain_exactly("./spec/missing_spec.rb", "./spec/syntax_spec.rb")
  end

  it "survives an exit while loading" do
    list("exit_in_load")
    expect(@reply["errors"].first["exception"]["class"]).to eq("SystemExit")
    expect(@reply["errors"].first["file"]).to eq("./spec/exit_spec.rb")
  end

  it "refuses unknown options and other commands" do
    list("tags", "--no-such-option")
    expect(@reply["error"]).to include("code" => "bad_request", "message" => /invalid option: --no-such-option/)
    list("tags", "--version")
    expect(@reply["error"]["code"]).to eq("bad_request")
  end

  it "explains --only-failures without a status file" do
    list("tags", "--only-failures")
    expect(@reply["errors"].first).to include("phase" => "configuration", "description" => /example_status_persistence_file_path/)
  end

  it "reports a missing file that was asked for" do
    list("tags", "spec/none_spec.rb")
    expect(@reply["errors"].first).to include("file" => "./spec/none_spec.rb")
  end

  it "honours SPEC_OPTS and reports settings of the project" do
    list("tags", "--fail-fast=3", env: { "SPEC_OPTS" => "--tag level:3" })
    expect(@examples.map { |each| each["description"] }).to eq(["keyed"])
    expect(@reply).to include("fail_fast" => 3, "dry_run" => false)
  end

  it "answers a fork before list with an error" do
    Host.open(fixture("tags")) do |host|
      expect(host.parent.request("fork", slot: 0)["error"]["code"]).to eq("bad_request")
      expect(host.parent.request("nonsense")["error"]["code"]).to eq("unknown_action")
      expect(host.parent.request(nil)["error"]["code"]).to eq("bad_request")
    end
  end
end
