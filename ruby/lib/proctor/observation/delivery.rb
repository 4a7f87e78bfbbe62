# frozen_string_literal: true

module Proctor
  module Observation
    # Delivers the events of a run to its observers, each on a thread of its own, and waits for them at the end.
    class Delivery
      # An observer that has been busy with one event for so long is not waited for at the end.
      STALLED_AFTER = 5
      POLL = 0.005
      NOTICE_AFTER = 2

      def initialize(feed, subscriptions, &on_complaint)
        @feed = feed
        @owner = $$
        @notices = on_complaint.nil?
        @on_complaint = on_complaint || ->(text) { Observation.warn_user(text) }
        @receivers = subscriptions.map { |one| Receiver.new(one, feed) { |text| @on_complaint.call(text) } }
      end

      def start
        ExitGuard.install
        @feed.start
        @receivers.each(&:start)
        self
      end

      # Waits until every observer has had every event: as long as they go on with them, and no longer than `within` seconds.
      # Those begin now, or, if the run `goes_on`, when its last event is known. The block says whether the user waits no longer.
      def finish(within, goes_on: false)
        return if @owner != $$

        began = Native.monotonic unless goes_on
        until (waiting = unfinished).empty?
          [@feed, *waiting].each(&:revive)
          began ||= Native.monotonic if @feed.ended?
          break if began && (Native.monotonic - began > within || (block_given? && yield))

          notice(waiting) if began && Native.monotonic - began > NOTICE_AFTER
          Native::SLEEP.call(POLL)
        end
        report_rest
      ensure
        @receivers.each(&:stop)
        @feed.stop
      end

      private

      def unfinished
        @receivers.reject { |receiver| receiver.done? || stalled?(receiver) }
      end

      # While the run goes on nobody waits, so nobody is given up.
      def stalled?(receiver)
        began = receiver.busy_since
        began && @feed.ended? && Native.monotonic - [began, ended_at].max > STALLED_AFTER
      end

      def ended_at
        @ended_at ||= Native.monotonic
      end

      def notice(waiting)
        return if @noticed || !@notices

        @noticed = true
        Observation.warn_user("waiting for #{waiting.map(&:name).uniq.join(", ")} to handle the last events (Ctrl-C waits no longer)")
      end

      def report_rest
        last = @feed.last
        @receivers.reject(&:done?).each do |receiver|
          missed = last - receiver.position
          since = receiver.busy_since
          busy = since ? format(", and has been busy with one for %.1f s", Native.monotonic - since) : ""
          @on_complaint.call("the observer #{receiver.name} was too slow: it missed #{missed} of #{last} events#{busy}")
        end
        @on_complaint.call("observers missed #{@feed.left_out} events that are too large to be sent") if @feed.left_out.positive?
        @on_complaint.call("observers missed the rest of the events: #{@feed.problem}") if @feed.problem
      end
    end

    # One line for the user, whatever the project has done to `warn`.
    def self.warn_user(text)
      Native.write(STDERR, "proctor: #{text}\n")
    rescue IOError, SystemCallError
      nil
    end
  end
end
