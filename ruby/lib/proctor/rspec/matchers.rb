# frozen_string_literal: true

module Proctor
  module Specs
    # What an assertion is about: the last turn of a conversation or all of it; hard or only recorded.
    class Subject
      attr_reader :conversation

      def initialize(conversation, whole: false, soft: false)
        @conversation = conversation
        @whole = whole
        @soft = soft
      end

      def self.of(actual)
        return actual if actual.is_a?(Subject)
        return actual.proctor_subject if actual.respond_to?(:proctor_subject)

        new(actual, whole: true) if actual.is_a?(Conversation)
      end

      def whole?
        @whole
      end

      def soft?
        @soft
      end

      # The last turn; the matchers look at what the agent has just done.
      def turn
        conversation.last_turn ||
          raise(UsageError, "nothing has been said yet: call user.says or user.simulate before expect(agent)")
      end

      # Matchers of RSpec itself look at the answer.
      def text
        whole? ? conversation.turns.map(&:agent).join("\n") : turn.agent
      end

      def inspect
        whole? ? "the conversation" : "the agent"
      end
    end

    # A matcher whose verdict is the host's. It works with `to`, `not_to`, `and`, `or`, and inside `evaluate`.
    class Check
      include ::RSpec::Matchers::Composable

      attr_reader :description, :failure_message
      alias failure_message_when_negated failure_message

      # `whole`: it always looks at the whole conversation. The block makes assertions for a conversation.
      def initialize(description, whole: false, &assertions)
        @description = description
        @whole = whole
        @assertions = assertions
      end

      def matches?(actual)
        decide(actual, negated: false)
      end

      def does_not_match?(actual)
        decide(actual, negated: true)
      end

      private

      def decide(actual, negated:)
        subject = Subject.of(actual) || raise(UsageError, "`#{description}` is for expect(agent) or expect(conversation)")
        whole = @whole || subject.whole?
        turn = subject.turn
        assertions = assertions_for(subject.conversation, whole)
        assertions = assertions.map { |assertion| { "not" => assertion } } if negated
        found = subject.conversation.check(assertions, soft: subject.soft?, turn: whole ? nil : turn.number)
        failed = found.reject { |each| each["passed"] == true }
        @failure_message = message(failed, turn)
        failed.empty?
      end

      def assertions_for(conversation, whole)
        where = whole ? ->(_) { conversation.turns } : ->(turn) { [turn] }
        [@assertions.call(conversation, where)].flatten
      end

      def message(failed, turn)
        failed.map { |each| each["message"] || "no verdict" }.join("\n") + "\n\n#{turn.transcript}"
      end
    end

    # `call_tool(:name).with(arguments)`.
    class ToolCheck < Check
      def initialize(name, word, whole:)
        @name = name
        @word = word
        @arguments = {}
        super("call tool #{name}", whole: whole) do |conversation, where|
          Assertions.tool_call(conversation, pattern, where, word: @word, times: @times)
        end
      end

      def with(arguments = {}, **named)
        @arguments = @arguments.merge(arguments).merge(named)
        self
      end

      def exactly(count)
        @times = count
        self
      end

      def once
        exactly(1)
      end

      def twice
        exactly(2)
      end

      # Reads well after `exactly`.
      def times
        self
      end

      def description
        pattern.description
      end

      private

      def pattern
        ToolPattern.new(@name, @arguments)
      end
    end

    # A matcher of RSpec itself, applied to the answer and recorded like the others.
    class Foreign < Check
      def initialize(matcher)
        @matcher = matcher
        super(words) do |conversation, where|
          conversation.block(words) do |turn|
            [@matcher.matches?(text(where.call(turn))), "the agent said #{text(where.call(turn)).inspect}"]
          end
        end
      end

      # Matchers of ours, and those that hold some, are left or taken apart; the others are applied to the answer.
      def self.wrap(matcher)
        translate(matcher) { |foreign| new(foreign) }
      end

      # The same for a conversation, which other matchers than patterns see as it is.
      def self.patterns(matcher)
        translate(matcher) { |foreign| foreign }
      end

      def self.translate(matcher, &other)
        case matcher
        when Check then matcher
        when ::RSpec::Matchers::BuiltIn::Compound::And
          translate(matcher.matcher_1, &other).and(translate(matcher.matcher_2, &other))
        when ::RSpec::Matchers::BuiltIn::Compound::Or
          translate(matcher.matcher_1, &other).or(translate(matcher.matcher_2, &other))
        when ::RSpec::Matchers::BuiltIn::Match
          pattern?(matcher) ? Words.pattern([matcher.expected]) : other.call(matcher)
        else other.call(matcher)
        end
      end
      private_class_method :translate

      def self.pattern?(matcher)
        matcher.expected.is_a?(Regexp) || matcher.expected.is_a?(String)
      end
      private_class_method :pattern?

      private

      def words
        @matcher.respond_to?(:description) ? @matcher.description : @matcher.class.name
      end

      def text(turns)
        turns.map(&:agent).join("\n")
      end
    end

    # `expect(agent)`: hard. The two methods pass for frames of RSpec itself: within `aggregate_failures` RSpec shows the
    # first frame that is not its own, and that has to be the line of the spec.
    class Target < ::RSpec::Expectations::ExpectationTarget
      frames = ::RSpec::Expectations::ExpectationTarget::InstanceMethods.instance_method(:to).source_location.first
      class_eval(<<~RUBY, frames, 1)
        def to(matcher = nil, message = nil, &block)
          super(matcher && translated(matcher), message, &block)
        end

        def not_to(matcher = nil, message = nil, &block)
          super(matcher && translated(matcher), message, &block)
        end
        alias to_not not_to
      RUBY

      private

      def translated(matcher)
        Foreign.wrap(matcher)
      end
    end

    # `expect(conversation)`: all turns, for our matchers and for patterns.
    class WholeTarget < Target
      private

      def translated(matcher)
        Foreign.patterns(matcher)
      end
    end

    # `evaluate(agent)`: recorded, never raised. Returns whether it holds; nil when nobody could say.
    class SoftTarget
      def initialize(subject)
        @subject = subject
      end

      def to(matcher)
        Foreign.wrap(matcher).matches?(@subject)
      end

      def not_to(matcher)
        Foreign.wrap(matcher).does_not_match?(@subject)
      end
      alias to_not not_to
    end

    # The matchers, by their names in examples.
    module Words
      module_function

      def pattern(patterns, any: false)
        shown = patterns.flatten.map(&:inspect).join(", ")
        Check.new("match #{"any of " if any}#{shown}") do |conversation, where|
          Assertions.pattern(conversation, patterns, where, any: any)
        end
      end

      def check(description, whole: false, &assertions)
        Check.new(description, whole: whole, &assertions)
      end
    end
  end
end
