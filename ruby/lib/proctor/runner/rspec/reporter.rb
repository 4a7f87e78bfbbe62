# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # Stands in for RSpec's reporter in the parent and in the workers. No formatter is ever loaded;
      # listeners that the project registers itself are served as usual.
      #
      # The sink decides what becomes of messages, deprecations and errors outside of examples: while
      # loading they are collected, in a worker they are sent.
      class Reporter < RSpec::Core::Reporter
        # A formatter that was asked for. Without a file it writes to standard output.
        FormatterRequest = Struct.new(:formatter, :outputs) do
          def file
            found = outputs.find { |output| output.is_a?(String) || output.respond_to?(:to_path) }
            found.respond_to?(:to_path) ? found.to_path : found
          end

          def to_file?
            !file.nil?
          end

          def name
            formatter.is_a?(String) || formatter.is_a?(Symbol) ? formatter.to_s : (formatter.is_a?(Module) ? formatter : formatter.class).name.to_s
          end
        end

        Aborted = Class.new(StandardError)

        attr_accessor :sink
        attr_writer :formatters

        # The formatters that were asked for, each with its outputs.
        def requested_formatters
          @formatters ? @formatters.requests : []
        end

        def self.install(configuration, sink)
          reporter = new(configuration)
          reporter.sink = sink
          # Installed as the loader, not as the reporter: RSpec ignores a later change of the
          # deprecation stream (`raise_errors_for_deprecations!`) once it has a reporter.
          loader = Loader.new(reporter)
          configuration.instance_variable_set(:@formatter_loader, loader)
          reporter.formatters = loader
          reporter
        end

        def initialize(configuration)
          super
          @heard = {}
          @deprecations = {}
        end

        def register_listener(listener, *notifications)
          notifications.each { |name| @heard[name.to_sym] = true }
          super
        end

        def prepare_default(_loader, _output, deprecation_stream)
          @deprecation_stream = deprecation_stream
        end

        def notify(event, notification)
          return unless @heard[event]

          registered_listeners(event).each { |listener| listener.__send__(event, notification) }
        end

        # The next methods skip building a notification that nobody would get.
        def example_started(example)
          @heard[:example_started] ? super : @examples << example
        end

        def example_finished(example)
          super if @heard[:example_finished]
        end

        def example_passed(example)
          super if @heard[:example_passed]
        end

        def example_failed(example)
          @heard[:example_failed] ? super : @failed_examples << example
        end

        def example_pending(example)
          @heard[:example_pending] ? super : @pending_examples << example
        end

        def example_group_started(group)
          super if @heard[:example_group_started]
        end

        def example_group_finished(group)
          super if @heard[:example_group_finished]
        end

        def message(text)
          @sink.message(text.to_s)
          super
        end

        def deprecation(hash)
          data = RSpec::Core::Notifications::DeprecationNotification.from_hash(hash)
          formatter = deprecation_formatter
          if RSpec::Core::Formatters::DeprecationFormatter::RaiseErrorStream === @deprecation_stream
            formatter.deprecation(data)
          else
            text = formatter.deprecation_message_for(data).to_s
            @sink.deprecation(text) unless @deprecations[text]
            @deprecations[text] = true
          end
          notify(:deprecation, data)
        end

        def notify_non_example_exception(error, description)
          @configuration.world.non_example_failure = true
          @non_example_exception_count += 1
          @sink.outside_error(error, description)
        end

        # The original prints and ends the process.
        def abort_with(text, _status)
          raise Aborted, text.strip
        end

        # Stopping early is the host's decision.
        def fail_fast_limit_met?
          false
        end

        private

        def deprecation_formatter
          @deprecation_formatter ||=
            RSpec::Core::Formatters::DeprecationFormatter.new(@deprecation_stream, $stderr)
        end

        # Accepts every request for a formatter and loads none; they are run at the end, over the recording.
        class Loader < RSpec::Core::Formatters::Loader
          def requests
            @requests ||= []
          end

          def add(formatter, *outputs)
            requests << FormatterRequest.new(formatter, outputs.flatten)
          end

          def setup_default(*); end
        end
      end
    end
  end
end
