# frozen_string_literal: true

module Proctor
  module Runner
    # Delivers the events of the run to the project's observers, and ends when they have had the last one.
    class ObserverProcess
      def initialize(channel)
        @channel = Channel.current = channel
      end

      def main
        STDOUT.sync = true # somebody may watch
        line = Host.line
        delivery = Observation.take_over(line) { |text| @channel.log("warning", text) }
        delivery&.start
        delivery&.finish(Proctor.configuration.observers_within, goes_on: true)
      rescue Exception => error # rubocop:disable Lint/RescueException
        @channel.log("warning", "the observers missed the rest of the run: #{error.class}: #{error.message}")
      ensure
        leave
      end

      def handle(action, _message)
        return { status: "shutting_down" } if action == "__shutdown__"

        { error: { code: "unknown_action", message: "no action #{action}" } }
      end

      private

      # The at_exit blocks of the project are its parent's.
      def leave
        [STDOUT, STDERR].each { |stream| Native::IO_FLUSH.bind_call(stream) unless stream.closed? }
      rescue IOError, SystemCallError
        nil
      ensure
        Native::EXIT_NOW.call(0)
      end
    end
  end
end
