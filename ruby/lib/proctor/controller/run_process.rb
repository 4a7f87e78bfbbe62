# frozen_string_literal: true

require "json"
require "socket"
require "tempfile"
require_relative "../host/program"

module Proctor
  class Controller
    # `proctor run` as a child process, and the socket over which its events come. The child ends when the socket is closed, so it
    # ends with this process, however it ends.
    #
    # Lines are read on a thread of their own into memory: callbacks that are slow hold nothing up.
    class RunProcess
      # How long the child may take to end after it was told to. What it leaves behind is ended by its guards.
      KILL_AFTER = 15
      QUOTED_LINES = 20

      # How the process ended. `exit_status` is nil where a signal ended it, or where it is not known.
      Ending = Struct.new(:exit_status, :signal, :output, :error, keyword_init: true) do
        # What follows a sentence about the end.
        def explanation
          how = if exit_status then " (exit status #{exit_status})"
                elsif signal then " (it was killed by signal #{signal})"
                else " (its exit status is not known: something else in this process waits for all children)"
                end
          output.to_s.empty? ? how : "#{how}: #{output}"
        end
      end

      def initialize(paths, worker_count:, fail_fast:, root:, binary:, arguments:, environment:)
        @lines = Thread::Queue.new
        root = File.expand_path(root || Dir.pwd)
        command = [binary || Host::Program.binary || missing, "--root", root, "run", "--ui=terse", "--workers=#{worker_count}"]
        command << "--fail-fast" if fail_fast
        command.concat(arguments.map(&:to_s))
        spawn(command, paths.map { |path| path.to_s.start_with?("-") ? "./#{path}" : path.to_s }, root, environment)
      rescue SystemCallError, ArgumentError => error
        @failure = "#{command&.first || "proctor"} cannot be started: #{error.message}"
      rescue NoBinary => error
        @failure = error.message
      ensure
        @lines.close unless @reader
      end

      # Yields every message until the run is over.
      def each_message
        while (line = @lines.pop)
          message = JSON.parse(line, symbolize_names: true, freeze: true)
          yield message if message[:event]
        end
      end

      # How it ended; waits for that.
      def ending
        return Ending.new(error: @failure) if @failure

        status = @waiter.value
        Ending.new(exit_status: status&.exitstatus, signal: status&.termsig, output: last_lines)
      ensure
        close
      end

      # Has the run ended now. The child answers by closing the socket.
      def stop
        return unless @socket

        tell("kill")
        Thread.new { kill unless @waiter.join(KILL_AFTER) }
      end

      # Ends the run without waiting for what it says.
      def abandon
        kill if @waiter
        Ending.new(error: "the thread of the controller was killed, and the run with it")
      ensure
        close
      end

      private

      # Raised where there is no program.
      class NoBinary < StandardError; end

      def missing
        raise NoBinary, "the program `proctor` was not found: name it with `binary:`, set PROCTOR_BIN to it, or put it on the PATH"
      end

      def spawn(command, paths, root, environment)
        ours, theirs = UNIXSocket.pair
        @output = Tempfile.create("proctor-run")
        File.unlink(@output.path)
        number = theirs.fileno
        # In a process group of its own: Ctrl-C is for this process, and what follows from it for the run is decided here.
        pid = Process.spawn(environment.to_h { |name, value| [name.to_s, value&.to_s] }, *command, "--controller-fd=#{number}", *paths,
                            in: File::NULL, out: @output, err: @output, pgroup: true, chdir: root, number => number)
        @socket = ours
        @socket.set_encoding(Encoding::UTF_8)
        @waiter = Process.detach(pid)
        @reader = Thread.new { read }
        @reader.name = "proctor-controller-reader"
      ensure
        theirs&.close
        ours&.close unless @socket
      end

      def read
        while (line = @socket.gets)
          # A line that was cut off is no event: the run died while it was written.
          @lines << line if line.end_with?("\n")
        end
      rescue IOError, SystemCallError
        nil
      ensure
        @lines.close
      end

      def tell(request)
        @socket.write("#{request}\n")
      rescue IOError, SystemCallError
        nil # it is over already
      end

      def kill
        Process.kill(:KILL, @waiter.pid) if @waiter.alive?
      rescue SystemCallError
        nil # it has just ended
      end

      def close
        [@socket, @output].each { |io| io&.close unless io&.closed? }
      rescue IOError
        nil
      end

      def last_lines
        @output.rewind
        text = @output.read.force_encoding(Encoding::UTF_8).scrub
        text.lines.last(QUOTED_LINES).join.strip.delete_prefix("error: ")
      end
    end
  end
end
