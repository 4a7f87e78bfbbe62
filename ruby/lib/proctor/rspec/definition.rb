# frozen_string_literal: true

require_relative "assertions"
require_relative "builders"

module Proctor
  module Specs
    # What a group itself declares, before inheritance.
    Declared = Struct.new(:criteria, :topics, :simulators, :judge, :tools) do
      def self.empty
        new({}, {}, [], nil, {})
      end
    end

    # What holds for the conversation of an example: the declarations of its groups, inner ones winning, and its graph.
    class Definition
      attr_reader :tools

      def initialize(instance, example, graph = nil)
        @instance = instance
        @graph = graph
        @declared = example.example_group.parent_groups.reverse.map do |group|
          group.respond_to?(:proctor_declared) ? group.proctor_declared : Declared.empty
        end
        @criteria = merged(&:criteria)
        @topics = merged(&:topics)
        @tools = merged(&:tools)
        @simulator = @declared.flat_map(&:simulators).map { |code| SimulatorBuilder.new(@instance).fill(code) }
                              .inject(SimulatorBuilder.new(@instance)) { |outer, inner| inner.inside(outer) }
      end

      def criterion(name)
        @criteria.fetch(name.to_sym) do
          known = @criteria.keys.map(&:inspect).join(", ")
          raise UsageError, "there is no criterion #{name.inspect}; " \
                            "#{known.empty? ? "none is declared" : "there are: #{known}"}"
        end
      end

      def topic_names
        places.map { |place| place.name.to_s }
      end

      # Rules that are made up turn by turn.
      def rules
        @simulator.rules
      end

      def to_wire(conversation, blocks)
        criteria = @criteria.reject { |_, criterion| criterion.code? }
        { "criteria" => criteria.to_h { |name, criterion| [name.to_s, criterion.to_wire] },
          "topics" => topics(conversation), "simulator" => @simulator.to_wire(conversation, blocks),
          "judge" => judge, "models" => models }
          .reject { |_, value| value.nil? || value.empty? }
      end

      private

      def merged
        @declared.inject({}) { |all, declared| all.merge(yield(declared)) }
      end

      def judge
        given = @declared.map(&:judge).compact.last
        given && Plain.value(given)
      end

      def topics(conversation)
        places.to_h do |place|
          topic = place.topic || @topics[place.name] || raise(UsageError, undefined(place.name))
          [place.name.to_s, topic.to_wire(conversation, place.following)]
        end
      end

      # The places of the graph, and topics of the groups that only `next:` names: the conversation can end in them.
      def places
        return [] unless @graph

        wired = @graph.places
        ends = wired.flat_map(&:following).uniq.select { |name| @topics.key?(name) } - wired.map(&:name)
        wired + ends.map { |name| GraphBuilder::Place.new(name, [], nil) }
      end

      # A model that depends on the declarations makes its fields from them.
      def models
        Proctor.configuration.models.to_h do |part, model|
          [part, model.respond_to?(:model_fields) ? model.model_fields(part, @criteria) : Plain.value(model)]
        end
      end

      def undefined(name)
        "topic :#{name} is used but not defined; define it with `topic :#{name} do … end` in the group"
      end
    end
  end
end
