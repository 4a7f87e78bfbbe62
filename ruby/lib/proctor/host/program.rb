# frozen_string_literal: true

require "socket"

module Proctor
  module Host
    # `proctor host` as a child of this process, for specs that plain `rspec` runs. They share a socket pair: when one
    # ends, however it ends, the other one notices.
    class Program
      BINARY = "proctor"
      END_WITHIN = 10

      class << self
        # The program: PROCTOR_BIN, else `proctor` on the PATH. nil when there is none.
        def binary(env = ENV)
          named = env["PROCTOR_BIN"]
          return named unless named.nil? || named.empty?

          env.fetch("PATH", "").split(File::PATH_SEPARATOR).each do |folder|
            path = File.join(folder, BINARY)
            return path if File.file?(path) && File.executable?(path)
          end
          nil
        end
      end

      attr_reader :line, :pid

      def initialize(events: nil)
        binary = Program.binary || raise(HostUnavailable, missing)
        ours, theirs = UNIXSocket.pair
        @binary = binary
        @pid = start(binary, theirs, events)
        @channel = Channel.new(Transport::Pair.new(ours, ours), name: "proctor-rspec", capabilities: %w[converse])
        @line = Line.new(@channel)
        @socket = ours
        @owner = $$
        @channel.start(self) {}
      ensure
        theirs&.close
      end

      # The host asks nothing but what conversations need.
      def handle(action, _message)
        { error: { code: "unknown_action", message: "no action #{action}" } }
      end

      # Says that nothing more comes, and waits until everything is written down.
      def finish
        return if @owner != $$

        early = @line.gone?
        hang_up
        status = wait
        report(status, early) if early || (status && !status.success?)
      rescue IOError, SystemCallError
        nil
      end

      private

      def report(status, early)
        how = if status.nil? || status.success? then "ended"
              elsif status.exitstatus then "ended with exit status #{status.exitstatus}"
              else "was ended by signal #{status.termsig}"
              end
        Native.write(STDERR, "proctor: `#{@binary} host` #{how}#{" before the run did" if early}: " \
                             "the recording and other destinations of events lack what came after\n")
      end

      def hang_up
        @channel.writer.flush
        @socket.close_write
      rescue IOError, SystemCallError
        nil # it is gone
      end

      def start(binary, socket, events)
        arguments = [binary, "host"]
        arguments.push("--events", events) if events
        # In a process group of its own: Ctrl-C is for RSpec, and the host has to write down what comes of it.
        Process.spawn({ "RPC_SOCKET_FD" => socket.fileno.to_s }, *arguments,
                      in: File::NULL, out: :err, pgroup: true, socket.fileno => socket.fileno)
      rescue SystemCallError => error
        raise HostUnavailable, "#{binary} cannot be started: #{error.message} " \
                               "(it was found by PROCTOR_BIN or PATH; is it the right program?)"
      end

      def missing
        "the program `proctor` was not found: set PROCTOR_BIN to it, or put it on the PATH " \
          "(or run the specs with `proctor run`)"
      end

      # Returns how it ended; nil where somebody else has asked before.
      def wait
        deadline = Native.monotonic + END_WITHIN
        until (status = Native::WAIT.call(@pid, Native::NO_HANG))
          Native::KILL.call(:KILL, @pid) if Native.monotonic > deadline
          Native::SLEEP.call(0.002)
        end
        status if status.pid == @pid
      rescue Errno::ECHILD, Errno::ESRCH
        nil
      end
    end
  end
end
