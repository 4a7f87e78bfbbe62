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
    # Where events go: paths and ws:// addresses, separated by commas. What the command line, the environment
    # (PROCTOR_EVENTS, RSPEC_AGENTS_EVENTS) and proctor.toml say is added.
    attr_accessor :events
    # false: what is said here of events and observers does not count.
    attr_accessor :enable_events
    # Objects that get the events of the run: `on_user_message(event)`, `on_event(event)`, or `call(event)`.
    attr_reader :observers
    # How many seconds the end of the run may wait for observers that are still busy with its events.
    attr_accessor :observers_within

    def initialize
      @observers = []
      @enable_events = true
      @observers_within = 60
    end

    # An object, or one of the destinations: `:jsonl, path: …` and `:websocket, port: …`.
    def add_observer(observer, path: nil, port: nil)
      case observer
      when :jsonl then add_destination(::File.expand_path(path || raise(UsageError, "a :jsonl observer needs `path:`")))
      when :websocket then add_destination("ws://localhost:#{port || raise(UsageError, "a :websocket observer needs `port:`")}")
      when Symbol then raise UsageError, "there is no observer :#{observer}; there are :jsonl and :websocket"
      else @observers << observer
      end
    end

    # @private The destinations that the project's code names, each once.
    def destinations
      return [] unless enable_events

      (events.to_s.split(",").map(&:strip).reject(&:empty?) + Observation.destinations).uniq
    end

    # @private Whether the host would find destinations elsewhere.
    def destinations_elsewhere?(env = ENV)
      return true if %w[PROCTOR_EVENTS RSPEC_AGENTS_EVENTS].any? { |name| !env[name].to_s.strip.empty? }

      file = ::Dir.pwd
      file = ::File.dirname(file) until ::File.file?("#{file}/proctor.toml") || file == "/"
      ::File.file?("#{file}/proctor.toml") && ::File.read("#{file}/proctor.toml").match?(/^\s*events\s*=/)
    rescue SystemCallError, ArgumentError
      false
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

    # The names in this module can be used without it in the block: `Observers::JsonlFileObserver.new(path: …)`.
    def configure(&block)
      lent = %i[Observers Events].reject { |name| ::Object.const_defined?(name) }
      lent.each { |name| ::Object.const_set(name, const_get(name)) }
      block.call(configuration)
    ensure
      lent&.each { |name| ::Object.__send__(:remove_const, name) }
    end
  end
end
