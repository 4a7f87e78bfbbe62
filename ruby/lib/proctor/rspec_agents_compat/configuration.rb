# frozen_string_literal: true

module Proctor
  module RspecAgentsCompat
    # `RSpec::Agents.configure { |config| … }`: what it has beyond Proctor's configuration, which gets the rest.
    class Configuration
      # A block as an agent builds one: it is called with the context.
      AgentBuilder = Struct.new(:code) do
        def build(context)
          code.call(context)
        end
      end

      # Settings of the gem that have another place, or none.
      ELSEWHERE = {
        cache_dir: "answers of models are kept with `proctor run --cache`",
        cache_enabled: "answers of models are kept with `proctor run --cache`",
        html_extensions: "the report of `proctor run --html` has no extensions"
      }.freeze

      attr_reader :llm

      def agent
        Proctor.configuration.agent
      end

      def agent=(agent)
        Proctor.configuration.agent = agent.is_a?(Proc) ? AgentBuilder.new(agent) : agent
      end

      # The model of judge and simulated user.
      def llm=(model)
        unless model.nil? || model.respond_to?(:model_fields)
          raise UsageError, "#{model.class} is not a model of Proctor: the host asks the models. Write " \
                            "Proctor.configure { |config| config.model = { anthropic: \"…\" } }, or { command: [\"my-program\"] } " \
                            "(docs/conversations.md, Judge and models)"
        end
        @llm = model
        Proctor.configuration.model = model
      end

      def use_mock_llm!
        self.llm = MockModel.new
      end

      def use_anthropic!(model: nil, api_key: nil)
        self.llm = AnthropicModel.new(model: model, api_key: api_key)
      end

      ELSEWHERE.each do |name, instead|
        define_method("#{name}=") { |_| warn("proctor: `#{name}` of rspec-agents has no effect: #{instead}") }
      end

      def respond_to_missing?(name, include_private = false)
        Proctor.configuration.respond_to?(name, include_private) || super
      end

      def method_missing(name, *arguments, **named, &block)
        return super unless Proctor.configuration.respond_to?(name)

        Proctor.configuration.public_send(name, *arguments, **named, &block)
      end
    end
  end
end
