# frozen_string_literal: true

module Proctor
  module Specs
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
  end
end
