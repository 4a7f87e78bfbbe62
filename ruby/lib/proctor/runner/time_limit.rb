# frozen_string_literal: true

module Proctor
  module Runner
    # Ends a block of user code that does not return. The standard `timeout` is not loaded here, where it could
    # hide a `require` that the project lacks.
    module TimeLimit
      # Not a StandardError: the code that hangs may rescue those.
      Exceeded = Class.new(Exception) # rubocop:disable Lint/InheritException

      module_function

      # Without a limit the block may take as long as it likes.
      def within(seconds, what)
        return yield unless seconds

        limited = Thread.current
        lock = Thread::Mutex.new
        running = true
        watchdog = Native::NEW_THREAD.call do
          Native::SLEEP.call(seconds)
          lock.synchronize { limited.raise(Exceeded, "#{what} did not return within #{seconds} s") if running }
        end
        watchdog.name = "proctor-watchdog"
        begin
          yield
        ensure
          lock.synchronize { running = false }
          watchdog.kill
        end
      end
    end
  end
end
