# frozen_string_literal: true

require_relative "native" unless defined?(Proctor::Native)
require_relative "plain" unless defined?(Proctor::Plain)
require_relative "channel" unless defined?(Proctor::Channel)
require_relative "host/errors"
require_relative "host/line"
require_relative "host/program"

module Proctor
  # The host: whoever conducts the conversations of this process. A worker of `proctor run` asks the run it works
  # for; any other process starts a host of its own, once.
  module Host
    @lock = Thread::Mutex.new

    class << self
      # The line to the host, opened when it is first needed. A forked process gets its own.
      def line
        @lock.synchronize do
          @line = nil if @line && (@line.foreign_process? || @line.gone?)
          @line ||= worker? ? Line.new(Channel.current) : start
        end
      end

      # The line if it is open; nothing is started for it.
      def open_line
        worker? || (@line && !@line.foreign_process? && !@line.gone?) ? line : nil
      end

      # Whether this process works for a run that somebody else conducts.
      def worker?
        !Channel.current.nil?
      end

      # The host program of this process, if one was started.
      attr_reader :program

      # Opens the line by starting the host program now.
      def begin(**options)
        @lock.synchronize { @line = start(**options) }
      end

      # Ends the host program, after it has written down everything.
      def finish
        program = @lock.synchronize do
          @line = nil
          ended = @program
          @program = nil
          ended
        end
        program&.finish
      end

      private

      def start(**options)
        @program = Program.new(**options)
        @program.line
      end
    end
  end
end
