# frozen_string_literal: true

require_relative "scenarios"

module Proctor
  module Specs
    # What a group of `type: :agent` can declare. Inner groups inherit and win.
    module GroupWords
      # The agent under test: a class with `build(context)`, or a block that makes one. In a nested group the block may
      # call `super(extra: …)` to have the outer declaration build it with more context.
      def agent(klass = nil, &block)
        raise UsageError, "agent takes a class or a block" unless klass.nil? ^ block.nil?

        if block
          define_method(:proctor_build_agent, &block)
        else
          define_method(:proctor_build_agent) { |context = nil, **extra| proctor_make_agent(klass, context, extra) }
        end
      end

      # A quality to look for: a text for the judge, a block with calibration examples, or code.
      def criterion(name, text = nil, &block)
        proctor_declared.criteria[name.to_sym] = CriterionBuilder.new(name, text, self, block)
      end

      # The simulated user.
      def simulator(&block)
        proctor_declared.simulators << block
      end

      # Something the conversation can be about.
      def topic(name, &block)
        proctor_declared.topics[name.to_sym] = TopicBuilder.new(name, self, block)
      end

      # How the judge is asked: `judge votes: 3, model: { … }`.
      def judge(**settings, &block)
        raise UsageError, "judge takes settings, not a block: judge votes: 3, model: { … }" if block

        proctor_declared.judge = settings
      end

      # A tool that the agent may ask for (pending_tool_calls); the block gets the arguments and returns the result.
      def tool(name, &block)
        proctor_declared.tools[name.to_sym] = block
      end

      # Examples for each row: `scenario_set "name", from: "rows.json" do |scenario| it("…") { … } end`.
      def scenario_set(name, from: nil, scenarios: nil, **metadata, &block)
        place = caller_locations(1, 1).first
        rows = Scenarios.load(name, from, scenarios, place.absolute_path || place.path)
        context(name, caller: caller, **metadata) { rows.each { |row| Scenarios.define(self, row, block) } }
      end

      # @private
      def proctor_declared
        @proctor_declared ||= Declared.empty
      end
    end
  end
end
