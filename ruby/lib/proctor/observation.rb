# frozen_string_literal: true

require_relative "observation/event_feed"
require_relative "observation/exit_guard"
require_relative "observation/receiver"
require_relative "observation/delivery"

module Proctor
  # Observers of a run: who they are, and how they get the events of the host.
  #
  # Observers and subscribers that exist when the suite has been loaded are taken over by a Delivery, once per run: under plain
  # `rspec` in its process, under `proctor run` in a process of their own. The workers of a run deliver nothing to them.
  module Observation
    # These are the host's own; nobody else can publish them.
    OF_THE_HOST = /\A(?:Suite|Group|Example)/.freeze

    class << self
      # What is being run, where no worker's channel knows it.
      attr_accessor :item

      # All who observe this run, as subscriptions; each object once.
      def subscriptions
        seen = {}.compare_by_identity
        listed = Proctor.configuration.observers.map { |observer| EventBus::Subscription.new([].freeze, nil, observer) }
        (listed + EventBus.instance.subscriptions).select do |one|
          next false if one.observer && seen[one.observer]

          seen[one.observer] = true if one.observer
          !destination_of(one)
        end
      end

      # Destinations that are written as observers: the host serves them.
      def destinations
        all = Proctor.configuration.observers + EventBus.instance.subscriptions.map(&:observer)
        all.compact.map { |observer| Observers.destination(observer) }.compact.uniq
      end

      # Takes the observers over; nil when there are none. Complaints about them go to the block, else to the user.
      def take_over(line, &on_complaint)
        taken = subscriptions
        EventBus.instance.take_subscriptions
        taken.empty? ? nil : Delivery.new(EventFeed.new(line), taken, &on_complaint)
      end

      # In a worker: others deliver to those that were loaded.
      def leave_to_observer_process
        EventBus.instance.take_subscriptions
      end

      # Has the host record what a program published on the bus of the run.
      def forward(event)
        return if Thread.current[:proctor_observer]

        line = Host.open_line
        type = Events.type_of(event)
        return if line.nil? || type.empty? || OF_THE_HOST.match?(type)

        line.notify({ type: "event", event_type: type, payload: payload(event, line.item || item) })
      rescue StandardError => error
        warn("proctor: an event was not recorded: #{error.class}: #{error.message}")
      end

      # What went wrong with an observer, in one line.
      def complaint(subscription, error)
        who = subscription.observer ? "the observer #{name_of(subscription.observer)}" : "a subscriber (#{subscription.handler.source_location&.join(":")})"
        where = error.backtrace&.first
        "#{who} failed: #{error.class}: #{Plain.limited(error.message.to_s, 500)}#{where ? " (#{where})" : ""}; this is said once"
      end

      def name_of(observer)
        observer.is_a?(Proc) ? "Proc (#{observer.source_location&.join(":")})" : (observer.class.name || observer.class.inspect)
      end

      private

      def destination_of(subscription)
        subscription.observer && Observers.destination(subscription.observer)
      end

      # The host stamps the event and says which example it belongs to.
      def payload(event, item)
        fields = event.respond_to?(:to_h) ? event.to_h : {}
        fields = Plain.value(Events.plain(fields.to_h { |name, value| [name.to_s, value] }))
        fields = fields.reject { |name, value| value.nil? || %w[event_type time example_id seq run_id v worker].include?(name) }
        item ? fields.merge("key" => item.key, "repeat" => item.repeat, "attempt" => item.attempt) : fields
      end
    end
  end
end
