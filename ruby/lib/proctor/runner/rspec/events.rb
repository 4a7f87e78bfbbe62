# frozen_string_literal: true

require_relative "../events"
require_relative "../lost_folder"
require_relative "exceptions"

module Proctor
  module Runner
    module RspecFramework
      # What a worker tells about RSpec's examples and groups.
      class Events < Runner::Events
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

        # Finished lines that announce examples which were defined while others ran.
        def late_examples(lines)
          lines.each { |line| @writer.queue_line(line) }
          flush
        end

        def group_started(group)
          event("GroupStarted", group_payload(group))
        end

        def group_finished(group, leaked = nil)
          payload = group_payload(group)
          payload[:leaked] = leaked if leaked
          event("GroupFinished", payload)
        end

        private

        # RSpec calls it passed; nothing of it was run.
        def dry(item)
          event("ExampleFinished", { key: item.entry.key, repeat: item.repeat, attempt: item.attempt, status: "pending",
                                     pending_message: "dry run", skipped: true })
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
          payload[:exception] = Exceptions.exception(error, example.metadata)
          parts = Exceptions.parts(error)
          payload[:failures] = parts if parts
          text = Exceptions.presented(example)
          payload[:exception][:presented] = text if text
          LostFolder.explain(error, payload[:exception])
        end

        def add_pending(payload, result)
          payload[:pending_message] = limited(result.pending_message.to_s)
          error = result.pending_exception
          if error
            payload[:pending_exception] = Exceptions.exception(error)
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
      end
    end
  end
end
