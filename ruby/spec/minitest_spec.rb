# frozen_string_literal: true

require "tmpdir"

MINITEST_TESTS = <<~RUBY
  require "minitest/autorun"
  class CartTest < Minitest::Test
    def test_adds = assert_equal(2, 1 + 1)
    def test_fails = assert_equal(3, 1 + 1)
    def test_skips = skip("later")
    def test_nothing; end
  end
  describe "Cart" do
    describe("when empty") { it("is empty") { _([]).must_be_empty } }
    it "is not written yet"
  end
RUBY

MINITEST_ORDER = <<~RUBY
  require "minitest/autorun"
  %w[A B C D].each do |name|
    tests = Class.new(Minitest::Test) { 5.times { |number| define_method("test_\#{number}") { assert true } } }
    Object.const_set("\#{name}Test", tests)
  end
  class EmptyTest < Minitest::Test; end
  class SortedTest < Minitest::Test
    i_suck_and_my_tests_are_order_dependent!
    3.times { |number| define_method("test_\#{number}") { assert true } }
  end
RUBY

RSpec.describe "Minitest" do
  def project(text, program: "proctor-minitest-parent", &block)
    Dir.mktmpdir("proctor-minitest") do |root|
      Dir.mkdir("#{root}/test")
      File.write("#{root}/test/cart_test.rb", text)
      Host.open(File.realpath(root), program: program, &block)
    end
  end

  # Runs everything that was listed in one worker; returns the payloads of the results by key.
  def run_all(host, worker)
    units = host.examples.map { |example| [{ key: example["key"], repeat: 1, attempt: 1 }] }
    worker.request("run", units: units)
    worker.wait_for("all results") do |messages|
      messages.count { |message| message["event_type"] == "ExampleFinished" } == units.size
    end
    worker.events("ExampleFinished").to_h { |result| [result["key"], result] }
  end

  it "tells everything about a test" do
    project(MINITEST_TESTS) do |host|
      expect(host.list).to include("count" => 6, "total_loaded" => 6, "errors" => [], "seed_used" => true)
      listed = host.examples.to_h { |example| [example["key"], example] }
      expect(listed["CartTest#test_adds"]).to eq(
        "key" => "CartTest#test_adds", "file" => "./test/cart_test.rb", "path" => %w[CartTest test_adds],
        "location" => "./test/cart_test.rb:3", "line" => 3, "description" => "test_adds",
        "full_description" => "CartTest#test_adds", "tags" => {}, "unit" => nil, "ordinal" => 1
      )
      expect(listed["Cart::when empty#test_0001_is empty"]).to include(
        "path" => ["Cart", "when empty", "is empty"], "full_description" => "Cart when empty is empty"
      )
      expect(listed["Cart#test_0001_is not written yet"]).to include("location" => "./test/cart_test.rb:10")
    end
  end

  it "runs tests in forked workers and counts their assertions" do
    project(MINITEST_TESTS) do |host|
      host.list
      results = run_all(host, host.fork(0).rpc)
      said = results.transform_values { |result| result.values_at("status", "checks") }
      expect(said).to eq("CartTest#test_adds" => ["passed", 1], "CartTest#test_fails" => ["failed", 1],
                         "CartTest#test_skips" => ["pending", 0], "CartTest#test_nothing" => ["passed", 0],
                         "Cart::when empty#test_0001_is empty" => ["passed", 2],
                         "Cart#test_0001_is not written yet" => ["pending", 0])
      failed = results["CartTest#test_fails"]["exception"]
      expect(failed).to include("class" => "Minitest::Assertion", "message" => "Expected: 3\n  Actual: 2",
                                "project_line" => "./test/cart_test.rb:4")
      expect(results["CartTest#test_skips"]).to include("pending_message" => "later", "skipped" => true)
    end
  end

  it "does the same in a worker that loads the tests itself" do
    project(MINITEST_TESTS, program: "proctor-minitest-worker") do |host|
      expect(host.list).to include("count" => 6, "digest" => a_string_matching(/\A\h{16}\z/))
      expect(run_all(host, host.parent).values.map { |result| result["status"] }.tally)
        .to eq("passed" => 3, "failed" => 1, "pending" => 2)
      expect(host.parent.request("run_specs", example_ids: ["a"])["error"]).to include("code" => "unknown_action")
      expect(host.parent.request("__shutdown__")).to include("started" => 6, "finished" => 6, "errors" => 0)
    end
  end

  # Versions of Minitest 5 shuffle in different ways. `require "minitest"` takes the newest one there is.
  Gem::Specification.select { |gem| gem.name == "minitest" && gem.version.segments.first == 5 }.map(&:version).uniq.each do |version|
    it "orders tests as Minitest #{version} does with the same seed" do
      Dir.mktmpdir("proctor-minitest-order") do |root|
        File.write("#{root}/pin.rb", %(gem "minitest", "= #{version}"))
        Dir.mkdir("#{root}/test")
        File.write("#{root}/test/order_test.rb", MINITEST_ORDER)
        env = { "RUBYOPT" => "-r#{root}/pin.rb" }
        orders = (1..5).map { |seed| listed_order(root, env, seed) }
        expect(orders).to eq((1..5).map { |seed| minitest_order(root, env, seed) })
        expect(orders.uniq.size).to be > 1
      end
    end
  end

  def listed_order(root, env, seed)
    Host.open(File.realpath(root), program: "proctor-minitest-parent", env: env) do |host|
      expect(host.list("--", "--seed", seed.to_s)).to include("errors" => [])
      host.examples.map { |example| example["key"] }
    end
  end

  def minitest_order(root, env, seed)
    output = IO.popen([env, "ruby", "-Itest", "test/order_test.rb", "--verbose", "--seed", seed.to_s, { chdir: root }], &:read)
    output.scan(/^(\w+#test_\w+) = /).flatten
  end

  it "runs nothing in a worker whose after_fork hook failed" do
    hook = %(require "proctor/fork_hooks"\nProctor.after_fork { raise "no database" }\n)
    project(hook + MINITEST_TESTS) do |host|
      host.list
      worker = host.fork(0).rpc
      expect(run_all(host, worker).values.map { |result| result["status"] }.uniq).to eq(["not_run"])
      expect(worker.events("ErrorOutsideExample").first).to include("description" => /after_fork/)
    end
  end

  it "shows what went wrong in a test and in its teardown" do
    text = <<~RUBY
      require "minitest/autorun"
      class BothTest < Minitest::Test
        def test_both = assert_equal(1, 2)
        def teardown = raise(ArgumentError, "in teardown")
      end
    RUBY
    project(text) do |host|
      host.list
      failed = run_all(host, host.fork(0).rpc).values.first
      expect(failed["exception"]["presented"]).to match(/Expected: 1\n.*in teardown/m)
      expect(failed["failures"].map { |part| part["class"] }).to eq(%w[Minitest::Assertion ArgumentError])
    end
  end

  it "reports a failure in a folder that is gone" do
    text = <<~RUBY
      require "minitest/autorun"
      require "tmpdir"
      class GoneTest < Minitest::Test
        def test_gone
          folder = Dir.mktmpdir
          Dir.chdir(folder)
          Dir.rmdir(folder)
          flunk
        end
      end
    RUBY
    project(text) do |host|
      host.list
      failed = run_all(host, host.fork(0).rpc).values.first["exception"]
      expect(failed).to include("project_line" => "./test/cart_test.rb:8", "message" => /current folder .* vanished/)
    end
  end

  it "refuses what it does not understand" do
    project(MINITEST_TESTS) do |host|
      expect(host.list("--", "--bogus")["error"]["message"]).to include("invalid option: --bogus")
      expect(host.list("--", "--help")["error"]["message"]).to include("runs no tests: --help")
      expect(host.list("--", "stray")["error"]["message"]).to eq("minitest does not know stray")
      expect(host.list("test/cart_test.rb:2")["error"]["message"]).to eq("there is no test at ./test/cart_test.rb:2")
    end
  end
end
