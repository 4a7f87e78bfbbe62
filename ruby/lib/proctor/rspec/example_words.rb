# frozen_string_literal: true

module Proctor
  module Specs
    # The agent as examples see it: the subject of `expect` and `evaluate`, and its last answer.
    class AgentProxy
      attr_reader :conversation

      def initialize(conversation)
        @conversation = conversation
      end

      def proctor_subject
        Subject.new(@conversation)
      end

      # The object that is under test.
      def adapter
        @conversation.adapter
      end

      def text
        @conversation.last_turn&.agent
      end
      alias to_s text
      alias last_response text

      # The last answer, a text with `tool_calls` and `metadata`; nil before the first.
      def response
        current_turn&.agent_response
      end

      def current_turn
        @conversation.last_turn
      end

      def tool_calls
        current_turn ? current_turn.tool_calls : []
      end

      # Whether the last answer called the tool.
      def called_tool?(name, params: nil)
        current_turn ? current_turn.has_tool_call?(name, params: params) : false
      end

      def current_topic
        @conversation.current_topic
      end

      def in_topic?(name)
        @conversation.in_topic?(name)
      end

      def response_matches?(pattern)
        pattern.match?(text.to_s)
      end

      def inspect
        "#<Proctor agent #{text.inspect}>"
      end
    end

    # The user: what it says is written down, or left to a model.
    class User
      def initialize(conversation, instance)
        @conversation = conversation
        @instance = instance
      end

      # Says this and returns the agent's answer.
      def says(text, given = nil, metadata: nil, **more)
        @conversation.says(text, (given || {}).merge(metadata || {}, more))
      end

      # A model plays the user: `user.simulate { goal "…"; max_turns 5; stop_when { |turn, conversation| … } }`.
      def simulate(goal: nil, &block)
        builder = SimulatorBuilder.new(@instance).fill(block)
        builder.goal(goal) if goal
        @conversation.simulate(builder)
      end
    end

    # What an example of `type: :agent` can say.
    module ExampleWords
      def user
        @proctor_user ||= User.new(conversation, self)
      end

      def agent
        @proctor_agent ||= AgentProxy.new(conversation)
      end

      def conversation
        @proctor_conversation || raise(UsageError, "a conversation belongs to an example; here there is none")
      end

      # The row of the scenario set that this example belongs to.
      def scenario
        conversation && @proctor_example.metadata[:proctor_scenario]
      end

      # Which topics the conversation goes through; before it begins.
      def expect_conversation_to(&block)
        conversation.declare(GraphBuilder.new(self, block))
      end

      def expect(*values, &block)
        return super unless values.size == 1

        case values.first
        when AgentProxy then Target.new(values.first.proctor_subject)
        when Conversation then WholeTarget.new(values.first)
        else super
        end
      end

      # Like `expect`, but what does not hold is recorded and fails nothing.
      def evaluate(subject = agent)
        whole = subject.is_a?(Conversation)
        SoftTarget.new(Subject.new(whole ? subject : subject.conversation, whole: whole, soft: true))
      end

      # A criterion, a sentence for the judge, or a block; several at once. Without any: RSpec's own.
      def satisfy(*things, &block)
        return super if things.empty? || block

        Words.check("satisfy #{things.map(&:inspect).join(", ")}") do |talk, where|
          Assertions.satisfy(talk, things, where)
        end
      end

      def match(*patterns)
        patterns.size == 1 ? super : Words.pattern(patterns)
      end

      def match_any(*patterns)
        Words.pattern(patterns, any: true)
      end

      def call_tool(name)
        ToolCheck.new(name, "call_tool", whole: false)
      end

      # At any time in the conversation.
      def have_tool_call(name, arguments = {}, **named)
        ToolCheck.new(name, "called_tool", whole: true).with(arguments.merge(named))
      end

      def be_grounded_in(*claims, from_tools: [])
        names = claims.flatten.map(&:to_s)
        Words.check("be grounded") do
          { "grounded" => { "claims" => names, "from_tools" => Array(from_tools).map(&:to_s) } }
        end
      end

      def claim(*claims)
        names = claims.flatten.map(&:to_s)
        Words.check("claim #{names.join(", ")}") { { "not" => { "forbidden_claims" => names } } }
      end

      def have_intent(name, described_as: nil)
        Words.check("have intent #{name}") do
          { "intent" => { "name" => name.to_s, "described_as" => described_as }.compact }
        end
      end

      def be_in_topic(name)
        Words.check("be in topic #{name}") { |talk, _| { "topic" => talk.known_topic(name) } }
      end

      def have_reached_topic(name)
        Words.check("have reached topic #{name}", whole: true) { |talk, _| { "reached_topic" => talk.known_topic(name) } }
      end

      def have_achieved_goal(goal)
        Words.check("have achieved the goal #{goal.inspect}", whole: true) { { "goal_achieved" => goal.to_s } }
      end

      def have_achieved_stated_goal
        Words.check("have achieved the stated goal", whole: true) do |talk, _|
          raise UsageError, "no goal was stated: user.simulate { goal \"…\" }, or have_achieved_goal(\"…\")" unless talk.goal

          { "goal_achieved" => "stated" }
        end
      end

      private

      # @private
      def proctor_begin(example)
        @proctor_example = example
        # One that an outer hook has begun already is kept; an example that is run again has one of its own.
        return if @proctor_conversation && !@proctor_conversation.finished?

        @proctor_conversation = Conversation.new(self, example)
        @proctor_user = @proctor_agent = nil
      end

      # @private
      def proctor_end
        @proctor_conversation&.finish(quiet: !@proctor_example.exception.nil?)
      rescue ::RSpec::Expectations::ExpectationNotMetError => error
        # No line of the spec is to blame but the example as a whole.
        metadata = @proctor_example.metadata
        error.set_backtrace(["#{metadata[:absolute_file_path]}:#{metadata[:line_number]}:in `#{@proctor_example.description}'"])
        raise
      end

      # @private The agent of this example, built when it is first asked.
      def proctor_adapter
        proctor_build_agent(*[AgentContext.of(@proctor_example)].first(method(:proctor_build_agent).arity.abs))
      end

      # @private What `super(...)` of the outermost `agent { … }` calls, and the agent of groups that declare none.
      def proctor_build_agent(context = nil, **extra)
        proctor_make_agent(proctor_default_agent, context, extra)
      end

      def proctor_default_agent
        Proctor.configuration.agent ||
          raise(UsageError, "no agent is under test: say `agent MyAgent` in the group, or Proctor.configure { |c| c.agent = … }")
      end

      def proctor_make_agent(klass, context, extra)
        context = AgentContext.of(@proctor_example) unless context.is_a?(AgentContext)
        context = context.merge(extra) unless extra.empty?
        return klass.build(context) if klass.respond_to?(:build)

        klass.is_a?(Class) ? proctor_new_agent(klass) : klass
      end

      # A class of agents that says nothing of how they are built.
      def proctor_new_agent(klass)
        return klass.new if klass.instance_method(:initialize).arity.between?(-1, 0)

        raise UsageError, "#{klass} needs arguments to be made: define #{klass}.build(context), or say `agent { #{klass}.new(…) }`"
      end
    end
  end
end
