# frozen_string_literal: true

module Proctor
  module Specs
    # One question to the agent's adapter, and its answer for the wire.
    class Chat
      # `offers_tools`: the host calls tools for the agent.
      def initialize(adapter, offers_tools: false)
        @adapter = adapter
        @offers_tools = offers_tools
        @noted = []
      end

      def call(messages)
        messages = messages.map { |message| message.transform_keys(&:to_sym) }
        messages.each { |message| message[:role] = message[:role].to_sym }
        response = AgentResponse.from(ask(messages))
        { text: Plain.text(response.text), tool_calls: made_calls(response),
          pending_tool_calls: response.pending_tool_calls.map { |call| tool_call(call).to_wire },
          metadata: metadata(response), ends_turn: response.ends_turn ? true : false }.compact
      end

      private

      def ask(messages)
        return @adapter.call(*[messages, method(:note)].first(arity)) unless @adapter.respond_to?(:chat)

        takes_callback? ? @adapter.chat(messages, on_tool_call: method(:note)) : @adapter.chat(messages)
      end

      def arity
        code = @adapter.respond_to?(:arity) ? @adapter : @adapter.method(:call)
        code.arity.negative? ? 1 : code.arity
      end

      def takes_callback?
        @adapter.method(:chat).parameters.any? { |kind, name| kind == :keyrest || name == :on_tool_call }
      end

      # The calls that the agent made; nothing where neither the adapter nor its answer says.
      def made_calls(response)
        calls = merged(response.tool_calls).map(&:to_wire)
        calls if response.lists_calls? || calls.any? || @offers_tools || names_callback?
      end

      # An adapter that asks for the callback reports through it.
      def names_callback?
        return arity > 1 unless @adapter.respond_to?(:chat)

        @adapter.method(:chat).parameters.any? { |_, name| name == :on_tool_call }
      end

      # The callback: a call with its result, as it happens.
      def note(call = nil, **fields)
        @noted << tool_call(call || fields)
      end

      def tool_call(call)
        return call if call.is_a?(ToolCall)

        fields = call.to_h.transform_keys(&:to_sym)
        fields[:name] ||= fields[:tool_name] || fields[:tool]
        ToolCall.new(**fields.slice(*ToolCall.members))
      end

      # Calls may be reported as they happen, in the answer, or both.
      def merged(reported)
        reported = reported.map { |call| tool_call(call) }
        known = reported.map { |call| identity(call) }
        @noted.reject { |call| known.include?(identity(call)) } + reported
      end

      def identity(call)
        call.id || [call.name.to_s, call.arguments]
      end

      def metadata(response)
        own = @adapter.respond_to?(:metadata) ? @adapter.metadata : nil
        all = (own || {}).to_h.merge((response.metadata || {}).to_h)
        all.empty? ? nil : Plain.value(all)
      end
    end
  end
end
