# frozen_string_literal: true

module Proctor
  module Specs
    # Arguments of a tool call that are wanted: exact values, patterns, blocks or matchers.
    class ToolPattern
      attr_reader :name, :wanted

      def initialize(name, wanted)
        @name = name.to_sym
        @wanted = (wanted || {}).transform_keys(&:to_sym)
      end

      def matches?(call)
        call.name == name && wanted.all? do |key, value|
          ::RSpec::Support::FuzzyMatcher.values_match?(comparable(value), call.arguments[key])
        end
      end

      # Whether the host can compare it without us.
      def plain?
        wanted.all? { |_, value| plain_value?(value) }
      end

      def to_wire(times: nil)
        with = wanted.to_h { |key, value| [key.to_s, { "equals" => Plain.value(value) }] }
        { "name" => name.to_s, "with" => with, "times" => times }.reject { |_, value| value.nil? || value == {} }
      end

      def description
        return "call tool #{name}" if wanted.empty?

        "call tool #{name} with {#{wanted.map { |key, value| "#{key}: #{shown(value)}" }.join(", ")}}"
      end

      private

      def plain_value?(value)
        case value
        when nil, true, false, Numeric, String, Symbol then true
        when Array then value.all? { |each| plain_value?(each) }
        when Hash then value.all? { |key, each| (key.is_a?(String) || key.is_a?(Symbol)) && plain_value?(each) }
        else false
        end
      end

      # What comes over the wire has texts where Ruby has symbols.
      def comparable(value)
        case value
        when Symbol then value.to_s
        when Array then value.map { |each| comparable(each) }
        when Hash then value.to_h { |key, each| [key.to_s, comparable(each)] }
        else value
        end
      end

      def shown(value)
        return value.description if value.respond_to?(:description) && value.respond_to?(:matches?)

        value.is_a?(Proc) ? "a block that is true" : value.inspect
      end
    end

    # Assertions for the wire. Whatever only Ruby can decide becomes a block; `where` says which turns it looks at.
    module Assertions
      module_function

      def satisfy(conversation, things, where)
        names, rest = named_blocks(things)
        names.map { |name, code| quality_block(conversation, name, code, where) } +
          rest.flat_map { |thing| satisfy_one(conversation, thing, where) }
      end

      # `:name, fn` is a block with a name.
      def named_blocks(things)
        things = things.flatten
        named = things.each_cons(2).select { |name, code| name.is_a?(Symbol) && code.is_a?(Proc) }
        [named, things.reject { |thing| named.any? { |pair| pair.any? { |part| part.equal?(thing) } } }]
      end

      def satisfy_one(conversation, thing, where)
        case thing
        when Symbol
          criterion = conversation.criterion(thing)
          return { "satisfy" => [thing.to_s] } unless criterion.code?

          criterion.to_block(conversation, where)
        when Proc then quality_block(conversation, nil, thing, where)
        else { "satisfy" => [thing.to_s] }
        end
      end

      def quality_block(conversation, name, code, where)
        conversation.block("satisfy #{name || "a block"}", kind: "quality", name: name) do |turn|
          turns = where.call(turn)
          failed = turns.find { |each| !conversation.call_block(code, each, conversation) }
          [failed.nil?, failed && "the block is false for turn #{failed.number}"]
        end
      end

      def pattern(conversation, patterns, where, any: false)
        patterns = patterns.flatten
        words = any ? "match any of" : "match"
        description = "#{words} #{patterns.map { |each| each.is_a?(Regexp) ? each.inspect : each.to_s.inspect }.join(", ")}"
        conversation.block(description, kind: "pattern") do |turn|
          turns = where.call(turn)
          found = ->(each) { turns.any? { |said| occurs?(each, said.agent) } }
          [any ? patterns.any?(&found) : patterns.all?(&found), said(turns)]
        end
      end

      def occurs?(pattern, text)
        pattern.is_a?(Regexp) ? pattern.match?(text) : text.include?(pattern.to_s)
      end

      def tool_call(conversation, pattern, where, word: "call_tool", times: nil)
        return { word => pattern.to_wire(times: times) } if pattern.plain?

        kind = word == "called_tool" ? "conversation_tool_call" : "tool_call"
        conversation.block(pattern.description + (times ? ", #{times} times" : ""), kind: kind) do |turn|
          turns = word == "called_tool" ? conversation.turns : where.call(turn)
          calls = turns.flat_map(&:tool_calls)
          count = calls.count { |call| pattern.matches?(call) }
          actual = calls.empty? ? "no tool was called" : "the calls were #{calls.join(", ")}"
          [times ? count == times : count.positive?, actual]
        end
      end

      def said(turns)
        return "nothing was said" if turns.empty?
        return "the agent said #{turns.first.agent.inspect}" if turns.size == 1

        "the agent said #{turns.map { |turn| "#{turn.agent.inspect} (turn #{turn.number})" }.join(", ")}"
      end
    end
  end
end
