# frozen_string_literal: true

# Runs spec files once with branch coverage, then every fault against the examples that execute its method.
# Usage: ruby review.rb JOB RESULT
require "json"
require "coverage"
require "rspec/core"
require "stringio"
require_relative "probe"
require_relative "database"

class ProctorReview
  # Takes what RSpec reports and remembers who passed, failed or is pending.
  class Listener
    attr_reader :statuses, :messages

    def initialize
      @statuses = {}
      @messages = {}
    end

    def example_passed(note) = @statuses[note.example.id] = "passed"
    def example_pending(note) = @statuses[note.example.id] = "pending"

    def example_failed(note)
      @statuses[note.example.id] = "failed"
      @messages[note.example.id] = note.example.execution_result.exception&.message.to_s[0, 600]
    end
  end

  def initialize(job, result)
    @job = job
    @result = File.open(result, "w")
    @result.sync = true
    @seen = []
  end

  def run
    Dir.chdir(@job["root"])
    $VERBOSE = nil
    Encoding.default_external = Encoding::UTF_8
    Coverage.start(branches: true, lines: true)
    setup
    return unless load_specs

    calls = trace
    # A fault that is tried without the tables would always be noticed.
    ProctorDatabase.stay_open
    measure
    faults(calls)
    say("type" => "done")
  end

  # What instrumented code answered while an example ran.
  def seen(keys) = @seen |= keys

  private

  def say(line) = @result.puts(JSON.generate(line))

  def setup
    @config = RSpec.configuration
    @out = StringIO.new
    @config.output_stream = @out
    @config.error_stream = @out
    @config.seed = @job["seed"]
    @job["load_paths"].each { |path| $LOAD_PATH.unshift(path) unless $LOAD_PATH.include?(path) }
  end

  def load_specs
    options = RSpec::Core::ConfigurationOptions.new(@job["specs"])
    options.configure(@config)
    @config.output_stream = @out
    @config.error_stream = @out
    @config.load_spec_files
    errors = RSpec.world.reporter.instance_variable_get(:@load_errors)
    failed = RSpec.world.wants_to_quit || RSpec.world.non_example_failure
    say("type" => "load_error", "message" => @out.string[0, 4000]) if failed
    !failed && (errors.nil? || true)
  end

  # Which examples call which method definitions.
  def trace
    calls = Hash.new { |hash, key| hash[key] = [] }
    root = "#{File.realpath(@job['root'])}/"
    listener = Listener.new
    @config.reporter.register_listener(listener, :example_passed, :example_failed, :example_pending)
    @current = nil
    tracer = TracePoint.new(:call) do |point|
      path = point.path
      calls["#{path.delete_prefix(root)}:#{point.lineno}"] |= [@current] if @current && path.start_with?(root)
    end
    review = self
    @config.around(:each) do |example|
      review.instance_variable_set(:@current, example.id)
      ProctorProbe.start
      example.run
      review.seen(ProctorProbe.seen.keys)
    ensure
      review.instance_variable_set(:@current, nil)
    end
    $stdout = StringIO.new
    @config.reporter.report(RSpec.world.example_count) do |reporter|
      @config.with_suite_hooks { tracer.enable { RSpec.world.ordered_example_groups.each { |group| group.run(reporter) } } }
    end
    $stdout = STDOUT
    listener.statuses.each do |id, status|
      say("type" => "example", "id" => id, "status" => status, "message" => listener.messages[id], "line" => line_of(id),
          "file" => file_of(id), "description" => description_of(id))
    end
    say("type" => "seen", "keys" => @seen)
    @passed = listener.statuses.select { |_, status| status == "passed" }.keys
    calls
  end

  def examples = @examples ||= RSpec.world.all_examples.to_h { |example| [example.id, example] }
  def line_of(id) = examples[id]&.metadata&.fetch(:line_number)
  def file_of(id) = examples[id]&.metadata&.fetch(:file_path)&.delete_prefix("./")
  def description_of(id) = examples[id]&.full_description

  def measure
    root = "#{File.realpath(@job['root'])}/"
    Coverage.peek_result.each do |path, data|
      next unless path.start_with?(root)

      name = path.delete_prefix(root)
      next unless @job["files"].include?(name)

      arms = data[:branches].values.flat_map(&:values)
      say("type" => "coverage", "file" => name, "branches" => arms.length, "taken" => arms.count(&:positive?),
          "lines" => data[:lines].compact.length, "executed" => data[:lines].compact.count(&:positive?))
    end
  end

  def faults(calls)
    deadline = now + @job["seconds"]
    running = {}
    waiting = @job["mutants"].filter_map do |mutant|
      ids = calls["#{mutant['file']}:#{mutant['def_line']}"] & @passed
      next [mutant, ids] unless ids.empty?

      say("type" => "mutant", "id" => mutant["id"], "killed" => false, "reason" => "not executed")
      nil
    end
    until waiting.empty? && running.empty?
      if now > deadline
        waiting.each { |mutant, _| say("type" => "mutant", "id" => mutant["id"], "skipped" => true) }
        waiting.clear
      end
      while running.length < @job["jobs"] && (mutant, ids = waiting.shift)
        pid = fork { try_fault(mutant, ids) }
        running[pid] = { mutant: mutant, until: now + @job["mutant_seconds"] }
      end
      reap(running)
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def reap(running)
    # Each by its number: the project may have children of its own, and threads that wait for them.
    pid, status = running.keys.lazy.filter_map { |one| Process.wait2(one, Process::WNOHANG) }.first
    if pid
      verdict(running.delete(pid)[:mutant], status)
    else
      running.each { |one, state| Process.kill(:KILL, one) if now > state[:until] }
      sleep(0.002)
    end
  end

  def verdict(mutant, status)
    code = status.exitstatus
    return say("type" => "mutant", "id" => mutant["id"], "invalid" => true) if code == 3

    say("type" => "mutant", "id" => mutant["id"], "killed" => code != 0, "reason" => code.nil? ? "ended or timed out" : nil)
  end

  # In a child: 0 survived, 1 killed, 3 cannot be applied.
  def try_fault(mutant, ids)
    Process.setrlimit(:AS, @job["memory"]) if @job["memory"]
    $stdin.reopen(File::NULL)
    $stdout.reopen(File::NULL)
    $stderr.reopen(File::NULL)
    begin
      eval(mutant["code"], TOPLEVEL_BINDING, File.join(@job["root"], mutant["file"]), mutant["line"])
    rescue Exception # rubocop:disable Lint/RescueException
      Process.exit!(3)
    end
    ids = ids.first(80)
    wanted = ids.to_h { |id| [id, true] }
    RSpec.world.all_example_groups.each { |group| RSpec.world.filtered_examples[group] = group.examples.select { |example| wanted[example.id] } }
    reporter = RSpec::Core::Reporter.new(@config)
    listener = Listener.new
    killer = Object.new
    killer.define_singleton_method(:example_failed) { |_| Process.exit!(1) }
    reporter.register_listener(killer, :example_failed)
    reporter.register_listener(listener, :example_passed)
    RSpec.world.ordered_example_groups.each { |group| group.run(reporter) }
    Process.exit!(listener.statuses.length < ids.length ? 1 : 0)
  rescue Exception # rubocop:disable Lint/RescueException
    Process.exit!(1)
  end
end

job = JSON.parse(File.read(ARGV[0]))
ProctorReview.new(job, ARGV[1]).run
