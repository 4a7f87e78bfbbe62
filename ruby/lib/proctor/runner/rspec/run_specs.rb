# frozen_string_literal: true

require "digest"
require_relative "events"
require_relative "../work_queue"

module Proctor
  module Runner
    module RspecFramework
      # The older action `run_specs`: runs the named examples to the end, reports each with one event
      # per outcome, and answers with the totals.
      class RunSpecs
        def self.normal(id)
          id.start_with?("/", "./") ? id : "./#{id}"
        end

        def initialize(ids)
          @ids = ids
        end

        # The files that the ids name.
        def files
          @ids.map { |id| id[/\A(.*?)(?:\[[\d:,\s]+\])?\z/m, 1] }.uniq
        end

        def call(channel, loading, worker, reply_to)
          return load_failed(channel, loading, reply_to) unless loading.loaded?

          wanted = @ids.to_h { |id| [RunSpecs.normal(id), true] }
          units = units_of(loading.loader.manifest.entries.select { |entry| selected?(entry, wanted) })
          events = OlderEvents.new(channel.writer)
          worker.run_to_end(units, events)
          failed = events.failures.positive? || RSpec.world.non_example_failure || missing?(wanted, events)
          channel.reply(reply_to, { exit_code: failed ? 1 : 0, example_count: events.count,
                                    failure_count: events.failures })
        end

        private

        # An id without brackets means the whole file.
        def selected?(entry, wanted)
          wanted[entry.key] || wanted[entry.key[/\A[^\[]+/]]
        end

        def units_of(entries)
          entries.chunk_while { |one, next_one| one.unit && one.unit == next_one.unit }
                 .map { |chunk| chunk.map { |entry| Item.new(entry, 1, 1) } }
        end

        def missing?(wanted, events)
          events.count.zero? && wanted.any?
        end

        def load_failed(channel, loading, reply_to)
          errors = loading.loader.errors
          errors.each { |error| channel.notify({ type: "event", event_type: "ErrorOutsideExample", payload: error }) }
          channel.reply(reply_to, { exit_code: 1, example_count: 0, failure_count: 0, errors: errors })
        end

        # Seed 001's form of the example events.
        class OlderEvents < Events
          attr_reader :count, :failures

          def initialize(writer)
            super
            @count = @failures = 0
          end

          def example_started(item)
            @count += 1
            event("ExampleStarted", about(item))
            flush
          end

          def example_finished(item, _nanoseconds, _leaked, _description)
            example = item.entry.example
            result = example.execution_result
            case result.status
            when :failed then failed(item, example, result)
            when :pending then pending(item, result)
            else event("ExamplePassed", about(item).merge(duration: result.run_time))
            end
          end

          # Nobody asked for them; they are run all the same.
          def late_examples(_lines); end

          def example_not_run(item, reason)
            @failures += 1
            event("ExampleFailed", about(item).merge(message: reason, backtrace: []))
          end

          private

          def pending(item, result)
            event("ExamplePending", about(item).merge(message: Plain.text(result.pending_message.to_s)))
          end

          def failed(item, example, result)
            @failures += 1
            details = Exceptions.exception(example.exception)
            event("ExampleFailed", about(item).merge(duration: result.run_time, class: details[:class],
                                                     message: details[:message], backtrace: details[:backtrace]))
          end

          def about(item)
            example = item.entry.example
            { example_id: stable_id(item.entry), key: item.key, description: Plain.text(example.description),
              full_description: Plain.text(example.full_description), location: Plain.text(example.location) }
          end

          def stable_id(entry)
            path = entry.groups.map { |group| group.metadata[:description].to_s }
            path << entry.example.metadata[:description].to_s
            file = entry.example.metadata[:rerun_file_path]
            Digest::SHA256.hexdigest("#{file}::#{path.reject(&:empty?).join(" > ")}")[0, 12]
          end
        end
      end
    end
  end
end
