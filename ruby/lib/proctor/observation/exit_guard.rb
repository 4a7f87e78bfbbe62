# frozen_string_literal: true

module Proctor
  module Observation
    # An observer called `exit!`, which would end the whole process.
    class Exited < Exception; end # rubocop:disable Lint/InheritException

    # Keeps an observer's `exit!` from ending the process it is in. Ruby is changed only where there are observers, and only
    # for their threads.
    module ExitGuard
      # Before `Kernel#exit!`, `Kernel.exit!` and `Process.exit!`.
      module Refusal
        def exit!(*arguments)
          raise Exited, "it called exit!" if ExitGuard.covers_this_thread?

          super
        end
      end

      module_function

      def install
        @process = $$
        [Kernel, Kernel.singleton_class, Process.singleton_class].each do |place|
          place.prepend(Refusal) # `Process` has Kernel's too, but behind its own
        end
      end

      # A process that an observer forks may end as it likes.
      def covers_this_thread?
        Thread.current[:proctor_observer] && $$ == @process
      end
    end
  end
end
