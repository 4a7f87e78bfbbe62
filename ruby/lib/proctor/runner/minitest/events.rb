# frozen_string_literal: true

require_relative "../events"
require_relative "../lost_folder"
require_relative "exceptions"

module Proctor
  module Runner
    module MinitestFramework
      # What a worker tells about tests.
      class Events < Runner::Events
        # Returns the status. Minitest calls a test skipped if it skips first and then breaks, in its teardown for instance; here
        # that is a failure.
        def example_finished(item, nanoseconds, leaked, result)
          @finished += 1
          broken, skips = result.failures.partition { |failure| !(::Minitest::Skip === failure) }
          status = if !broken.empty? then :failed
                   elsif skips.empty? then :passed
                   else :pending
                   end
          if status == :passed && !leaked
            passed(item, nanoseconds, %(,"checks":#{result.assertions}))
          else
            event("ExampleFinished", payload(item, nanoseconds, status, result, leaked).merge(details(broken, skips)))
          end
          status
        end

        # A test that broke outside of what Minitest catches.
        def example_broken(item, nanoseconds, error)
          @finished += 1
          event("ExampleFinished", { key: item.entry.key, repeat: item.repeat, attempt: item.attempt, status: "failed",
                                     duration_ms: milliseconds(nanoseconds), exception: Exceptions.exception(error) })
          :failed
        end

        private

        def payload(item, nanoseconds, status, result, leaked)
          payload = { key: item.entry.key, repeat: item.repeat, attempt: item.attempt, status: status.to_s,
                      duration_ms: milliseconds(nanoseconds), checks: result.assertions }
          payload[:leaked] = leaked if leaked
          payload
        end

        # What went wrong, or else why it was skipped.
        def details(broken, skips)
          return skips.empty? ? {} : { pending_message: limited(skips.first.message.to_s), skipped: true } if broken.empty?

          parts = broken.map { |failure| Exceptions.exception(failure.error) }
          LostFolder.explain(broken.first.error, parts.first)
          return { exception: parts.first } if parts.size == 1

          shown = parts.map { |part| part[:presented] }.join("\n\n")
          { exception: parts.first.merge(presented: limited(shown)), failures: parts }
        end
      end
    end
  end
end
