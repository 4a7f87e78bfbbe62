# frozen_string_literal: true

module Proctor
  module Runner
    # One requested execution of an example.
    Item = Struct.new(:entry, :repeat, :attempt) do
      def key
        entry.key
      end

      def to_wire
        { key: key, repeat: repeat, attempt: attempt }
      end
    end

    # What the main thread has yet to do. The reading thread adds and takes back; an item handed out
    # by `take` counts as started and can no longer be taken back.
    class WorkQueue
      UNIT_DONE = :unit_done
      LATE = :late
      WAIT_SECONDS = 0.5

      def initialize
        @lock = Thread::Mutex.new
        @changed = Thread::ConditionVariable.new
        @units = []
        @current = nil
        @jobs = []
        @stopped = false
        @failures_allowed = nil
        @failures_change = 0
        @late = false
      end

      # Examples that were defined while others ran wait for their turn, which comes when there is nothing else.
      def late_waiting
        @lock.synchronize { @late = true }
      end

      # After so many failures nothing more is started until the host says how to go on: it may have been the last
      # that the run allows. Only the first number counts; later ones come as changes, for failures happen meanwhile.
      def allow_failures(number)
        @lock.synchronize { @failures_allowed ||= number }
      end

      # The host did not count a failure (it is tried again, say), or counted one elsewhere.
      def change_allowed_failures(number)
        @lock.synchronize do
          @failures_change += number
          @changed.signal
        end
      end

      # An example has failed here.
      def count_failure
        @lock.synchronize { @failures_change -= 1 }
      end

      def add(units)
        @lock.synchronize do
          @units.concat(units)
          @changed.signal
        end
      end

      # Something else for the main thread to do, between units.
      def add_job(&job)
        @lock.synchronize do
          @jobs << job
          @changed.signal
        end
      end

      # The next item, UNIT_DONE after the last item of a unit, a job (Proc), or nil when stopped.
      # Yields, unlocked, each time before it blocks. It blocks for a limited time, because a thread of a test may kill the
      # reading thread at any moment: no thread would add work or signal then, and Ruby reports an unlimited wait as a deadlock.
      def take
        step = @lock.synchronize { next_step }
        while step == :nothing
          yield
          step = @lock.synchronize do
            found = next_step
            next found if found != :nothing

            @changed.wait(@lock, WAIT_SECONDS)
            next_step
          end
        end
        step
      end

      # Takes back the named examples that have not started, wherever they are.
      def withdraw(keys)
        wanted = keys.to_h { |key| [key, true] }
        @lock.synchronize do
          taken = []
          [@current, *@units].compact.each do |unit|
            unit.reject! { |item| taken << item if wanted[item.key] }
          end
          @units.reject!(&:empty?)
          taken
        end
      end

      # Takes back everything; the rest of a unit that has begun only when asked, because its context
      # hooks would have to run again elsewhere.
      def withdraw_all(with_current: false)
        @lock.synchronize do
          taken = @units.flatten(1)
          @units.clear
          if with_current && @current
            taken = @current + taken
            @current.clear
          end
          taken
        end
      end

      def stop
        @lock.synchronize do
          @stopped = true
          @changed.signal
        end
      end

      private

      def late_step
        late = @late
        @late = false
        late ? LATE : :nothing
      end

      def held?
        !@stopped && !@failures_allowed.nil? && @failures_allowed + @failures_change <= 0
      end

      def next_step
        return :nothing if held?

        if @current
          return @current.shift unless @current.empty?

          @current = nil
          return UNIT_DONE
        end
        return @jobs.shift unless @jobs.empty?
        return nil if @stopped
        return late_step if @units.empty?

        @current = @units.shift
        @current.shift
      end
    end
  end
end
