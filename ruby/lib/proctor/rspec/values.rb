# frozen_string_literal: true

module Proctor
  module Specs
    # A call to a tool, as the conversation remembers it. Arguments have string and symbol access at the top.
    class Call
      attr_reader :id, :name, :arguments, :result, :error

      def initialize(fields)
        @id = fields["id"]
        @name = fields["name"].to_sym
        @arguments = (fields["arguments"] || {}).transform_keys(&:to_sym)
        @result = fields["result"]
        @error = fields["error"]
      end

      def tool_name
        name
      end

      def to_h
        { id: id, name: name, arguments: arguments, result: result, error: error }
      end

      def to_s
        "#{name}(#{arguments.map { |key, value| "#{key}: #{value.inspect}" }.join(", ")})"
      end
      alias inspect to_s
    end

    # One message and its answer.
    class Turn
      attr_reader :number, :user, :agent, :topic, :latency_ms, :metadata

      def initialize(fields)
        @number = fields["number"]
        @user = fields["user"].to_s
        @agent = fields["agent"].to_s
        @tool_calls = fields["tool_calls"]&.map { |call| Call.new(call) }
        @known = (fields["known_tool_calls"] || []).map { |call| Call.new(call) }
        @topic = fields["topic"]&.to_sym
        @latency_ms = fields["latency_ms"]
        @metadata = fields["metadata"]
      end

      alias user_message user
      alias agent_response agent
      alias text agent

      # The calls of the turn. Without a report of them nobody can say that there were none.
      def tool_calls
        @tool_calls || raise(NotReported, "the agent answered turn #{number} without `tool_calls`, so nobody knows which " \
                                          "tools it called; return Proctor::AgentResponse.new(text, tool_calls: [])")
      end

      def has_tool_call?(name)
        tool_calls.any? { |call| call.name == name.to_sym }
      end

      # As it stands in failure messages.
      def transcript
        lines = ["turn #{number}#{" (topic #{topic})" if topic}", "  user:  #{user}"]
        (@tool_calls || @known).each { |call| lines << "  tool:  #{call}#{" → #{shown(call)}" if call.result || call.error}" }
        (lines << "  agent: #{agent}").join("\n")
      end

      private

      def shown(call)
        text = call.error ? "error: #{call.error}" : call.result.inspect
        text.size > 200 ? "#{text[0, 200]}…" : text
      end
    end

    # What `user.says` returns: reads like a text, and knows its turn.
    class Reply
      attr_reader :turn, :metadata

      def initialize(turn, metadata)
        @turn = turn
        @metadata = metadata
      end

      def text
        turn.agent
      end
      alias to_s text
      alias content text

      def tool_calls
        turn.tool_calls
      end

      def inspect
        "#<Proctor reply #{text.inspect}>"
      end
    end

    # What `user.simulate` returns.
    class Simulated
      attr_reader :conversation, :turn_count, :termination_reason

      def initialize(conversation, ended)
        @conversation = conversation
        @turn_count = ended["turn_count"]
        @termination_reason = ended["termination_reason"]&.to_sym
      end
    end

    # One row of a scenario set: `scenario.goal`, `scenario[:goal]`.
    class Scenario
      def initialize(fields)
        @fields = fields.transform_keys(&:to_s)
      end

      def name
        @fields["name"]
      end

      def [](key)
        @fields[key.to_s]
      end

      def key?(key)
        @fields.key?(key.to_s)
      end

      def to_h
        @fields.transform_keys(&:to_sym)
      end

      # @private
      def to_wire
        Plain.value(@fields)
      end

      # A name that changes with the contents.
      def id
        require "digest"
        Digest::SHA256.hexdigest(Native.json(to_wire))[0, 12]
      end

      def respond_to_missing?(name, include_private = false)
        @fields.key?(name.to_s) || super
      end

      def method_missing(name, *arguments)
        return @fields[name.to_s] if arguments.empty? && @fields.key?(name.to_s)
        return nil if arguments.empty? && OPTIONAL.include?(name)

        super
      end

      OPTIONAL = %i[context personality verification].freeze
    end
  end
end
