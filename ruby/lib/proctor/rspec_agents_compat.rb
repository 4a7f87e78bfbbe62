# frozen_string_literal: true

# The names of the gem rspec-agents for suites that move to Proctor: `RSpec::Agents.configure`, the base class of
# adapters, AgentResponse, ToolCall, Metadata and the mock model. `require "rspec/agents"` loads it where the gem is not
# installed. What a conversation does is Proctor's; this folder has names and the few places where both differ.
require_relative "rspec"
require_relative "rspec_agents_compat/metadata"
require_relative "rspec_agents_compat/agent_base"
require_relative "rspec_agents_compat/models"
require_relative "rspec_agents_compat/configuration"
require_relative "rspec_agents_compat/conversation"

module Proctor
  module RspecAgentsCompat
    # Names of the gem that are not here.
    module NoCounterpart
      # Names of Proctor that the gem has too.
      SHARED = %i[EventBus Events Observers StableExampleId].freeze

      def const_missing(name)
        return Proctor.const_get(name) if SHARED.include?(name) && Proctor.const_defined?(name)

        raise NameError.new("#{self}::#{name} of the gem rspec-agents has no counterpart in Proctor; " \
                            "see docs/moving-from-rspec-agents.md", name, receiver: self)
      end
    end
  end
end

module RSpec
  # What suites written for rspec-agents name. Anything else of the gem is a NameError that says so.
  module Agents
    extend Proctor::RspecAgentsCompat::NoCounterpart

    # Tells the gem from its stand-in.
    STAND_IN = Proctor::VERSION

    AgentResponse = Proctor::AgentResponse
    ToolCall = Proctor::ToolCall
    Metadata = Proctor::RspecAgentsCompat::Metadata
    Message = Proctor::Specs::Message
    Turn = Proctor::Specs::Turn
    Conversation = Proctor::Specs::Conversation
    EvaluationResult = Proctor::Specs::EvaluationResult
    Scenario = Proctor::Specs::Scenario

    # Loading this file has included what these have in the gem.
    DSL = Module.new
    Matchers = Module.new

    # Adapters.
    module Agents
      extend Proctor::RspecAgentsCompat::NoCounterpart

      Base = Proctor::RspecAgentsCompat::AgentBase
    end

    # Models.
    module Llm
      extend Proctor::RspecAgentsCompat::NoCounterpart

      Mock = Proctor::RspecAgentsCompat::MockModel
      Anthropic = Proctor::RspecAgentsCompat::AnthropicModel
    end

    class << self
      def configuration
        @configuration ||= Proctor::RspecAgentsCompat::Configuration.new
      end

      def configure
        yield configuration if block_given?
      end

      # Loading this file has done it.
      def setup_rspec!; end

      # Forgets agent and model.
      def reset_configuration!
        @configuration = nil
        Proctor.configuration.agent = Proctor.configuration.model = nil
      end
    end
  end
end
