# frozen_string_literal: true

require_relative "native" unless defined?(Proctor::Native)
require_relative "events"

module Proctor
  # Hands events to whoever has subscribed, in the thread that publishes. An error of a subscriber is reported once and changes
  # nothing for the others.
  #
  # `EventBus.instance` is the bus of the run. What has subscribed to it while the suite was loaded gets all events of the run
  # from the host, on threads of its own (see Observation); what subscribes later, in an example, gets what is published in its
  # process.
  class EventBus
    # A subscriber: a block for some types, or for all; or an observer.
    Subscription = Struct.new(:types, :handler, :observer)

    # What a subscriber may raise without harm to the publisher. A signal and a failed expectation are not the subscriber's own.
    HARMLESS = [StandardError, ScriptError, SystemExit, NoMemoryError, SystemStackError].freeze

    @lock = Thread::Mutex.new

    class << self
      def instance
        @instance || @lock.synchronize { @instance ||= new }
      end

      # The hook that an observer has for a type: `on_user_message`.
      def hook(type)
        @hooks ||= {}
        @hooks[type] ||= :"on_#{type.gsub(/([a-z])([A-Z])/, '\1_\2').downcase}"
      end

      # Calls what the observer has for this event.
      def call_observer(observer, event)
        name = hook(Events.type_of(event))
        observer.public_send(name, event) if observer.respond_to?(name)
        observer.on_event(event) if observer.respond_to?(:on_event)
        observer.call(event) if observer.respond_to?(:call)
      end
    end

    def initialize
      @mutex = Thread::Mutex.new
      @subscriptions = []
      @complained = {}.compare_by_identity
    end

    # Subscribes to these types of events, classes or names; to all when none is given.
    def subscribe(*types, &handler)
      raise ArgumentError, "subscribe needs a block" unless handler

      add(Subscription.new(types.flatten.freeze, handler, nil))
    end

    # Subscribes an object: its methods `on_user_message`, …, `on_event` and `call` are called, as far as it has them.
    def add_observer(observer)
      known = @mutex.synchronize { @subscriptions.any? { |one| observer.equal?(one.observer) } }
      known ? self : add(Subscription.new([].freeze, nil, observer))
    end

    # Hands the event to the subscribers. On the bus of the run it is recorded, too.
    def publish(event)
      subscriptions = @mutex.synchronize { @subscriptions.dup }
      subscriptions.each { |one| deliver(one, event) }
      Observation.forward(event) if equal?(EventBus.instance)
      self
    end

    # Forgets all subscribers, for tests.
    def clear!
      @mutex.synchronize { @subscriptions.clear }
      self
    end

    # @private Hands the present subscribers over to somebody else, who delivers to them from now on.
    def take_subscriptions
      @mutex.synchronize { @subscriptions.slice!(0..) }
    end

    # @private The present subscribers.
    def subscriptions
      @mutex.synchronize { @subscriptions.dup }
    end

    # @private Whether a subscriber is meant.
    def self.wants?(subscription, event)
      return true if subscription.types.empty?

      name = Events.type_of(event)
      subscription.types.any? { |type| type.is_a?(Module) ? type === event || type.name.to_s.split("::").last == name : type.to_s == name }
    end

    private

    def add(subscription)
      @mutex.synchronize { @subscriptions << subscription }
      self
    end

    def deliver(subscription, event)
      return unless EventBus.wants?(subscription, event)

      subscription.observer ? EventBus.call_observer(subscription.observer, event) : subscription.handler.call(event)
    rescue *HARMLESS => error
      complain(subscription, error)
    end

    def complain(subscription, error)
      first = @mutex.synchronize { !@complained[subscription] && (@complained[subscription] = true) }
      warn("proctor: #{Observation.complaint(subscription, error)}") if first
    end
  end
end

require_relative "observation"
