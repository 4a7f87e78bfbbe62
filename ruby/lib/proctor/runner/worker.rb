# frozen_string_literal: true

require_relative "active_record"
require_relative "project_coverage"
require_relative "seeds"
require_relative "work_queue"

module Proctor
  module Runner
    # A process that runs examples for the host. Requests arrive on the channel's thread and change
    # the queue; examples run on the main thread, in `serve`.
    class Worker
      CAPABILITIES = %w[run unrun cancel dump marks leaks].freeze

      # `alone`: it has loaded the suite itself, and no parent ends after it.
      def initialize(channel, alone: false)
        @alone = alone
        @channel = Channel.current = channel
        @queue = WorkQueue.new
        @cancelled = false
      end

      # The world is loaded: from here on `run` is possible.
      def adopt(loader, seeds)
        @events = loader.events(@channel.writer)
        @runner = loader.runner(@events, seeds)
        @manifest = loader.manifest
        @runner.on_late_item { |item| run_item(item) } if @runner.respond_to?(:on_late_item)
        # What was defined while other examples ran has its turn when nothing else waits.
        @runs_late = @runner.respond_to?(:late_waiting?)
      end

      # A worker whose set-up failed runs nothing.
      def run_after_fork(slot)
        ActiveRecord.after_fork
        Proctor.run_after_fork(slot)
      rescue StandardError, ScriptError => error
        @runner.set_up_failed(error, "An error occurred in an `after_fork` hook.")
      end

      # What runs already belongs to the process as a whole, not to an example.
      def accept_present_processes
        @runner.leaks.adopt
      end

      # Has the main thread do something between units.
      def do_later(&job)
        @queue.add_job(&job)
      end

      # Runs these units on the calling thread and reports them in another form.
      def run_to_end(units, events)
        @runner.with_events(events) do
          units.each do |unit|
            unit.each { |item| run_item(item) }
            @runner.unit_done
          end
          finish
        end
      end

      # A notification of the host, on the channel's thread.
      def notified(message)
        @queue.change_allowed_failures(message["by"].to_i) if message["type"] == "failures_left"
      end

      def handle(action, message)
        case action
        when "run" then run(message)
        when "unrun" then unrun(message)
        when "cancel" then cancel(message)
        when "prepare" then prepare(message)
        when "__shutdown__" then shutdown(message["id"])
        else unknown(action)
        end
      end

      # Works until told to stop, then ends the process. Whatever a test throws at us, the process
      # ends without running the project's at_exit blocks or another test framework. It returns only
      # when at_exit blocks were asked for: the caller then lets Ruby end the process normally.
      def main
        serve
        leave
      rescue SystemExit => error
        end_process(error.status)
      rescue SignalException => error
        die_of(error.signo)
      rescue Exception => error # rubocop:disable Lint/RescueException
        signal = signal_behind(error)
        die_of(signal.signo) if signal
        warn("#{error.class}: #{error.message}", *error.backtrace.to_a.first(20))
        end_process(1)
      ensure
        end_process(1) unless @ends_normally # the main thread was killed
      end

      private

      def serve
        while (step = @queue.take { wait_idle })
          case step
          when Item then run_item(step)
          when Proc then step.call
          when WorkQueue::LATE then @runner.run_late { |item| run_item(item) }
          else @runner.unit_done
          end
          @queue.late_waiting if @runs_late && @runner.late_waiting?
          @channel.revive
        end
      end

      # Before each wait for work: a kill of the reading thread may take effect long after the example that asked for it.
      def wait_idle
        idle
        @channel.revive
      end

      def run_item(item)
        @channel.item = item
        @queue.count_failure if @runner.run(item) == :failed
        @mutation&.report_touched([item.key], @channel)
      end

      def finish
        @runner&.finish { |item| run_item(item) }
      end

      def idle
        @runner&.idle
      end

      # On the channel's thread from here to `unknown`.
      def run(message)
        return refusal("bad_request", "nothing is loaded: send list first") unless @manifest
        return refusal("cancelled", "this worker was cancelled") if @cancelled

        units = message.fetch("units").map { |unit| unit.map { |item| item_from(item) } }
        unknown = units.flatten(1).select { |item| item.entry.nil? }
        return refusal("bad_request", "unknown examples: #{unknown.map(&:repeat).join(", ")}") if unknown.any?

        @runner.marks.nonce = message["marks"] if message.key?("marks")
        @queue.allow_failures(message["failures_left"]) if message["failures_left"]
        @queue.add(units.reject(&:empty?))
        { accepted: units.sum(&:size) }
      end

      def item_from(fields)
        entry = @manifest[fields["key"]]
        return Item.new(nil, fields["key"]) unless entry

        Item.new(entry, fields.fetch("repeat", 1), fields.fetch("attempt", 1))
      end

      # Of `proctor mutate`: the main thread traces from here on, or puts a mutant into force.
      def prepare(message)
        @mutation = defined?(Mutation) && Mutation.current
        return refusal("bad_request", "this suite was not loaded for mutation") unless @mutation

        @runner.on_hook_lines { |keys| @mutation.report_touched(keys, @channel) }
        do_later { @channel.reply(message["id"], @mutation.prepare(message, @channel)) }
        nil
      end

      def unrun(message)
        taken = if message["all"]
                  @queue.withdraw_all(with_current: message["current"])
                else
                  @queue.withdraw(message.fetch("keys"))
                end
        { returned: taken.map(&:key), items: taken.map(&:to_wire) }
      end

      def cancel(message)
        @cancelled = true
        @runner.call_off_late if message["stopped"] && @runner.respond_to?(:call_off_late)
        taken = @queue.withdraw_all(with_current: true)
        { status: "cancelling", returned: taken.map(&:key), items: taken.map(&:to_wire) }
      end

      # Answered at the very end, when all hooks have run.
      def shutdown(id)
        @shutdown_id = id
        @cancelled = true
        @queue.withdraw_all(with_current: true)
        @queue.stop
        nil
      end

      def unknown(action)
        refusal("unknown_action", "no action #{action}")
      end

      def refusal(code, text)
        { error: { code: code, message: Plain.text(text) } }
      end

      def leave
        leaked = finish
        ProjectCoverage.hand_in(report: @alone)
        reply = { status: "shutting_down" }.merge(sent)
        reply[:leaked] = leaked if leaked
        @channel.reply(@shutdown_id, reply)
        end_process(0) unless ENV["PROCTOR_AT_EXIT"] == "all"

        Boot.disarm_other_frameworks
        @ends_normally = true
      end

      # How much was sent; the host compares it with what has arrived.
      def sent
        return {} unless @events

        { started: @events.started, finished: @events.finished, errors: @events.errors }
      end

      # A signal that arrives while a framework starts an example makes its `ensure` clauses fail, and their error takes its place.
      def signal_behind(error)
        error = error.cause until error.nil? || error.is_a?(SignalException)
        error
      end

      def die_of(signal)
        idle
        trap(signal, "SYSTEM_DEFAULT")
        Native::KILL.call(signal, $$)
        Native::SLEEP.call(1)
        end_process(128 + signal)
      rescue ArgumentError, SystemCallError
        end_process(128 + signal)
      end

      def end_process(status)
        idle
        flush_standard_streams
      ensure
        Native::EXIT_NOW.call(status)
      end

      def flush_standard_streams
        [STDOUT, STDERR].each { |stream| Native::IO_FLUSH.bind_call(stream) unless stream.closed? }
      rescue IOError, SystemCallError
        nil
      end
    end
  end
end
