# frozen_string_literal: true

# Runs specs against faults and in several orders, each in a child of one process that has loaded RSpec and nothing of the project.
#   ruby judge.rb JOB          JOB is JSON: root, file, specs, limit, orders, preload, seconds; the answer is printed as JSON
require "json"
require_relative "operators"
require "rspec/core"
require "rspec/expectations"
require "rspec/mocks"

# One file with its specs.
class Judge
  def initialize(job)
    @job = job
    @file = File.join(job["root"], job["file"])
    Dir.chdir(job["root"])
    job["preload"].each { |name| require name }
  end

  def answer
    return { "green" => false } unless passes?([])

    { "green" => true, "flaky" => flaky_orders, **faults }
  end

  private

  def flaky_orders
    (1..@job["orders"]).reject { |seed| passes?(["--order", "rand:#{seed}"]) }.length
  end

  def faults
    source = File.binread(@file)
    all = Faults.new(@file)
    list = all.list(limit: @job["limit"])
    alive = list.reject do |fault|
      File.write(@file, all.apply(fault))
      !passes?(["--fail-fast"])
    end
    { "faults" => list.length, "detected" => list.length - alive.length, "alive" => alive.map { |fault| [fault.line, fault.operator, fault.text[0, 40]] } }
  ensure
    File.binwrite(@file, source) if source
  end

  # Whether RSpec ends with success in time.
  def passes?(options)
    pid = fork { run(options) }
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + @job["seconds"]
    until Process.wait(pid, Process::WNOHANG)
      sleep 0.01
      next if Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit

      Process.kill(:KILL, -pid)
      Process.wait(pid)
      return false
    end
    $?.success?
  end

  def run(options)
    Process.setpgid(0, 0)
    Process.setrlimit(Process::RLIMIT_AS, 4 << 30)
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    $stdin.reopen(File::NULL)
    $PROGRAM_NAME = "rspec"
    exit RSpec::Core::Runner.run(options + @job["specs"])
  end
end

puts JSON.generate(Judge.new(JSON.parse(File.read(ARGV[0]))).answer)
