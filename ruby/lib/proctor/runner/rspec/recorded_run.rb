# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # What the recording of a run says about RSpec's examples: one result for each, and the errors outside of examples.
      class RecordedRun
        # The result of an example. Of several repetitions the first that failed counts, else the last; of several attempts the last.
        Result = Struct.new(:id, :started, :finished, :name) do
          def status
            finished["status"]
          end

          # Whether RSpec would have reported it.
          def reported?
            !%w[not_run cancelled].include?(status)
          end

          def passed?
            status == "passed"
          end

          def pending?
            status == "pending"
          end

          def failed?
            reported? && !passed? && !pending?
          end

          # Where it stands, from whichever event says so.
          def described(field)
            [started, finished].compact.map { |event| event[field] }.find { |value| value }
          end
        end

        attr_reader :errors, :duration

        def self.read(path)
          run = new
          File.foreach(path, encoding: "UTF-8") { |line| run.add(Native.parse(line)) }
          run
        end

        def initialize
          @starts = {}
          @results = {}
          @errors = []
          @duration = 0.0
        end

        def add(event)
          note_time(event["time"])
          case event["event_type"]
          when "ExampleStarted" then @starts[attempt_of(event)] = event
          when "ExampleFinished" then finished(event)
          when "ErrorOutsideExample" then @errors << event
          end
        end

        def [](id)
          @results[id]
        end

        # In the order in which examples first ended.
        def results
          @results.values
        end

        private

        def attempt_of(event)
          event.values_at("example_id", "repeat", "attempt")
        end

        def finished(event)
          return if event["final"] == false

          id = event["example_id"]
          name = event["full_description"] && event["description"] || @results[id]&.name
          result = Result.new(id, @starts.delete(attempt_of(event)), event, name)
          @results[id] = result unless @results[id]&.failed?
        end

        def note_time(text)
          time = text && Time.iso8601(text)
          return unless time

          @began ||= time
          @duration = time - @began
        rescue ArgumentError
          nil
        end
      end
    end
  end
end
