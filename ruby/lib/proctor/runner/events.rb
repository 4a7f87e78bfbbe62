# frozen_string_literal: true

require_relative "lost_folder"
require_relative "serializer"

module Proctor
  module Runner
    # What a worker tells about examples and groups. The lines of a passing example are put together
    # by hand: they are most of the traffic.
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
        @writer.queue_line(
          %({"type":"event","event_type":"ExampleStarted","payload":{"key":#{item.entry.key_json},) +
          %("repeat":#{item.repeat},"attempt":#{item.attempt}}})
        )
        @writer.flush
      end

      def example_finished(item, nanoseconds, leaked, description)
        @finished += 1
        result = item.entry.example.execution_result
        return dry(item) if result.status == :passed && RSpec.configuration.dry_run?

        if result.status == :passed && !leaked && !description
          passed(item, nanoseconds)
        else
          event("ExampleFinished", finished_payload(item, nanoseconds, leaked, description))
        end
      end

      def example_not_run(item, reason)
        @finished += 1
        event("ExampleFinished", { key: item.entry.key, repeat: item.repeat, attempt: item.attempt,
                                   status: "not_run", reason: reason })
      end

      def group_started(group)
        event("GroupStarted", group_payload(group))
      end

      def group_finished(group, leaked = nil)
        payload = group_payload(group)
        payload[:leaked] = leaked if leaked
        event("GroupFinished", payload)
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

      # RSpec calls it passed; nothing of it was run.
      def dry(item)
        event("ExampleFinished", { key: item.entry.key, repeat: item.repeat, attempt: item.attempt, status: "pending",
                                   pending_message: "dry run", skipped: true })
      end

      def passed(item, nanoseconds)
        @writer.queue_line(
          %({"type":"event","event_type":"ExampleFinished","payload":{"key":#{item.entry.key_json},) +
          %("repeat":#{item.repeat},"attempt":#{item.attempt},"status":"passed",) +
          %("duration_ms":#{milliseconds(nanoseconds)}}})
        )
      end

      def finished_payload(item, nanoseconds, leaked, description)
        result = item.entry.example.execution_result
        payload = { key: item.entry.key, repeat: item.repeat, attempt: item.attempt,
                    status: result.status.to_s, duration_ms: milliseconds(nanoseconds) }
        add_failure(payload, item.entry.example) if result.status == :failed
        add_pending(payload, result) if result.status == :pending
        if result.pending_fixed?
          payload[:fixed] = true
          payload[:pending_message] = limited(result.pending_message.to_s)
        end
        payload.merge!(description) if description
        payload[:leaked] = leaked if leaked
        payload
      end

      # The backtrace is taken before RSpec's presenter sees it, which edits it in place.
      def add_failure(payload, example)
        error = example.exception
        payload.merge!(error.proctor_outcome) if error.respond_to?(:proctor_outcome)
        payload[:exception] = Serializer.exception(error)
        parts = Serializer.parts(error)
        payload[:failures] = parts if parts
        text = Serializer.presented(example)
        payload[:exception][:presented] = text if text
        LostFolder.explain(error, payload[:exception])
      end

      def add_pending(payload, result)
        payload[:pending_message] = limited(result.pending_message.to_s)
        error = result.pending_exception
        if error
          payload[:pending_exception] = Serializer.exception(error)
        else
          payload[:skipped] = true
        end
      end

      def group_payload(group)
        metadata = group.metadata
        path = group.parent_groups.reverse.map { |each| each.metadata[:description].to_s }
        { path: path.reject(&:empty?).map { |each| limited(each) },
          file: Plain.text(metadata[:file_path].to_s), line: metadata[:line_number] }
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
