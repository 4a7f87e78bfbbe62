# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # Exceptions as they were, from what was recorded of them: class, message, backtrace, causes, and the parts of an aggregate.
      module RecordedException
        # What aggregates of rspec-expectations ask for their parts.
        Aggregator = Struct.new(:failures, :other_errors, :block_label, :metadata)

        # Makes an exception behave as recorded; its own constructor may need more than is known.
        module Recorded
          attr_accessor :message, :cause

          # RSpec copies the parts of aggregates; a plain copy would be without these methods.
          def dup
            clone(freeze: false)
          end

          def to_s
            message
          end

          def inspect
            "#<#{self.class}: #{message}>"
          end

          def full_message(**)
            "#{message} (#{self.class})"
          end
        end

        module_function

        # `details` as the recording has them; nil makes none.
        def build(details)
          return unless details

          parts = Array(details["failures"]).filter_map { |part| build(part) }
          with_backtrace(parts.empty? ? plain(details) : aggregate(details, parts), details["full_backtrace"] || details["backtrace"])
        end

        # Where only a text is known: what became of a worker, for instance.
        def of_message(class_name, message, backtrace = [])
          with_backtrace(plain({ "class" => class_name, "message" => message }), backtrace)
        end

        # One that was never raised has none.
        def with_backtrace(error, lines)
          error.set_backtrace(lines) unless lines.nil? || lines.empty?
          error
        end

        def plain(details)
          error = class_named(details["class"]).allocate
          error.extend(Recorded)
          error.message = details["message"].to_s
          error.cause = chain(Array(details["causes"]))
          error
        end

        def chain(causes)
          causes.reverse.inject(nil) do |inner, details|
            error = with_backtrace(plain(details.merge("causes" => nil)), details["full_backtrace"] || details["backtrace"])
            error.cause = inner
            error
          end
        end

        def aggregate(details, parts)
          kind = class_named(details["class"])
          if of_expectations?(kind)
            described = details["aggregate"] || {}
            failures = parts.first(described.fetch("failures", parts.size))
            metadata = { hide_backtrace: described["hide_backtrace"] }
            kind.new(Aggregator.new(failures, parts.drop(failures.size), described["label"], metadata))
          elsif kind <= RSpec::Core::MultipleExceptionError
            kind.new(*parts)
          else
            plain(details)
          end
        end

        # The aggregator is loaded when it is first used, and completes the class.
        def of_expectations?(kind)
          defined?(RSpec::Expectations::FailureAggregator) && RSpec::Expectations::FailureAggregator &&
            kind <= RSpec::Expectations::MultipleExpectationsNotMetError
        end

        # The class itself if the project has it, else one of that name.
        def class_named(name)
          found = name && Object.const_defined?(name) ? Object.const_get(name) : nil
          return found if found.is_a?(Class) && found <= Exception

          stand_in(name)
        rescue NameError
          stand_in(name)
        end

        def stand_in(name)
          @stand_ins ||= {}
          @stand_ins[name] ||= Class.new(StandardError) do
            define_singleton_method(:name) { name }
            define_singleton_method(:to_s) { name.to_s }
            define_singleton_method(:inspect) { name.to_s }
          end
        end
      end
    end
  end
end
