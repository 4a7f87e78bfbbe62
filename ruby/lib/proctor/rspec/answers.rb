# frozen_string_literal: true

module Proctor
  module Specs
    # The side of a conversation that the host asks: the agent, its tools, rules and blocks. Everything here runs on the
    # thread (and in the fiber) that waits for the host.
    module Answers
      private

      # What the host asks for, on the thread of the example.
      def answer(asked)
        case asked["action"]
        when "agent.chat" then chat(asked)
        when "agent.tool" then tool(Call.new(asked["call"]))
        when "simulator.rules" then rules
        when "evaluate_block" then evaluate(asked)
        end
      rescue StandardError, ScriptError => error
        refuse(error)
      end

      def refuse(error)
        @raised = error
        { error: { code: "failed", message: Plain.text(error.message), data: { class: error.class.name } } }
      end

      def chat(asked)
        number = asked["turn"]
        said = asked["messages"].reverse.find { |message| message["role"] == "user" }
        draft = { "number" => number, "user" => said && said["content"], "tool_calls" => [] }
        @turns[number] = Turn.new(draft)
        @times[number] = [Time.now]
        chat = Chat.new(adapter, offers_tools: offers_tools?) { |kind, call| report(kind, call) }
        answer = chat.call(asked["messages"])
        @times[number][1] = Time.now
        @turns[number] = Turn.new(draft.merge("agent" => answer[:text], "tool_calls" => Plain.value(answer[:tool_calls])))
        @metadata[number] = answer[:metadata]
        answer
      rescue StandardError, ScriptError => error
        error.extend(AgentFault) unless error.frozen?
        refuse(error)
      end

      # What the agent reports while it works. The host answers when it has it, so that events come in the order of what happened.
      # A report that comes too late, from a thread that works on after the answer, is refused: the answer had the last word.
      def report(kind, call)
        fields = { conversation: @id, report: kind, call: call&.to_wire }.compact
        Host.line.request("conversation.report", fields)
      rescue Host::Line::Refused, HostUnavailable
        nil
      end

      # Whether the agent's calls go through the host, which then knows them.
      def offers_tools?
        @definition.tools.any? || adapter.respond_to?(:call_tool)
      end

      # A tool that the agent asks for: one of the group's, or the adapter's own.
      def tool(call)
        code = @definition.tools[call.name]
        result = if code then @instance.instance_exec(call.arguments, &code)
                 elsif adapter.respond_to?(:call_tool) then adapter.call_tool(call.name, call.arguments)
                 else return { failure: "there is no tool `#{call.name}`" }
                 end
        { result: Plain.value(result) }
      rescue StandardError => error
        { failure: Plain.text("#{error.class}: #{error.message}") }
      end

      def rules
        found = @dynamic_rules.map { |kind, code| [kind || "should", call_block(code, kind ? last_turn : last_agent_response, self)] }
        found.reject! { |_, text| text.nil? || text.to_s.empty? }
        %w[should should_not].to_h { |kind| [kind, found.select { |each, _| each.to_s == kind }.map { |_, text| text.to_s }] }
      end

      def evaluate(asked)
        learn(asked["conversation"])
        value, message = @blocks.fetch(asked["block"]).call(@turns[asked["turn"]])
        { value: value ? true : false, message: message && Plain.text(message.to_s) }.compact
      rescue ::RSpec::Expectations::ExpectationNotMetError => error
        { value: false, message: Plain.text(error.message.strip) }
      end
    end
  end
end
