# frozen_string_literal: true

module Proctor
  module Specs
    # Notes: one text replaces what an outer group says, a block of notes is added to it.
    class Notes
      def self.from(text, code, around)
        code ? new(around).tap { |notes| notes.instance_exec(&code) }.all : text.to_s
      end

      include Delegating

      attr_reader :all

      def initialize(around)
        @around = around
        @all = []
      end

      def note(text)
        @all << text.to_s
      end
    end

    # The simulated user: `simulator do … end` in groups, and the block of `user.simulate`.
    class SimulatorBuilder
      include Delegating

      attr_reader :rules

      def initialize(around)
        @around = around
        @fields = {}
        @should = { "should" => [], "should_not" => [] }
        @rules = []
        @during = {}
      end

      def fill(code)
        instance_exec(&code) if code
        self
      end

      # In this and the next two, nil says nothing: `personality scenario[:personality]` of a scenario without one.
      def role(text = nil, &code)
        @fields["role"] = code ? Array(Notes.from(nil, code, @around)).join("\n") : text.to_s if code || text
      end

      def personality(text = nil, &code)
        @fields["personality"] = Notes.from(text, code, @around) if code || text
      end

      def context(text = nil, &code)
        return unless code || text

        @fields["context"] = text.is_a?(Array) ? text.map(&:to_s) : Notes.from(text, code, @around)
      end

      # `rule :should, "…"`, or a block that says the rule turn by turn (or nil). A block without :should or :should_not
      # is called with the last answer, one with it with the last turn; both with the conversation.
      def rule(kind = nil, text = nil, &code)
        kind, code = nil, kind if kind.is_a?(Proc)
        raise UsageError, "a rule is :should or :should_not, not #{kind.inspect}" unless known_rule?(kind, code)
        raise UsageError, "rule :#{kind} says nothing: give a text or a block" unless text || code

        code ? @rules << [kind&.to_s, code] : @should[kind.to_s] << text.to_s
      end

      def max_turns(count)
        @fields["max_turns"] = count unless count.nil?
      end

      def stop_when(&code)
        @stop = code
      end

      def goal(text)
        @fields["goal"] = text.to_s
      end

      # What running out of turns means: :fine, or :fail unless the judge finds the goal reached.
      def on_max_turns(what)
        @fields["on_max_turns"] = { fine: "fine", fail: "ask_judge" }.fetch(what) do
          raise UsageError, "on_max_turns is :fine or :fail, not #{what.inspect}"
        end
      end

      def model(fields)
        @fields["model"] = Plain.value(fields)
      end

      def during_topic(name, &code)
        @during[name.to_s] = SimulatorBuilder.new(@around).fill(code)
      end

      def template(*)
        raise UsageError, "the host writes the prompt of the simulated user; use role, personality, context and rules"
      end

      # Within what the outer group says.
      def inside(outer)
        merged = SimulatorBuilder.new(@around)
        merged.take(outer)
        merged.take(self)
        merged
      end

      # @private
      def to_wire(conversation, _blocks)
        fields = @fields.dup
        fields["rules"] = @should.reject { |_, all| all.empty? }
        fields["during_topic"] = @during.transform_values { |manner| manner.manner }
        fields["stop_when"] = [stop_block(conversation)] if @stop
        fields["on_max_turns"] ||= "fine" if fields["goal"]
        fields.reject { |_, value| value.nil? || value == {} }
      end

      protected

      # @private How the user behaves in a topic.
      def manner
        raise UsageError, "during_topic knows personality, context and rules" if @stop || !@rules.empty?

        @fields.slice("personality", "context").merge("rules" => @should.reject { |_, all| all.empty? })
               .reject { |_, value| value == {} }
      end

      def take(other)
        fields, should, rules, stop, during = other.parts
        fields.each do |name, value|
          both_lists = value.is_a?(Array) && @fields[name].is_a?(Array)
          @fields[name] = both_lists ? @fields[name] + value : value
        end
        should.each { |kind, texts| @should[kind] += texts }
        @rules += rules
        @stop = stop if stop
        @during.merge!(during) { |_, outer, inner| inner.inside(outer) }
      end

      def parts
        [@fields, @should, @rules, @stop, @during]
      end

      private

      def known_rule?(kind, code)
        kind.nil? ? !code.nil? : @should.key?(kind.to_s)
      end

      def stop_block(conversation)
        code = @stop
        conversation.block("stop") { |turn| conversation.call_block(code, turn, conversation) }
      end
    end
  end
end
