# frozen_string_literal: true

require_relative "../channel"
require_relative "../fork_hooks"
require_relative "fork_safety"
require_relative "forked_worker"
require_relative "garbage"
require_relative "loading"
require_relative "project_coverage"
require_relative "time_limit"

module Proctor
  module Runner
    # Loads a suite once and forks workers from the loaded world.
    #
    # Requests are taken up by the main thread one at a time; only `hello` and `dump` are answered
    # while it is busy. A waiting thread per worker reports its end; such threads do not exist in the
    # forked children.
    class Parent
      CAPABILITIES = %w[list fork dump report].freeze

      def initialize(settings, framework:, bundler_problem: nil)
        @settings = settings
        @framework = framework
        @channel = Channel.new(Transport.open(settings), name: "proctor-#{framework.name}-parent", capabilities: CAPABILITIES)
        @loading = Loading.new(@channel, framework, bundler_problem)
        @requests = Thread::Queue.new
        @workers = {}
        @owner = $$
        @lock = Thread::Mutex.new
      end

      def main
        # Ctrl-C is the host's business. A block, not "IGNORE", which children would inherit.
        trap("INT") {}
        # Of all at_exit blocks the first runs last. After `exit(0)` Ruby ends with 0 even if one of them raised.
        at_exit { end_last($!) } # rubocop:disable Style/SpecialGlobalVars
        @channel.start(self) { host_gone }
        loop { serve(@requests.pop) }
      end

      def handle(action, message)
        case action
        when "list", "fork", "report", "__shutdown__" then @requests.push(message)
        else return { error: { code: "unknown_action", message: "no action #{action}" } }
        end
        nil
      end

      private

      def serve(message)
        case message["action"]
        when "list" then list(message)
        when "fork" then fork_worker(message)
        when "report" then report(message)
        when "__shutdown__" then shutdown(message)
        end
      rescue TimeLimit::Exceeded => error
        # The next fork would hang the same way.
        @hanging_hook = error.message
        @channel.refuse(message["id"], "failed", error.message)
      rescue StandardError, ScriptError => error
        @channel.refuse(message["id"], "failed", "#{error.class}: #{error.message}")
      end

      def list(message)
        Mutation.current.begin_load(@channel, @framework, @loading) { |request| become_worker(request) } if mutating?
        @loading.list(message) do
          get_ready_to_fork
          ProjectCoverage.forget_workers
          threads = ForkSafety.threads(@channel)
          mutation = mutating? ? Mutation.current : nil
          mutation&.loaded
          Garbage.collect_before_fork
          fork_ahead
          { threads: threads, fork_unsafe: ForkSafety.reasons(threads) }.merge(mutation&.to_reply.to_h)
        end
      end

      def mutating?
        defined?(Mutation) && Mutation.current
      end

      # Everything a worker needs must be in memory before the first fork; not before the
      # project is loaded, where it could hide a `require` that the project lacks.
      def get_ready_to_fork
        require "socket"
        require_relative "worker"
        @framework.warm_up
      end

      # In a process that was forked while the suite was loaded, and has loaded the rest by itself.
      def become_worker(request)
        Native::EXIT_NOW.call(1) unless @loading.attempted?
        get_ready_to_fork
        prepare_fork(request["hooks_within_ms"])
        ForkedWorker.new(@channel, @settings, @framework, @loading, request).main
      rescue StandardError, ScriptError => error
        warn("proctor: #{error.class}: #{error.message}")
        Native::EXIT_NOW.call(1)
      end

      # Workers that are asked for already can get ready while the examples are described.
      def fork_ahead
        serve(@requests.pop) until @requests.empty?
      end

      def fork_worker(message)
        unless @loading.loaded?
          return @channel.refuse(message["id"], "bad_request", "nothing is loaded: send list first")
        end

        slot = message.fetch("slot")
        if message["ahead"] && slot >= @loading.loader.manifest.pieces
          return @channel.refuse(message["id"], "not_needed", "there is no work for worker #{slot}")
        end

        return @channel.refuse(message["id"], "failed", @hanging_hook) if @hanging_hook
        return fork_from_checkpoint(message) if message["checkpoint"]

        prepare_fork(message["hooks_within_ms"])
        generation = message.fetch("generation", 0)
        observers = message["role"] == "observers"
        pid = Process.fork { forked(observers).new(@channel, @settings, @framework, @loading, message).main }
        @observers = pid if observers
        own_group(pid)
        watch(pid, slot, generation)
        @channel.reply(message["id"], { pid: pid })
      end

      def fork_from_checkpoint(message)
        started = ->(pid) { @lock.synchronize { @workers[pid] = true } }
        exited = lambda do |told|
          @lock.synchronize { @workers.delete(told["pid"]) }
          @channel.notify({ type: "exited" }.merge(told))
        end
        pid = Mutation.current.checkpoints.fork(message, on_start: started, on_exit: exited)
        @channel.reply(message["id"], { pid: pid })
      end

      def forked(observers)
        return ForkedWorker unless observers

        require_relative "forked_observers"
        ForkedObservers
      end

      # Reports a recorded run in the framework's own way.
      def report(message)
        unless @loading.loaded? && @loading.loader.respond_to?(:replay)
          return @channel.refuse(message["id"], "bad_request", "nothing is loaded that could report a run")
        end

        require_relative "reported_run"
        @channel.reply(message["id"], ReportedRun.call(@channel) { @loading.loader.replay(message) })
      end

      # The host waits for the fork, so hooks may not take for ever.
      def prepare_fork(milliseconds)
        TimeLimit.within(milliseconds && milliseconds / 1000.0, "a `before_fork` hook") do
          ActiveRecord.before_fork
          Proctor.run_before_fork
        end
        [STDOUT, STDERR].each(&:flush)
      end

      # The child does the same: whoever comes first, the group exists when either goes on.
      def own_group(pid)
        Process.setpgid(pid, pid)
      rescue SystemCallError
        nil
      end

      def watch(pid, slot, generation)
        @lock.synchronize { @workers[pid] = true }
        thread = Native::NEW_THREAD.call do
          status = Native::WAIT.call(pid)
          @lock.synchronize { @workers.delete(pid) }
          ending = status.signaled? ? { signal: status.termsig } : { exit_status: status.exitstatus }
          @channel.notify({ type: "exited", pid: pid, slot: slot, generation: generation }.merge(ending))
        end
        thread.name = "proctor-waiter"
        thread.report_on_exception = false
        @observers_waiter = thread if pid == @observers
      end

      def kill_workers(but: nil)
        @lock.synchronize { @workers.keys }.each do |pid|
          next if pid == but

          Native::KILL.call(:KILL, -pid)
        rescue SystemCallError
          nil
        end
      end

      def host_gone
        kill_workers
        Native::EXIT_NOW.call(1)
      end

      # at_exit blocks of the project belong to the process that registered them, which is this one
      # (a server started by a spec_helper, for instance). PROCTOR_AT_EXIT=none leaves them out.
      def shutdown(message)
        @waits_for_observers = message["observers"] && @observers_waiter
        kill_workers(but: @waits_for_observers && @observers)
        @channel.reply(message["id"], { status: "shutting_down" })
        if ENV["PROCTOR_AT_EXIT"] == "none"
          wait_for_observers(0)
          Native::EXIT_NOW.call(0)
        end
        @framework.before_exit
        Boot.disarm_other_frameworks
        exit(0)
      end

      # The last of the at_exit blocks. The observers, which need this process to live, have not had the last event yet.
      def end_last(error)
        wait_for_observers(error.is_a?(SystemExit) ? error.status : (error ? 1 : 0)) if $$ == @owner
        Native::EXIT_NOW.call(1) if error && !error.is_a?(SystemExit)
      end

      def wait_for_observers(status)
        return unless @waits_for_observers

        @channel.notify({ type: "waiting_for_observers", exit_status: status })
        @observers_waiter.join
      end
    end
  end
end
