# frozen_string_literal: true

require_relative "line_limit"
require_relative "native"
require_relative "plain"

module Proctor
  # Framing: one JSON object per line.
  module Wire
    MAX_LINE = 8 * 1024 * 1024

    # A request that does not fit one line.
    TooLarge = Class.new(StandardError)

    # The only writer of a channel. Lines gather in a buffer until somebody asks for a flush, so that
    # the end of one example and the start of the next leave in a single system call.
    #
    # A process forked by a test shares the descriptor but must never speak on it: the writer
    # remembers which process it belongs to and is silent in any other.
    class Writer
      FLUSH_AT = 32

      def initialize(io)
        @io = io
        @io.sync = true
        @pid = $$
        @lock = Thread::Mutex.new
        @buffer = String.new(capacity: 16_384, encoding: Encoding::UTF_8)
        @lines = 0
      end

      def send_now(message)
        send_line(encode(message))
      end

      # `line` is finished JSON without the line feed.
      def send_line(line)
        @lock.synchronize do
          @buffer << line << "\n"
          flush_locked
        end
      end

      def queue(message)
        queue_line(encode(message))
      end

      # `line` is finished JSON without the line feed.
      def queue_line(line)
        @lock.synchronize do
          @buffer << line << "\n"
          @lines += 1
          flush_locked if @lines >= FLUSH_AT
        end
      end

      def flush
        @lock.synchronize { flush_locked } unless @buffer.empty?
      end

      def foreign_process?
        $$ != @pid
      end

      private

      def flush_locked
        return if @buffer.empty?

        Native.write(@io, @buffer) if $$ == @pid
      rescue Errno::EPIPE, Errno::ECONNRESET, IOError
        # The host is gone; the reader sees the end of file and ends the process.
        nil
      ensure
        @buffer.clear
        @lines = 0
      end

      # Notifications are cut to fit, never dropped: a result that is lost is a wrong verdict. A request or a reply carries
      # what somebody judges, so one that does not fit is refused rather than cut.
      def encode(message)
        line = LineLimit.encode(message)
        return line if line.bytesize <= MAX_LINE

        text = "a message of #{line.bytesize} bytes does not fit: the limit is #{MAX_LINE}"
        reply_to = message[:reply_to] || message["reply_to"]
        return Native.json({ reply_to: reply_to, error: { code: "too_large", message: text } }) if reply_to
        raise TooLarge, text if message[:action] || message["action"]

        LineLimit.json(message, MAX_LINE)
      end
    end

    # Reads lines, drops the over-long and the malformed ones, yields hashes. Returns at the end of
    # the stream.
    #
    # A test may kill the reading thread at any time. It can die only while it waits for a line to begin, before anything is
    # read: a kill that arrives during the system call would lose what the call has read, a later one what is being handled.
    class Reader
      KEYS = %w[id reply_to action type].freeze

      def initialize(io, &on_problem)
        @io = io
        @readers = [io].freeze
        @on_problem = on_problem
      end

      def each(&handle)
        loop do
          Native::SELECT.call(@readers)
          break unless Thread.handle_interrupt(Object => :never) { handle_line(&handle) }
        end
      rescue Errno::ECONNRESET, Errno::EBADF, IOError
        nil
      end

      private

      # False at the end of the stream.
      def handle_line
        line = Native::IO_GETS.bind_call(@io, "\n", MAX_LINE + 1)
        return false unless line

        if line.bytesize > MAX_LINE && !line.end_with?("\n")
          skip_rest_of_line
          @on_problem.call("a line longer than #{MAX_LINE} bytes was dropped")
        elsif line != "\n"
          message = decode(line)
          yield message if message
        end
        true
      end

      def skip_rest_of_line
        loop do
          part = Native::IO_GETS.bind_call(@io, "\n", MAX_LINE)
          break if part.nil? || part.end_with?("\n")
        end
      end

      def decode(line)
        line.force_encoding(Encoding::UTF_8)
        raise ArgumentError, "not valid UTF-8" unless line.valid_encoding?

        message = Native.parse(line)
        raise ArgumentError, "not a JSON object" unless message.is_a?(Hash)

        KEYS.each { |key| raise ArgumentError, "#{key} is not a string" unless (message[key] || "").is_a?(String) }
        message
      rescue StandardError => error
        @on_problem.call("a line was dropped: #{error.message[0, 200]}")
        nil
      end
    end
  end
end
