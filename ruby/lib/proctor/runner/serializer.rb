# frozen_string_literal: true

module Proctor
  module Runner
    # Exceptions as plain hashes: class, message and backtrace exactly as RSpec's own JSON output
    # has them, plus what a terminal needs to show the familiar text.
    module Serializer
      BACKTRACE_LINES = 50
      CAUSES = 5
      TEXT_LIMIT = 256 * 1024
      OWN_FRAMES = "#{File.expand_path("../..", __dir__)}/"
      OWN_PROGRAMS = "#{File.expand_path("../../../exe", __dir__)}/"

      module_function

      def exception(error)
        lines = backtrace(error)
        { class: error.class.name && Plain.text(error.class.name),
          message: message(error),
          backtrace: lines && lines.first(BACKTRACE_LINES),
          project_line: project_line(lines) }.merge(causes(error))
      end

      # The parts of an aggregate (`aggregate_failures`, or an error in the body and one in a hook).
      def parts(error)
        return unless RSpec::Core::MultipleExceptionError::InterfaceTag === error

        error.all_exceptions.map { |part| exception(part) }
      end

      # Some messages are computed and may raise themselves.
      def message(error)
        Plain.limited(error.message.to_s, TEXT_LIMIT)
      rescue Exception => other # rubocop:disable Lint/RescueException
        "A #{error.class} for which `exception.message.to_s` raises #{other.class}."
      end

      # Without the frames of this library, which stand below RSpec's.
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

      # The first line RSpec would show, relative to the project.
      def project_line(lines)
        return unless lines

        formatter = RSpec.configuration.backtrace_formatter
        line = lines.find { |candidate| !candidate.start_with?("<internal:") && !formatter.exclude?(candidate) }
        line && RSpec::Core::Metadata.relative_path(line)
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

      # RSpec's own text for a failed example: code snippet, message with diff, backtrace; without
      # colour, number and description.
      def presented(example)
        presenter = RSpec::Core::Formatters::ExceptionPresenter::Factory.new(example).build
        text_of(presenter)
      rescue StandardError, SystemStackError
        nil
      end

      def presented_outside(error, description)
        example = RSpec::Core::Example.new(RSpec::Core::AnonymousExampleGroup, description, {})
        text_of(RSpec::Core::Formatters::ExceptionPresenter.new(error, example, indentation: 2))
      rescue StandardError, SystemStackError
        nil
      end

      # The first two lines are empty and the description; the others are indented by two.
      def text_of(presenter)
        lines = presenter.fully_formatted_lines(nil, RSpec::Core::Notifications::NullColorizer)
        text = lines.drop(2).map { |line| Plain.text(line.to_s).delete_prefix("  ") }
        Plain.limited(text.join("\n"), TEXT_LIMIT)
      end

      # An error outside of any example, as `errors` of `list` and as ErrorOutsideExample.
      def outside(error, description, phase:, group: nil)
        details = exception(error)
        file = description[/while loading (.+?)(?:\.(?:\s|\z)| an `exit`)/im, 1]
        { phase: phase, description: Plain.text(description), file: file && Plain.text(file),
          location: details[:project_line] && details[:project_line][/\A.+?:\d+/],
          group: group, exception: details, presented: presented_outside(error, description) }.compact
      end
    end
  end
end
