# frozen_string_literal: true

module Proctor
  module Specs
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
