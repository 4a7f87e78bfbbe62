# frozen_string_literal: true

module Proctor
  module Host
    # Messages for one waiting request, in order. The reading thread adds them; the thread of the request takes them.
    #
    # A wait is limited, unlike that of Thread::Queue: code of the project may kill the reading thread, no thread would add a
    # message then, and Ruby reports an unlimited wait as a deadlock.
    class Mailbox
      WAIT_SECONDS = 0.5

      def initialize
        @lock = Thread::Mutex.new
        @changed = Thread::ConditionVariable.new
        @messages = []
      end

      def push(message)
        @lock.synchronize do
          @messages << message
          @changed.signal
        end
      end

      # The next message. Yields, unlocked, each time before it waits.
      def pop
        loop do
          yield
          @lock.synchronize do
            @changed.wait(@lock, WAIT_SECONDS) if @messages.empty?
            return @messages.shift unless @messages.empty?
          end
        end
      end
    end
  end
end
