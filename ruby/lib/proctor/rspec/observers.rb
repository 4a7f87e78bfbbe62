# frozen_string_literal: true

module Proctor
  # One event, as observers see it: `event.text`, `event[:text]`, `event.to_h`.
  class Event
    def initialize(fields)
      @fields = fields
    end

    def event_type
      @fields["event_type"]
    end

    def [](name)
      @fields[name.to_s]
    end

    def to_h
      @fields
    end

    def to_json(*arguments)
      @fields.to_json(*arguments)
    end

    def respond_to_missing?(name, include_private = false)
      @fields.key?(name.to_s) || super
    end

    def method_missing(name, *arguments)
      return @fields[name.to_s] if arguments.empty? && @fields.key?(name.to_s)

      super
    end
  end

  # Tells the project's observers what happens. They run on a thread of their own: a slow one slows no test, and one
  # that raises is reported once and goes on.
  class Observers
    LIMIT = 10_000
    END_WITHIN = 5

    def initialize(observers)
      @observers = observers
      @queue = Thread::Queue.new
      @complained = {}.compare_by_identity
      @dropped = 0
    end

    def any?
      !@observers.empty?
    end

    def tell(fields)
      return unless any?

      start unless @thread && @owner == $$
      @queue.size < LIMIT ? @queue.push(Event.new(fields)) : @dropped += 1
    end

    # Waits until everything has been told.
    def finish
      return unless @thread && @owner == $$

      @queue.close
      @thread.join(END_WITHIN)
      warn("proctor: observers were too slow, #{@dropped} events were not told") if @dropped.positive?
      @thread = nil
      @queue = Thread::Queue.new
    end

    private

    def start
      @owner = $$
      @thread = Native::NEW_THREAD.call do
        while (event = @queue.pop)
          @observers.each { |observer| tell_one(observer, event) }
        end
      end
      @thread.name = "proctor-observers"
      @thread.report_on_exception = false
    end

    def tell_one(observer, event)
      hook = :"on_#{event.event_type.gsub(/([a-z])([A-Z])/, '\1_\2').downcase}"
      observer.public_send(hook, event) if observer.respond_to?(hook)
      observer.on_event(event) if observer.respond_to?(:on_event)
      observer.call(event) if observer.respond_to?(:call)
    rescue StandardError => error
      complain(observer, error)
    end

    def complain(observer, error)
      return if @complained[observer]

      @complained[observer] = true
      warn("proctor: the observer #{observer.class} failed: #{error.class}: #{error.message} (#{error.backtrace&.first})")
    end
  end

  class << self
    # @private
    def observers
      @observers ||= Observers.new(configuration.observers)
    end
  end
end
