# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # The groups that are open in this worker, outermost first. Entering a group runs its
      # before(:context) hooks, leaving it the after(:context) hooks, as RSpec does.
      #
      # Groups without such hooks cost nothing but their events and stay open until an example of
      # another group comes along.
      class GroupStack
        Frame = Struct.new(:group, :with_hooks, :failure, :processes)

        # What became of a before(:context) hook: RSpec gives every example below the same outcome.
        Failure = Struct.new(:error) do
          def apply(example, reporter)
            if RSpec::Core::Pending::SkipDeclaredInExample === error
              example.skip_with_exception(reporter, error)
            else
              example.fail_with_exception(reporter, error)
            end
          end
        end

        attr_writer :events

        # Called with a group that is about to be left, before its hooks run; may enter groups below it.
        attr_writer :before_leaving

        # `around_hooks` is called with a phase and the group, and yields, whenever hooks run.
        def initialize(events, reporter, leaks, &around_hooks)
          @events = events
          @reporter = reporter
          @leaks = leaks
          @around_hooks = around_hooks
          @frames = []
        end

        # Opens what the entry needs. Returns the failure its examples have to share, or nil.
        def enter(entry)
          groups = entry.groups
          return @frames.last.failure if @frames.size == groups.size && @frames.last.group.equal?(groups.last)

          leave_down_to(common_depth(groups))
          (@frames.size...groups.size).each do |depth|
            open(groups[depth], !entry.hooks_from.nil? && depth >= entry.hooks_from)
          end
          @frames.last.failure
        end

        def leave_all
          leave_down_to(0)
        end

        # The open groups, outermost first.
        def open_groups
          @frames.map(&:group)
        end

        # True when leaving would run hooks.
        def hooks_open?
          !@frames.empty? && @frames.last.with_hooks
        end

        private

        def common_depth(groups)
          depth = 0
          depth += 1 while depth < @frames.size && @frames[depth].group.equal?(groups[depth])
          depth
        end

        # Below a failed hook RSpec enters no further group, it only reports.
        def open(group, with_hooks)
          inherited = @frames.last&.failure
          frame = Frame.new(group, with_hooks && !inherited, inherited, [])
          @events.group_started(group)
          @frames.push(frame)
          @reporter.example_group_started(group)
          run_before(frame) if frame.with_hooks
        end

        def run_before(frame)
          @around_hooks.call("before_context", frame.group) do
            frame.group.run_before_context_hooks(frame.group.new("before(:context) hook"))
          end
        rescue RSpec::Core::Pending::SkipDeclaredInExample,
               RSpec::Support::AllExceptionsExceptOnesWeMustNotRescue => error
          frame.failure = Failure.new(error)
        ensure
          frame.processes = @leaks.adopt
        end

        def leave_down_to(depth)
          close(@frames.last) while @frames.size > depth
        end

        def close(frame)
          if @before_leaving
            @before_leaving.call(frame.group)
            leave_down_to(@frames.index(frame) + 1)
          end
          run_after(frame) if frame.with_hooks
          @frames.pop
          @reporter.example_group_finished(frame.group)
          @events.group_finished(frame.group, @leaks.scope_ended(frame.processes))
        end

        def run_after(frame)
          @around_hooks.call("after_context", frame.group) do
            frame.group.run_after_context_hooks(frame.group.new("after(:context) hook"))
          end
          frame.processes |= @leaks.adopt
        end
      end
    end
  end
end
