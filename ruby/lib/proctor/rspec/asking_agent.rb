# frozen_string_literal: true

module Proctor
  module Specs
    # An agent that keeps its own history: anything with `ask(text)` and `messages`, such as a chat of RubyLLM. What it did in a turn is read
    # off the messages that the turn has added.
    class AskingAgent
      def self.serves?(agent)
        %i[ask messages].all? { |name| agent.respond_to?(name) } && %i[chat call].none? { |name| agent.respond_to?(name) }
      end

      def initialize(agent)
        @agent = agent
      end

      def chat(messages)
        before = history.size
        answer = @agent.ask(messages.last[:content])
        added = history.drop(before)
        AgentResponse.new(text(answer), tool_calls: calls(added), metadata: tokens(added))
      end

      private

      def history
        @agent.messages.to_a
      end

      def text(answer)
        return answer if answer.is_a?(String)

        content = answer.respond_to?(:content) ? answer.content : nil
        content = content.text if content.respond_to?(:text)
        return content if content.is_a?(String)

        raise UsageError, "`ask` of the agent returned #{answer.nil? ? "nil" : answer.class} without a text in `content`"
      end

      # Messages that know nothing of calls do not say that there were none.
      def calls(added)
        return unless added.any? { |message| message.respond_to?(:tool_calls) }

        results = added.select { |message| message.respond_to?(:tool_call_id) && message.tool_call_id }
                       .to_h { |message| [message.tool_call_id, message.content] }
        added.flat_map { |message| listed(message) }.map do |call|
          ToolCall.new(id: call.id, name: call.name, arguments: call.arguments, result: results[call.id])
        end
      end

      def listed(message)
        calls = message.respond_to?(:tool_calls) ? message.tool_calls : nil
        calls.respond_to?(:values) ? calls.values : Array(calls)
      end

      def tokens(added)
        sums = %i[input_tokens output_tokens].to_h do |name|
          [name, added.filter_map { |message| message.public_send(name) if message.respond_to?(name) }]
        end
        sums.reject { |_, counts| counts.empty? }.transform_values(&:sum)
      end
    end
  end
end
