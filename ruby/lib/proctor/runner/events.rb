# frozen_string_literal: true

require_relative "serializer"

module Proctor
  module Runner
    # What a worker tells about examples. The lines of a passing example are put together by hand: they are most of
    # the traffic. What a result looks like is known to the framework, which adds it in a class of its own.
    class Events
      # How many starts and results of examples and errors outside were sent; the host compares them with what it has received.
      attr_reader :started, :finished, :errors

      def initialize(writer)
        @writer = writer
        @started = @finished = @errors = 0
      end

      # Leaves the process together with everything queued before it.
      def example_started(item)
        @started += 1
        @writer.send_line(
          %({"type":"event","event_type":"ExampleStarted","payload":{"key":#{item.entry.key_json},"repeat":#{item.repeat},"attempt":#{item.attempt}}})
        )
      end

      def example_not_run(item, reason)
        @finished += 1
        event("ExampleFinished", { key: item.entry.key, repeat: item.repeat, attempt: item.attempt,
                                   status: "not_run", reason: reason })
      end

      def outside_error(fields)
        @errors += 1
        event("ErrorOutsideExample", fields)
      end

      def event(type, payload)
        @writer.queue({ type: "event", event_type: type, payload: payload })
      end

      def log(level, text)
        @writer.queue({ type: "log", level: level, message: Plain.limited(text, 65_536) })
        @writer.flush
      end

      def flush
        @writer.flush
      end

      private

      # `more` is finished JSON that begins with a comma.
      def passed(item, nanoseconds, more = nil)
        @writer.queue_line(
          %({"type":"event","event_type":"ExampleFinished","payload":{"key":#{item.entry.key_json},"repeat":#{item.repeat},) +
          %("attempt":#{item.attempt},"status":"passed","duration_ms":#{milliseconds(nanoseconds)}#{more}}})
        )
      end

      def limited(text)
        Plain.limited(text, Serializer::TEXT_LIMIT)
      end

      def milliseconds(nanoseconds)
        (nanoseconds / 1000) / 1000.0
      end
    end
  end
end
