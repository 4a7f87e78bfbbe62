# frozen_string_literal: true

module Proctor
  module Runner
    # Writes the boundaries of an example into standard output and standard error, so that the host
    # can tell whose bytes are whose by their position alone.
    #
    # A mark starts wherever the output before it ended, which may be in the middle of a line. The
    # closing mark is held back until something else is about to happen: the next opening mark takes
    # its place.
    class OutputMarks
      attr_accessor :nonce

      # Private copies of the descriptors: a test may close, reopen or replace its own.
      def initialize
        @streams = [STDOUT, STDERR].map do |stream|
          copy = IO.for_fd(stream.fileno, "wb", autoclose: false).dup
          copy.sync = true
          copy
        end
        @open = false
        @owed = nil
      end

      def open(item)
        return unless @nonce

        flush_streams unless @owed
        write("#{@nonce} #{name(item.entry)}\t#{item.repeat}\t#{item.attempt}\n")
        @owed = nil
        @open = true
      end

      # Flushes even without marks: what a test printed must not be lost when the next one crashes.
      def close
        flush_streams
        return unless @open

        @owed = "#{@nonce}\n"
        @open = false
      end

      # Writes a closing mark that was held back.
      def settle
        return unless @owed

        write(@owed)
        @owed = nil
      end

      private

      CONTROL = /[\x00-\x1f]/
      private_constant :CONTROL

      # A file may have a tab or a line feed in its name: such a key is written as JSON.
      def name(entry)
        CONTROL.match?(entry.key) ? entry.key_json : entry.key
      end

      def flush_streams
        flush(STDOUT)
        flush($stdout) unless $stdout.equal?(STDOUT)
        flush(STDERR)
        flush($stderr) unless $stderr.equal?(STDERR)
      end

      def flush(stream)
        Native::IO_FLUSH.bind_call(stream) if IO === stream
      rescue IOError, SystemCallError
        nil
      end

      def write(text)
        @streams.each do |stream|
          Native.write(stream, text)
        rescue IOError, SystemCallError
          nil
        end
      end
    end
  end
end
