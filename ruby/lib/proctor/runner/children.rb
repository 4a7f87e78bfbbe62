# frozen_string_literal: true

module Proctor
  module Runner
    # The child processes of this process, orphaned descendants included, as Linux shows them.
    module Children
      PR_SET_CHILD_SUBREAPER = 36
      PRCTL = { "x86_64" => 157, "aarch64" => 167, "arm64" => 167 }.freeze
      TASKS = "/proc/self/task"
      COMMAND_LIMIT = 300

      module_function

      def supported?
        File.exist?("#{TASKS}/#{$$}/children")
      end

      # Descendants whose parent ends become our children instead of init's. Without it only direct
      # children are seen. Returns whether it worked.
      def become_subreaper
        number = PRCTL[RbConfig::CONFIG["host_cpu"]]
        return false unless number && RUBY_PLATFORM.include?("linux")

        verbose = $VERBOSE
        $VERBOSE = nil
        Native::SYSCALL.call(number, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).zero?
      rescue SystemCallError, NotImplementedError
        false
      ensure
        $VERBOSE = verbose
      end

      # Children belong to the thread that started them, so every thread's list is read.
      def list
        Native::LIST_DIRECTORY.call(TASKS).flat_map do |task|
          Native::READ_FILE.call("#{TASKS}/#{task}/children").split.map(&:to_i)
        rescue SystemCallError
          []
        end
      rescue SystemCallError
        []
      end

      # Three answers in about a microsecond, without reading /proc: none, some, or the status of
      # one that has ended, which is thereby reaped.
      def poll
        status = Native::WAIT.call(-1, Native::NO_HANG)
        return :some unless status

        status.pid.positive? ? :reaped : :none
      rescue Errno::ECHILD
        :none
      end

      def ended?(pid)
        Native::READ_FILE.call("/proc/#{pid}/stat")[/\A\d+ \(.*\) (\S)/m, 1] == "Z"
      rescue SystemCallError
        true
      end

      # A process caught between fork and exec still has our own command line, or none: it gets a
      # moment to become what it is.
      def name(pid)
        10.times do
          text = command(pid)
          return text unless text == command($$) || text == "?"

          Native::SLEEP.call(0.002)
        end
        command(pid)
      end

      def command(pid)
        text = Native::READ_FILE.call("/proc/#{pid}/cmdline").tr("\0", " ").strip
        return "?" if text.empty?

        Plain.text(text[0, COMMAND_LIMIT])
      rescue SystemCallError
        "?"
      end

      def reap(pid)
        Native::WAIT.call(pid, Native::NO_HANG)
      rescue SystemCallError
        nil
      end

      def kill(pid)
        Native::KILL.call(:KILL, pid)
      rescue SystemCallError
        nil
      end
    end
  end
end
