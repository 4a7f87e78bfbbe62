# frozen_string_literal: true

require_relative "../serializer"

module Proctor
  module Runner
    module RspecFramework
      # Exceptions as RSpec's own JSON output has them, plus what a terminal needs to show the familiar text.
      module Exceptions
        module_function

        # `metadata` is that of the example, which may ask for whole backtraces.
        def exception(error, metadata = {})
          described = Serializer.exception(error) { |lines| project_line(lines) }
          aggregate = aggregate(error)
          described[:aggregate] = aggregate if aggregate
          lines = Serializer.backtrace(error)
          lines ? described.merge(backtraces(lines, metadata)) : described
        end

        # What an aggregate says of itself besides its parts.
        def aggregate(error)
          return unless error.respond_to?(:aggregation_block_label) && error.respond_to?(:failures)

          label = error.aggregation_block_label
          { failures: error.failures.size, label: label && Plain.limited(label.to_s, 4096),
            hide_backtrace: error.aggregation_metadata[:hide_backtrace] ? true : false }
        end

        # The lines that RSpec shows for this project, and all of them where those are fewer.
        def backtraces(lines, metadata)
          full = lines.first(Serializer::FULL_BACKTRACE_LINES)
          shown = shown_lines(full, metadata).first(Serializer::BACKTRACE_LINES)
          shown == full ? { backtrace: full } : { backtrace: shown, full_backtrace: full }
        end

        # As RSpec's formatters cut them (`backtrace_exclusion_patterns`, `full_backtrace`). Where every line is excluded, RSpec shows all.
        def shown_lines(lines, metadata)
          formatter = RSpec.configuration.backtrace_formatter
          return lines if metadata[:full_backtrace]

          shown = lines.filter_map { |line| formatter.backtrace_line(line) }
          shown.empty? ? lines : shown
        end

        # The parts of an aggregate (`aggregate_failures`, or an error in the body and one in a hook).
        def parts(error)
          return unless RSpec::Core::MultipleExceptionError::InterfaceTag === error

          error.all_exceptions.map do |part|
            inner = parts(part)
            inner ? exception(part).merge(failures: inner) : exception(part)
          end
        end

        # The first line RSpec would show, relative to the project.
        def project_line(lines)
          formatter = RSpec.configuration.backtrace_formatter
          line = lines.find { |candidate| !candidate.start_with?("<internal:") && !formatter.exclude?(candidate) }
          line && RSpec::Core::Metadata.relative_path(line)
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
          Plain.limited(text.join("\n"), Serializer::TEXT_LIMIT)
        end

        # An error outside of any example, as `errors` of `list` and as ErrorOutsideExample.
        def outside(error, description, phase:, group: nil)
          details = exception(error)
          file = description[/while loading (.+?)(?:\.(?:\s|\z)| an? `(?:exit|raise))/im, 1]
          { phase: phase, description: Plain.text(description), file: file && Plain.text(file),
            location: details[:project_line] && details[:project_line][/\A.+?:\d+/],
            group: group, exception: details, presented: presented_outside(error, description) }.compact
        end
      end
    end
  end
end
