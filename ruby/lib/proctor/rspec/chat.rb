# frozen_string_literal: true

require_relative "asking_agent"
require_relative "tool_call_reports"

module Proctor
  module Specs
    # One question to the agent's adapter, and its answer for the wire.
    class Chat
      # `offers_tools`: the host calls tools for the agent. The block gets what the adapter reports while it works.
      def initialize(adapter, offers_tools: false, &report)
        adapter = AskingAgent.new(adapter) if AskingAgent.serves?(adapter)
        unless adapter.respond_to?(:chat) || adapter.respond_to?(:call)
          raise UsageError, "the agent is #{adapter.inspect}, which can be asked nothing: it needs `chat(messages)`, `call(messages)`, or `ask(text)` and `messages`"
        end

        @adapter = adapter
        @offers_tools = offers_tools
        @report = report || proc {}
        @reports = ToolCallReports.new(&@report)
      end

      def call(messages)
        messages = messages.map { |message| message.transform_keys(&:to_sym) }
        messages.each { |message| message[:role] = message[:role].to_sym }
        response = AgentResponse.from(ask(messages))
        { text: Plain.text(response.text), tool_calls: made_calls(response),
          pending_tool_calls: response.pending_tool_calls.map { |call| ToolCall.from(call).to_wire },
          metadata: metadata(response), ends_turn: response.ends_turn ? true : false,
          first_token_ms: response.first_token_ms }.compact
      end

      private

      def ask(messages)
        return @adapter.call(*[messages, @reports].first(arity)) unless @adapter.respond_to?(:chat)

        callbacks = {}
        callbacks[:on_tool_call] = @reports if takes?(:on_tool_call)
        # Not for those that take everything: they may pass it on to something that does not.
        callbacks[:on_first_token] = -> { @report.call("agent.first_token", nil) } if names?(:on_first_token)
        @adapter.chat(messages, **callbacks)
      end

      def arity
        code = @adapter.respond_to?(:arity) ? @adapter : @adapter.method(:call)
        code.arity.negative? ? 1 : code.arity
      end

      def takes?(callback)
        names?(callback) || @adapter.method(:chat).parameters.any? { |kind, _| kind == :keyrest }
      end

      def names?(callback)
        @adapter.method(:chat).parameters.any? { |_, name| name == callback }
      end

      # The calls that the agent made; nothing where neither the adapter nor its answer says.
      def made_calls(response)
        calls = merged(response.tool_calls).map(&:to_wire)
        calls if response.lists_calls? || calls.any? || @offers_tools || names_callback?
      end

      # An adapter that asks for the callback reports through it.
      def names_callback?
        @adapter.respond_to?(:chat) ? names?(:on_tool_call) : arity > 1
      end

      # Calls may be reported as they happen, in the answer, or both; the same call made twice is two calls.
      def merged(listed)
        listed = listed.map { |call| ToolCall.from(call) }
        only_reported = @reports.calls
        listed.each do |call|
          place = only_reported.index { |reported| reported.identity == call.identity }
          only_reported.delete_at(place) if place
        end
        only_reported + listed
      end

      def metadata(response)
        own = @adapter.respond_to?(:metadata) ? @adapter.metadata : nil
        all = (own || {}).to_h.merge((response.metadata || {}).to_h)
        all.empty? ? nil : Plain.value(all)
      end
    end
  end
end
