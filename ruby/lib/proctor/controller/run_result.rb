# frozen_string_literal: true

module Proctor
  # What became of a run. `completed_examples` are the ids of the examples that have a result; `error` says why a run without failures is no
  # success.
  class RunResult
    MEMBERS = %i[success example_count failure_count completed_examples error].freeze

    attr_reader(*MEMBERS)

    def initialize(success:, example_count: 0, failure_count: 0, completed_examples: [], error: nil)
      @success = success ? true : false
      @example_count = example_count
      @failure_count = failure_count
      @completed_examples = completed_examples.freeze
      @error = error
      freeze
    end

    def success?
      success
    end

    # :completed or :failed
    def status
      success ? :completed : :failed
    end

    def to_h
      MEMBERS.to_h { |name| [name, public_send(name)] }
    end

    def ==(other)
      other.is_a?(RunResult) && other.to_h == to_h
    end

    class << self
      # `finished` is the payload of SuiteFinished, nil where it was not seen: whatever else was seen, such a run is no success.
      def conclude(finished, ending, completed, outside_errors, cancelled:)
        error = error_of(finished, ending, outside_errors, cancelled)
        passed = finished && finished[:verdict] == "passed" && ending.exit_status == 0 && error.nil?
        counts = finished ? finished.slice(:example_count, :failure_count) : { example_count: completed.size }
        new(success: passed, completed_examples: completed, error: error, **counts)
      end

      private

      def error_of(finished, ending, outside_errors, cancelled)
        return ending.error if ending.error
        return "the run was cancelled" if cancelled && (!finished || finished[:state] == "stopped")
        return unfinished(ending) unless finished
        return outside(outside_errors) unless outside_errors.empty?
        return "the run was stopped" if finished[:state] == "stopped"
        return "no example was found" if finished[:example_count].to_i.zero?
        return if finished[:failure_count].to_i.positive?

        unexplained(finished, ending)
      end

      def unfinished(ending)
        "the run ended without a result#{ending.explanation}"
      end

      def outside(errors)
        first = errors.first
        text = first.dig(:exception, :message) || first[:message]
        more = errors.size > 1 ? " (and #{errors.size - 1} more)" : ""
        "an error outside of examples: #{text}#{more}"
      end

      # Nothing failed, and yet it is no success.
      def unexplained(finished, ending)
        return if finished[:verdict] == "passed" && ending.exit_status == 0

        verdict = finished[:verdict] || finished[:state] || "unknown"
        "no example failed, but the run did not pass (#{verdict})#{ending.explanation}"
      end
    end
  end
end
