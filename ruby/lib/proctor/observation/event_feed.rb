# frozen_string_literal: true

module Proctor
  module Observation
    # The events of the run, for any number of observers, each at its own place.
    #
    # One thread asks the host for new events and keeps the newest ones. An observer that is further behind asks the host
    # itself, which reads them from the recording. Nobody waits for anybody, and nothing is queued.
    class EventFeed
      # So many of the newest events are kept, of so many bytes.
      KEPT = 2048
      KEPT_BYTES = 4 << 20

      # Events that came together.
      Page = Struct.new(:last, :events, :bytes)

      LAST = "SuiteFinished"

      # Events that were too large to be sent, and why the stream broke off, if it did.
      attr_reader :left_out, :problem

      def initialize(line)
        @line = line
        @lock = Thread::Mutex.new
        @changed = Thread::ConditionVariable.new
        @pages = []
        @last = 0
        @known_from = 0
        @left_out = 0
        @ended = false
      end

      def start
        @thread = Native.background("proctor-events") { follow }
      end

      # A test may end every thread that it can find.
      def revive
        start unless @thread.alive? || ended?
      end

      def stop
        @thread.kill
      end

      # Whether the last event of the run is known.
      def ended?
        @lock.synchronize { @ended }
      end

      # The number of the last event that is known.
      def last
        @lock.synchronize { @last }
      end

      # Events after this number, and perhaps some before, with the number of the last one; waits for them. nil when there will be
      # none.
      def after(number)
        kept = wait_for(number)
        return kept unless kept == :behind

        page = read(number, false)
        [page["events"].map { |fields| Events.from_wire(fields) }, page["last"]]
      end

      private

      def wait_for(number)
        @lock.synchronize do
          @changed.wait(@lock) until @last > number || @ended
          return nil if @last <= number
          return :behind if number < @known_from

          newer = @pages.drop(@pages.bsearch_index { |page| page.last > number } || @pages.size)
          [newer.size == 1 ? newer.first.events : newer.flat_map(&:events), @last]
        end
      end

      def follow
        take(read(@last, true)) until @ended
      rescue StandardError => error
        @lock.synchronize do
          @problem = error.message
          @ended = true
          @changed.broadcast
        end
      end

      def read(position, wait)
        @line.request("events.read", { after: position, wait: wait })
      end

      def take(page)
        events = page["events"].map { |fields| Events.from_wire(fields) }
        ends = page["ended"] || events.any? { |event| event.event_type == LAST }
        @lock.synchronize do
          keep(Page.new(page["last"], events, page["bytes"]))
          @last = page["last"]
          @left_out += page["left_out"]
          @ended = ends
          @changed.broadcast
        end
      end

      def keep(page)
        @pages << page
        @known_from = @pages.shift.last while @pages.size > 1 && too_many?
      end

      def too_many?
        @pages.sum { |page| page.events.size } > KEPT || @pages.sum(&:bytes) > KEPT_BYTES
      end
    end
  end
end
