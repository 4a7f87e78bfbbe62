# frozen_string_literal: true

require "digest"
require "fileutils"
require "timeout"
require_relative "support/host"
require_relative "support/suite_run"
require_relative "support/plain_rspec"

FIXTURES = File.expand_path("fixtures", __dir__)

module FixtureHelpers
  def fixture(name)
    File.join(FIXTURES, name)
  end

  def run_fixture(name, *args, **options)
    SuiteRun.new(fixture(name), args, **options).call
  end

  def plain(name, *args, env: {})
    PlainRSpec.run(fixture(name), args, env: env)
  end

  # What must be equal to plain `rspec`, by id.
  def expect_equal_results(run, plain)
    expect(run.results).to eq(plain.results)
  end

  # `ps` of the whole machine, for processes that must be gone.
  def running?(command)
    Dir["/proc/[0-9]*/cmdline"].any? do |path|
      File.binread(path).tr("\0", " ").strip == command
    rescue SystemCallError
      false
    end
  end
end

RSpec.configure do |config|
  config.include FixtureHelpers
  config.disable_monkey_patching!
  config.order = :random
  # A stuck worker must not stop the suite.
  config.around { |example| Timeout.timeout(90) { example.run } }
end
