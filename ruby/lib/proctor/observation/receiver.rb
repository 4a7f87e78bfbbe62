# frozen_string_literal: true

module Proctor
  module Observation
    # One observer with its thread and its place in the events. Whatever the observer raises is reported once, and it goes on
    # with the next event.
    class Receiver
      # The number of the last event it has had, and when it began the one it has now; nil between two.
      attr_reader :position, :busy_since

      def initialize(subscription, feed, &on_complaint)
        @subscription = subscription
        @feed = feed
        @on_complaint = on_complaint
        @position = 0
        @missed = 0
      end

      def start
        @thread = Native.background("proctor-observer") { receive }
      end

      def done?
        @done
      end

      # An observer can end its thread, and so can a test that ends every thread it finds. It goes on with the event after.
      def revive
        return if @done || @thread.alive?

        complain(RuntimeError.new("its thread was ended, and goes on"))
        start
      end

      def name
        Observation.name_of(@subscription.observer || @subscription.handler)
      end

      def stop
        @thread.kill
      end

      private

      def receive
        Thread.current[:proctor_observer] = true
        loop do
          events, last = @feed.after(@position)
          break unless events

          events.each { |event| deliver(event) }
          @position = last
        end
        @done = true
      rescue StandardError => error
        # The host is gone.
        @done = true
        complain(error)
      end

      def deliver(event)
        number = event.seq
        return if number <= @position # a page is handed out as a whole

        @position = number
        @busy_since = Native.monotonic
        hand_over(event) if EventBus.wants?(@subscription, event)
      rescue Exception => error # rubocop:disable Lint/RescueException
        complain(error)
      ensure
        @busy_since = nil
      end

      def hand_over(event)
        @subscription.observer ? EventBus.call_observer(@subscription.observer, event) : @subscription.handler.call(event)
      end

      def complain(error)
        return if @complained

        @complained = true
        @on_complaint.call(Observation.complaint(@subscription, error))
      end
    end
  end
end
