# frozen_string_literal: true

require_relative "../serializer"

module Proctor
  module Runner
    module MinitestFramework
      # Failures of tests as plain hashes, with what a terminal needs to show them.
      module Exceptions
        SHOWN_LINES = 10

        module_function

        # `error` is an assertion that failed, or whatever else was raised.
        def exception(error)
          details = Serializer.exception(error) { |lines| project_line(error, lines) }
          details.merge(presented: presented(error, details))
        end

        # An error outside of any test, as `errors` of `list` and as ErrorOutsideExample.
        def outside(error, description, phase:)
          details = exception(error)
          { phase: phase, description: Plain.text(description), presented: details.delete(:presented),
            location: details[:project_line] && details[:project_line][/\A.+?:\d+/], exception: details }.compact
        end

        # Minitest skips the frames of assertions, those of the project included.
        def project_line(error, lines)
          if ::Minitest::Assertion === error && !error.location.empty?
            return TestPaths.relative(error.location)
          end

          line = shown(lines).first
          line && TestPaths.relative(line)
        end

        def shown(lines)
          ::Minitest.filter_backtrace(lines).reject { |line| line.start_with?("<internal:") || Serializer.own?(line) }
        end

        def presented(error, details)
          text = ::Minitest::Assertion === error ? details[:message] : "#{details[:class]}:\n  #{details[:message].gsub("\n", "\n  ")}"
          lines = shown(Serializer.backtrace(error) || []).first(SHOWN_LINES)
          Plain.limited([text, *lines.map { |line| "# #{TestPaths.relative(line)}" }].join("\n"), Serializer::TEXT_LIMIT)
        end
      end
    end
  end
end
