# frozen_string_literal: true

module Proctor
  module Specs
    # Remembers that Ctrl-C (SIGINT) stopped the run. RSpec only keeps that it wants to quit, which has other reasons too.
    module InterruptWatch
      @seen = false

      # Stands before RSpec's own handler, which is looked up when the signal comes.
      module Handler
        def handle_interrupt
          InterruptWatch.note
          super
        end
      end

      module_function

      def begin
        runner = ::RSpec::Core::Runner.singleton_class
        runner.prepend(Handler) if runner.method_defined?(:handle_interrupt)
      end

      def note
        @seen = true
      end

      def seen?
        @seen
      end
    end
  end
end
