# frozen_string_literal: true

require_relative "controller/callbacks"
require_relative "controller/run_process"
require_relative "controller/run_result"

module Proctor
  # Runs specs from inside another program, such as a web server: `proctor run` as a child process, whose events are read as they
  # happen.
  #
  #   controller = Proctor::Controller.new(worker_count: 4)
  #   controller.on_event { |type, payload| … }
  #   controller.start(["spec"])
  #   controller.wait.success?
  #
  # Every method may be called from any thread or fiber. Callbacks are called one at a time, in the order of the events, on a thread of the
  # controller; one that raises costs a warning. The run ends with this process, however it ends.
  class Controller
    # `start` while a run goes on.
    class AlreadyRunning < RuntimeError; end

    RESULTS = %w[ExamplePassed ExampleFailed ExamplePending].freeze
    # Results of examples that were not run to their end.
    WITHOUT_RESULT = %w[not_run cancelled].freeze
    # Messages about the stream itself.
    CONTROL = %w[StreamLag StreamClosing].freeze

    # `root` is the project, `binary` the program (else PROCTOR_BIN, else `proctor` on the PATH), `arguments` are further arguments of
    # `proctor run`, `environment` are variables for it.
    def initialize(worker_count:, fail_fast: false, root: nil, binary: nil, arguments: [], environment: {})
      unless worker_count.is_a?(Integer) && worker_count.positive?
        raise ArgumentError, "worker_count is a number from 1 on, not #{worker_count.inspect}"
      end

      @settings = { worker_count: worker_count, fail_fast: fail_fast, root: root, binary: binary,
                    arguments: arguments, environment: environment }
      @mutex = Thread::Mutex.new
      @over = Thread::ConditionVariable.new
      @event_callbacks = Callbacks.new("on_event")
      @progress_callbacks = Callbacks.new("on_progress")
      @status = :idle
      clear
    end

    # Calls the block with type and payload of every event. Payloads are frozen and have symbols as keys.
    def on_event(&block)
      @event_callbacks.add(block)
      self
    end

    # Calls the block with completed, total and failures after every result.
    def on_progress(&block)
      @progress_callbacks.add(block)
      self
    end

    # Starts a run and returns at once. What goes wrong from here on is told by `wait`.
    def start(spec_paths = [])
      @mutex.synchronize do
        raise AlreadyRunning, "Already running" if @status == :running

        clear
        @status = :running
        @run = RunProcess.new(Array(spec_paths), **@settings)
        @thread = Thread.new(@run) { |run| follow(run) }
        @thread.name = "proctor-controller"
      end
      self
    end

    # Blocks until the run is over and every callback has been called. nil if nothing was started.
    def wait
      raise ThreadError, "`wait` would wait for its own callback" if callback?

      @mutex.synchronize do
        @over.wait(@mutex) while @status == :running
        @results
      end
    end

    # :idle, :running, :completed, :failed or :cancelled
    def status
      @mutex.synchronize { @status }
    end

    # The RunResult of the last run; nil while it goes on.
    def results
      @mutex.synchronize { @results }
    end

    def progress
      @mutex.synchronize { @progress.merge(status: @status) }
    end

    # Ends the run and all its processes, and returns when they are gone; in a callback at once.
    def cancel
      run = @mutex.synchronize do
        @cancelled = true if @status == :running
        @run if @status == :running
      end
      return self unless run

      run.stop
      wait unless callback?
      self
    end

    private

    def callback?
      @thread.equal?(Thread.current)
    end

    def clear
      @results = nil
      @cancelled = false
      @progress = { completed: 0, total: 0, failures: 0 }.freeze
      @completed = {}
      @outside_errors = []
      @finished = nil
    end

    def follow(run)
      run.each_message { |message| handle(message) }
      conclude(run.ending)
    rescue StandardError => error
      conclude(RunProcess::Ending.new(error: "the controller itself failed: #{error.class}: #{error.message}"))
    ensure
      # Whoever kills this thread ends the run, and does not leave those who wait behind.
      conclude(run.abandon) if status == :running
    end

    def handle(message)
      type, payload = message.values_at(:event, :data)
      return if CONTROL.include?(type)
      return progressed(payload) if type == "progress"

      @outside_errors << payload if type == "ErrorOutsideExample"
      @finished = payload if type == "SuiteFinished"
      if RESULTS.include?(type) && payload[:final] != false && !WITHOUT_RESULT.include?(payload[:status])
        @mutex.synchronize { @completed[payload[:example_id]] = true }
      end
      @event_callbacks.call(type, payload)
    end

    def progressed(payload)
      counts = payload.slice(:completed, :total, :failures)
      @mutex.synchronize { @progress = counts }
      @progress_callbacks.call(*counts.values_at(:completed, :total, :failures))
    end

    def conclude(ending)
      @mutex.synchronize do
        return unless @status == :running

        @results = RunResult.conclude(@finished, ending, @completed.keys, @outside_errors, cancelled: @cancelled)
        @status = stopped? ? :cancelled : @results.status
        @run = nil
        @over.broadcast
      end
    end

    # Whether it was stopped before its end, by us or by others.
    def stopped?
      @finished ? @finished[:state] == "stopped" : @cancelled
    end
  end

  ParallelSpecController = Controller
end

# The names of the gem that this library stands in for, unless that gem is there.
unless defined?(Gem) && %w[rspec_agents rspec-agents].any? { |name| Gem.loaded_specs.key?(name) }
  module RspecAgents
    ParallelSpecController = Proctor::Controller unless const_defined?(:ParallelSpecController, false)
    RunResult = Proctor::RunResult unless const_defined?(:RunResult, false)
  end
end
