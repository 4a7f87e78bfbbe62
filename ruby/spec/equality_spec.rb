# frozen_string_literal: true

RSpec.describe "results equal plain rspec" do
  { "broad" => [], "hooks" => [], "focus" => [], "tags" => [], "random" => %w[--seed 4711] }.each do |name, args|
    [1, 3].each do |workers|
      it "on #{name} with #{workers} worker(s)" do
        run = run_fixture(name, *args, workers: workers)
        expect_equal_results(run, plain(name, *args))
      end
    end
  end

  { "broad" => [], "focus" => [], "tags" => [], "random" => %w[--seed 99] }.each do |name, args|
    it "in the same order on #{name} with one worker" do
      run = run_fixture(name, *args)
      reference = plain(name, *args)
      expect(run.order[0]).to eq(reference.order)
      expect(run.examples.map { |example| example["key"] }).to eq(reference.order)
    end
  end

  it "for the errors outside of examples" do
    run = run_fixture("hooks", workers: 2)
    expect(run.outside.size).to eq(plain("hooks").outside_errors)
  end

  it "for the number of hook runs, and their nesting" do
    Dir.mktmpdir do |folder|
      run_fixture("hooks", env: { "TRACE" => "#{folder}/ours" })
      plain("hooks", env: { "TRACE" => "#{folder}/plain" })
      expect(File.read("#{folder}/ours")).to eq(File.read("#{folder}/plain"))
    end
  end

  # RSpec calls an example passed of which nothing was run.
  it "in a dry run, but that nothing passes" do
    run = run_fixture("broad", "--dry-run")
    plain = plain("broad", "--dry-run").results
    expect(plain.values.map(&:first)).to include("passed")
    expect(run.results).to eq(plain.transform_values { |result| result.first == "passed" ? ["pending", "dry run", nil] : result })
  end

  {
    "a line" => ["spec/nested_spec.rb:17"], "an id" => ["spec/nested_spec.rb[1:2,1:7]"],
    "a description" => ["-e", "fails"], "a file" => ["spec/pending_spec.rb"],
    "a pattern" => ["--pattern", "spec/pend*_spec.rb"], "a tag" => ["--tag", "skip"],
    "nothing" => ["-e", "no such example"]
  }.each do |what, args|
    it "when #{what} selects" do
      run = run_fixture("broad", *args)
      reference = plain("broad", *args)
      expect(run.examples.map { |example| example["key"] }).to eq(reference.order)
      expect_equal_results(run, reference)
    end
  end
end
