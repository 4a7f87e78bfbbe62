# frozen_string_literal: true

require_relative "agents_bridge"
require_relative "group_stack"
require_relative "late_work"
require_relative "../leak_check"
require_relative "../output_marks"
require_relative "suite_hooks"

module Proctor
  module Runner
    module RspecFramework
      # Runs single examples out of the loaded world, on the thread that calls it.
      #
      # It owns the open groups, the suite hooks, the output marks and the search for left-behind
      # processes; it does not know where items come from.
      class ExampleRunner
        QUIT = "RSpec was told to quit (RSpec.world.wants_to_quit)"

        attr_reader :marks, :leaks
        def initialize(events:, reporter:, seeds:, manifest:, configuration: RSpec.configuration, world: RSpec.world)
          @events = events
          @reporter = reporter
          @seeds = seeds
          @world = world
          @pid = $$
          @marks = OutputMarks.new
          @leaks = LeakCheck.new
          @altered = {}.compare_by_identity
          hooks = method(:around_hooks)
          @suite = SuiteHooks.new(configuration, @leaks, &hooks)
          @groups = GroupStack.new(events, reporter, @leaks, &hooks)
          @phase = "outside"
          @quit_reason = QUIT
          @manifest = manifest
          @late = LateWork.new(manifest, world)
          @agents = AgentsBridge.install(events)
        end

        # Returns the status that RSpec gives the example, nil if it was not run.
        def run(item)
          @agents&.example_started(item)
          @suite.before
          if @world.wants_to_quit
            @events.example_not_run(item, @quit_reason)
            return
          end

          failure = @groups.enter(item.entry)
          example = item.entry.example
          forget_last_run(example)
          announce(item)
          execute(item, failure)
          example.execution_result.status
        end

        # The worker could not be set up: it runs nothing, like a suite whose before(:suite) hook failed.
        def set_up_failed(error, description)
          @reporter.notify_non_example_exception(error, description)
          @quit_reason = quit_reason("an `after_fork` hook failed", error)
          @world.wants_to_quit = true
        end

        # Closes the groups of a unit whose context hooks must not wait for the next example.
        def unit_done
          @groups.leave_all if @groups.hooks_open?
        end

        # Nothing to do for now: let go of everything held back.
        def idle
          @marks.settle
          @events.flush
        end

        # Leaves all groups, which has those run that were defined inside them, and calls the block with each item of the next group
        # that was defined while others ran. For when there is nothing else to do.
        def run_late(&run_item)
          @groups.leave_all
          @late.next_at_end.each(&run_item)
          @groups.leave_all
        end

        def late_waiting?
          @late.waiting?
        end

        # Called with an item whose group is about to be left.
        def on_late_item(&run)
          @groups.before_leaving = lambda do |group|
            while (item = @late.next_below(group))
              run.call(item)
            end
          end
        end

        # Called after hooks of the suite or of a group, with the keys of all examples that depend on them.
        def on_hook_lines(&report)
          @hook_lines = report
        end

        # The run was stopped: what was defined so far is not run.
        def call_off_late
          @late.call_off
        end

        # Returns the processes that outlived the suite, or nil.
        def finish(&run_item)
          @late.called_off.each { |item| @events.example_not_run(item, "the run was stopped") }
          @groups.leave_all
          run_late(&run_item) while @late.waiting?
          @suite.after
          idle
          @leaks.end_all
        end

        def with_events(events)
          before = @events
          @events = @groups.events = events
          yield
        ensure
          @events = @groups.events = before
        end

        # Sink of the reporter.
        def message(text)
          @events.log("info", text)
        end

        def deprecation(text)
          @events.log("deprecation", text)
        end

        def outside_error(error, description)
          group = @phase_group && @phase_group.metadata
          @quit_reason = quit_reason("a `before(:suite)` hook failed", error) if @phase == "before_suite"
          where = group && { description: Plain.text(group[:full_description].to_s),
                             location: Plain.text(group[:location].to_s) }
          @events.outside_error(Exceptions.outside(error, description, phase: @phase, group: where))
          @events.flush
        end

        private

        def quit_reason(what, error)
          details = Exceptions.exception(error)
          place = details[:project_line] && " (#{details[:project_line][/\A.+?:\d+/]})"
          Plain.limited("#{what}: #{details[:class]}: #{details[:message]}#{place}", 16_384)
        end

        # What was defined by what has just run: a hook, or the example `running`.
        def collect_late(phase, group, running = nil)
          return unless @late.found?

          lost = @late.collect(@events, phase, group, @groups.open_groups)
          return unless lost

          @world.non_example_failure = true
          @events.outside_error(@late.error(lost, running))
        end

        # The marks go first: when the host reads the event, the boundary is already in the stream.
        def announce(item)
          @marks.open(item)
          @events.example_started(item)
        end

        def execute(item, failure)
          entry = item.entry
          example = entry.example
          pending, skip = example.metadata.values_at(:pending, :skip)
          @seeds.apply(entry.key)
          started = Native.nanoseconds
          failure ? failure.apply(example, @reporter) : run_in_group(example, entry.groups.last)
          elapsed = Native.nanoseconds - started
          Native::EXIT_NOW.call(0) if $$ != @pid # a fork inside the example came back here
          remember(example, pending, skip)
          leaked = @leaks.after_example
          @marks.close
          # Before the result: the host must know of them when it decides what comes next.
          collect_late("example", entry.groups.last, example)
          @events.example_finished(item, elapsed, leaked, generated_description(example))
        end

        def run_in_group(example, group)
          nameless = example.metadata[:description].empty?
          @nameless = nameless ? example : nil
          instance = group.new(example.inspect_output)
          group.set_ivars(instance, group.before_context_ivars)
          example.run(instance, @reporter)
        end

        # An example without a description gets one from its matcher while it runs.
        def generated_description(example)
          return unless @nameless.equal?(example)

          @nameless = nil
          return if example.metadata[:description].empty?

          limit = ExampleDescription::TEXT_BYTES
          { description: Plain.limited(example.description, limit), full_description: Plain.limited(example.full_description, limit) }
        end

        # `pending` and `skip` inside an example change its metadata. To run it again as if for the
        # first time (repeats, retries), the few changed ones are remembered.
        def remember(example, pending, skip)
          metadata = example.metadata
          return if metadata[:pending].equal?(pending) && metadata[:skip].equal?(skip)

          @altered[example] ||= [pending, skip]
        end

        def forget_last_run(example)
          return unless example.execution_result.status

          example.metadata[:execution_result] = RSpec::Core::Example::ExecutionResult.new
          example.instance_variable_set(:@exception, nil)
          pending, skip = @altered.fetch(example) { return }
          pending.nil? ? example.metadata.delete(:pending) : example.metadata[:pending] = pending
          skip.nil? ? example.metadata.delete(:skip) : example.metadata[:skip] = skip
        end

        def keys_below(group)
          entries = @manifest.entries
          entries = entries.select { |entry| entry.groups.include?(group) } if group
          entries.map(&:key)
        end

        # A crash inside a hook has no open example: everything said so far must be out before it runs.
        def around_hooks(phase, group)
          before = [@phase, @phase_group]
          @phase = phase
          @phase_group = group
          idle
          Scope.set(:"#{phase}_hook") if group
          yield
        ensure
          @marks.close
          @hook_lines&.call(keys_below(group))
          collect_late(phase, group)
          @phase, @phase_group = before
        end
      end
    end
  end
end
