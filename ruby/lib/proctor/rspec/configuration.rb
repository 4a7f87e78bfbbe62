# frozen_string_literal: true

module Proctor
  # What a project says about its conversations, in a spec_helper:
  #
  #     Proctor.configure do |config|
  #       config.agent = BookingAgent
  #       config.model = { anthropic: "claude-sonnet-4-5" }
  #       config.add_observer(:jsonl, path: "events.jsonl")
  #     end
  class Configuration
    # The agent of groups that declare none: a class with `build`, or anything that can be chatted with.
    attr_accessor :agent
    # The model of judge and simulator: the name of one in proctor.toml, or its fields.
    attr_accessor :model
    # The same for one of the two.
    attr_accessor :judge, :simulator
    # Where events go, under plain `rspec`: paths and ws:// addresses, separated by commas. The environment
    # (PROCTOR_EVENTS, RSPEC_AGENTS_EVENTS) says it when this does not.
    attr_accessor :events
    # false: no events, unless conversations need a host anyway.
    attr_accessor :enable_events
    # Objects that are told of events: `on_user_message(event)`, `on_event(event)`, or `call(event)`.
    attr_reader :observers

    def initialize
      @observers = []
      @enable_events = true
    end

    # An object, or one of the destinations: `:jsonl, path: …` and `:websocket, port: …`.
    def add_observer(observer, path: nil, port: nil)
      case observer
      when :jsonl then add_destination(path || raise(UsageError, "a :jsonl observer needs `path:`"))
      when :websocket then add_destination("ws://localhost:#{port || raise(UsageError, "a :websocket observer needs `port:`")}")
      when Symbol then raise UsageError, "there is no observer :#{observer}; there are :jsonl and :websocket"
      else @observers << observer
      end
    end

    # @private
    def destination(env = ENV)
      return unless enable_events

      from_environment = %w[PROCTOR_EVENTS RSPEC_AGENTS_EVENTS].map { |name| env[name] }
      events || from_environment.find { |value| value && !value.empty? }
    end

    # @private The models of a definition, where the project names any.
    def models
      { "judge" => judge || model, "simulator" => simulator || model }.compact
    end

    private

    def add_destination(destination)
      self.events = [events, destination].compact.join(",")
    end
  end

  class << self
    def configuration
      @configuration ||= Configuration.new
    end

    def configure
      yield configuration
    end
  end
end
