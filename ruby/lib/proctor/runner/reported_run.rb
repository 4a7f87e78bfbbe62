# frozen_string_literal: true

require "json"

module Proctor
  module Runner
    # The `report` action of a parent: a forked process replays the recording of the run, so that formatters find the loaded project
    # and can neither end nor change the parent.
    module ReportedRun
      module_function

      # The fields of the reply. `replay` is called in the forked process and returns them.
      def call(channel, &replay)
        reader, writer = IO.pipe
        [STDOUT, STDERR].each(&:flush)
        pid = Process.fork { child(channel, reader, writer, &replay) }
        writer.close
        text = reader.read
        status = Native::WAIT.call(pid)
        text.empty? ? { errors: ["the process that runs the formatters ended with #{ending(status)}"] } : Native.parse(text)
      ensure
        reader&.close
      end

      # at_exit blocks are the parent's.
      def child(channel, reader, writer)
        channel.abandon
        reader.close
        reply = yield
        Native.write(writer, Native.json(Plain.value(reply)))
        writer.close
        Native::EXIT_NOW.call(0)
      rescue Exception => error # rubocop:disable Lint/RescueException
        Native.write(writer, Native.json({ errors: [Plain.text("the run could not be reported: #{error.class}: #{error.message}")] }))
        writer.close
      ensure
        Native::EXIT_NOW.call(1)
      end

      def ending(status)
        status.signaled? ? "signal #{status.termsig}" : "exit status #{status.exitstatus}"
      end
    end
  end
end
