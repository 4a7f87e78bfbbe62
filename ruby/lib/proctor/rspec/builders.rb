# frozen_string_literal: true

module Proctor
  module Specs
    # Words that a builder does not know are asked of the group or the example around it.
    module Delegating
      def respond_to_missing?(name, include_private = false)
        @around.respond_to?(name, true) || super
      end

      def method_missing(name, *arguments, **named, &block)
        return super unless @around.respond_to?(name, true)

        @around.__send__(name, *arguments, **named, &block)
      end
    end

    # `criterion :name do … end`.
    class CriterionBuilder
      include Delegating

      def initialize(name, text, around, code)
        @name = name
        @text = text
        @around = around
        @examples = { "good" => [], "bad" => [], "edge" => [] }
        instance_exec(&code) if code
        return if @text || code?

        raise UsageError, "criterion :#{name} says nothing: give a text, a `description`, or a `match` block"
      end

      def description(text)
        @text = text
      end

      def good_example(text, explanation: nil)
        @examples["good"] << { "text" => text, "why" => explanation }.compact
      end

      def bad_example(text, explanation: nil)
        @examples["bad"] << { "text" => text, "why" => explanation }.compact
      end

      def edge_case(text, verdict:, explanation: nil)
        satisfied = [true, :pass, :passed, :good, :satisfied, "pass"].include?(verdict)
        @examples["edge"] << { "text" => text, "why" => explanation, "satisfied" => satisfied }.compact
      end

      # Decided by Ruby: the block gets the conversation.
      def match(&code)
        @match = [:conversation, code]
      end

      # Decided by Ruby: the block gets the messages, as hashes with :role and :content.
      def match_messages(&code)
        @match = [:messages, code]
      end

      def code?
        !@match.nil?
      end

      def to_wire
        { "description" => @text }.merge(@examples.reject { |_, all| all.empty? })
      end

      def to_block(conversation, _where)
        what, code = @match
        conversation.block("satisfy #{@name}#{" (#{@text})" if @text}", kind: "quality", name: @name) do
          conversation.call_block(code, what == :messages ? conversation.messages : conversation)
        end
      end
    end

    # `topic :name do … end`. Checks are kept as they are written and become assertions when a conversation begins.
    class TopicBuilder
      include Delegating

      def initialize(name, around, code)
        @name = name.to_sym
        @around = around
        @triggers = []
        @checks = { "expect" => [], "evaluate" => [] }
        instance_exec(&code) if code
      end

      def characteristic(text)
        @characteristic = text
      end

      def agent_intent(text)
        @agent_intent = text
      end

      def triggers(&code)
        builder = TriggerBuilder.new(@around)
        builder.instance_exec(&code)
        @triggers.concat(builder.all)
      end

      def expect_agent(**checks)
        agent_checks("expect", checks)
      end

      def evaluate_agent(**checks)
        agent_checks("evaluate", checks)
      end

      def expect_grounding(*claims, from_tools: [])
        grounding("expect", claims, from_tools)
      end

      def evaluate_grounding(*claims, from_tools: [])
        grounding("evaluate", claims, from_tools)
      end

      def expect_tool_call(name, arguments = {}, **named)
        tool_call("expect", name, arguments.merge(named))
      end

      def evaluate_tool_call(name, arguments = {}, **named)
        tool_call("evaluate", name, arguments.merge(named))
      end

      def forbid_tool_call(name, arguments = {}, **named)
        pattern = ToolPattern.new(name, arguments.merge(named))
        add("expect") { |talk, where| [{ "not" => Assertions.tool_call(talk, pattern, where) }] }
      end

      def forbid_claims(*claims)
        add("expect") { [{ "forbidden_claims" => claims.flatten.map(&:to_s) }] }
      end

      def expect(description, &code)
        custom("expect", description, code)
      end

      def evaluate(description, &code)
        custom("evaluate", description, code)
      end

      def to_wire(conversation, following)
        where = ->(_turn) { conversation.turns_in(@name) }
        checks = @checks.transform_values { |all| all.flat_map { |check| check.call(conversation, where) } }
        { "characteristic" => @characteristic, "agent_intent" => @agent_intent, "next" => following.map(&:to_s),
          "triggers" => @triggers.map { |trigger| trigger.call(conversation) } }
          .merge(checks).reject { |_, value| value.nil? || value.empty? }
      end

      private

      def add(mode, &check)
        @checks[mode] << check
      end

      def agent_checks(mode, checks)
        unknown = checks.keys - %i[to_satisfy to_match not_to_match]
        raise UsageError, "topic :#{@name}: unknown #{unknown.inspect}" if unknown.any?

        things, matching, not_matching = checks.values_at(:to_satisfy, :to_match, :not_to_match)
        add(mode) { |talk, where| Assertions.satisfy(talk, Array(things), where) } if things
        add(mode) { |talk, where| [Assertions.pattern(talk, [matching], where)] } if matching
        add(mode) { |talk, where| [{ "not" => Assertions.pattern(talk, [not_matching], where, any: true) }] } if not_matching
      end

      def grounding(mode, claims, from_tools)
        add(mode) { [{ "grounded" => { "claims" => claims.flatten.map(&:to_s), "from_tools" => Array(from_tools).map(&:to_s) } }] }
      end

      def tool_call(mode, name, arguments)
        pattern = ToolPattern.new(name, arguments)
        add(mode) { |talk, where| [Assertions.tool_call(talk, pattern, where)] }
      end

      # A custom check holds when it holds for every turn of the topic.
      def custom(mode, description, code)
        add(mode) do |talk, where|
          [talk.block("fulfil #{description.inspect}", kind: "custom") do |turn|
            failed = where.call(turn).find { |each| !talk.call_block(code, each, talk) }
            [failed.nil?, failed && "it does not hold for turn #{failed.number}"]
          end]
        end
      end
    end

    # `triggers do … end` of a topic.
    class TriggerBuilder
      include Delegating

      attr_reader :all

      def initialize(around)
        @around = around
        @all = []
      end

      def on_tool_call(name, with_params: {}, **params)
        pattern = ToolPattern.new(name, with_params.merge(params))
        @all << lambda do |talk|
          pattern.plain? ? { "call_tool" => pattern.to_wire } : Assertions.tool_call(talk, pattern, ->(turn) { [turn] })
        end
      end

      def on_response_match(pattern)
        @all << ->(talk) { talk.block("response #{pattern.inspect}") { |turn| Assertions.occurs?(pattern, turn.agent) } }
      end

      def on_user_match(pattern)
        @all << ->(talk) { talk.block("user #{pattern.inspect}") { |turn| Assertions.occurs?(pattern, turn.user) } }
      end

      def after_turns_in(topic, count:)
        @all << ->(_) { { "turns_in" => { "topic" => topic.to_s, "count" => count } } }
      end

      def on_condition(code = nil, &block)
        condition = code || block
        @all << ->(talk) { talk.block("condition") { |turn| talk.call_block(condition, turn, talk) } }
      end
    end

    # `expect_conversation_to do … end`: the topics of a conversation and the ways between them.
    class GraphBuilder
      include Delegating

      Place = Struct.new(:name, :following, :topic)

      attr_reader :places

      def initialize(around, code)
        @around = around
        @places = []
        instance_exec(&code)
        raise UsageError, "expect_conversation_to declares no topic" if @places.empty?
      end

      def use_topic(name, next: [])
        add(name, binding.local_variable_get(:next), nil)
      end

      def topic(name, next: [], &code)
        add(name, binding.local_variable_get(:next), TopicBuilder.new(name, @around, code))
      end

      def names
        @places.map { |place| place.name.to_s }
      end

      private

      def add(name, following, topic)
        raise UsageError, "topic :#{name} is used twice in one conversation" if names.include?(name.to_s)

        @places << Place.new(name.to_sym, Array(following).map(&:to_sym), topic)
      end
    end
  end
end

require_relative "simulator_builder"
