# frozen_string_literal: true

module Proctor
  module Runner
    # Exceptions as plain hashes: class, message and backtrace as the project's own test command shows them.
    module Serializer
      BACKTRACE_LINES = 50
      FULL_BACKTRACE_LINES = 1000
      CAUSES = 5
      TEXT_LIMIT = 256 * 1024
      OWN_FRAMES = "#{File.expand_path("../..", __dir__)}/"
      OWN_PROGRAMS = "#{File.expand_path("../../../exe", __dir__)}/"

      module_function

      # Yields the backtrace; the block returns the line of the project that a reader looks for first.
      def exception(error)
        lines = backtrace(error)
        { class: error.class.name && Plain.text(error.class.name),
          message: message(error),
          backtrace: lines && lines.first(BACKTRACE_LINES),
          project_line: lines && yield(lines) }.merge(causes(error))
      end

      # Some messages are computed and may raise themselves.
      def message(error)
        Plain.limited(error.message.to_s, TEXT_LIMIT)
      rescue Exception => other # rubocop:disable Lint/RescueException
        "A #{error.class} for which `exception.message.to_s` raises #{other.class}."
      end

      # Without the frames of this library, which stand below those of the framework.
      def backtrace(error)
        lines = error.backtrace
        return unless lines

        lines = lines.map { |line| Plain.text(line) }
        lines.pop while lines.any? && own?(lines.last)
        lines
      end

      def own?(line)
        line.start_with?(OWN_FRAMES) || line.start_with?(OWN_PROGRAMS)
      end

      def causes(error)
        found = []
        cause = error.cause
        while cause.is_a?(Exception) && found.size < CAUSES && !found.include?(cause)
          found << cause
          cause = cause.cause
        end
        return {} if found.empty?

        { causes: found.map { |each| cause_hash(each) } }
      end

      def cause_hash(error)
        { class: error.class.name, message: message(error), backtrace: backtrace(error)&.first(10) }
      end
    end
  end
end
