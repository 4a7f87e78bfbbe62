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

      # By symbol or text; nil when there is none.
      def argument(key)
        arguments[key.to_sym]
      end

      def has_argument?(key)
        arguments.key?(key.to_sym)
      end

      # Whether the arguments are these, by value, pattern, block or matcher.
      def matches_params?(params)
        ToolPattern.new(name, params).matches?(self)
      end

      def to_h
        { id: id, name: name, arguments: arguments, result: result, error: error }
      end

      def to_s
        "#{name}(#{arguments.map { |key, value| "#{key}: #{value.inspect}" }.join(", ")})"
      end
      alias inspect to_s
    end

    # Questions about a list of calls.
    module CallQueries
      def has_tool_call?(name, params: nil)
        find_tool_calls(name, params: params).any?
      end

      def find_tool_calls(name, params: nil)
        pattern = ToolPattern.new(name, params)
        tool_calls.select { |call| pattern.matches?(call) }
      end

      # The first call of a tool; nil when there is none.
      def tool_call(name)
        find_tool_calls(name).first
      end
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
      alias agent_text agent
      alias text agent

      # The answer with its calls: `turn.agent_response.text`, `turn.agent_response.tool_calls`.
      def agent_response
        Reply.new(self, metadata)
      end

      # The calls of the turn. Without a report of them nobody can say that there were none.
      def tool_calls
        @tool_calls || raise(NotReported, "the agent answered turn #{number} without `tool_calls`, so nobody knows which " \
                                          "tools it called; return Proctor::AgentResponse.new(text, tool_calls: [])")
      end

      include CallQueries

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

    # An answer of the agent: a text that knows its turn. `user.says` returns it.
    class Reply < String
      include CallQueries

      attr_reader :turn, :metadata

      def initialize(turn, metadata)
        super(turn.agent)
        @turn = turn
        @metadata = metadata
      end

      def text
        turn.agent
      end
      alias content text

      def tool_calls
        turn.tool_calls
      end

      def to_h
        { text: text, tool_calls: tool_calls.map(&:to_h), metadata: metadata }
      end
    end

    # A message of a conversation: `message.role`, `message[:content]`.
    class Message
      NAMES = %i[role content timestamp tool_calls metadata].freeze

      attr_reader :role, :content, :timestamp, :metadata

      # `turn` is given for messages of the agent, whose calls it knows.
      def initialize(role, content, timestamp: nil, metadata: nil, turn: nil)
        @role = role
        @content = content
        @timestamp = timestamp
        @metadata = metadata || {}
        @turn = turn
      end

      def tool_calls
        @turn ? @turn.tool_calls : []
      end

      def has_tool_call?(name)
        tool_calls.any? { |call| call.name == name.to_sym }
      end

      def user?
        @turn.nil?
      end

      def agent?
        !user?
      end

      def [](name)
        public_send(name) if NAMES.include?(name.to_sym)
      end

      def to_h
        { role: role, content: content }
      end

      def ==(other)
        other.respond_to?(:to_h) && to_h == other.to_h
      end

      def inspect
        to_h.inspect
      end
    end

    # What a check of the example came to. `passed` is nil when nobody could say.
    EvaluationResult = Struct.new(:mode, :type, :description, :passed, :failure_message, :metadata, keyword_init: true) do
      def passed?
        passed == true
      end

      def soft?
        mode == :soft
      end

      def hard?
        mode == :hard
      end
    end

    # What `user.simulate` returns. A simulation that fails a requirement of a topic raises instead.
    class Simulated
      attr_reader :conversation, :turn_count, :termination_reason

      def initialize(conversation, ended)
        @conversation = conversation
        @turn_count = ended["turn_count"]
        @termination_reason = ended["termination_reason"]&.to_sym
      end

      def passed?
        true
      end

      def topic_history
        conversation.topic_history
      end
    end

    # A mapping of a scenario. It has the keys it was written with, and is read by symbol or text.
    class Fields < Hash
      def self.from(value)
        case value
        when Hash then value.each_with_object(new) { |(key, entry), fields| fields.store(key, from(entry)) }
        when Array then value.map { |entry| from(entry) }
        else value
        end
      end

      alias exact_key? key?
      private :exact_key?

      def [](key)
        super(own(key))
      end

      def fetch(key, *otherwise, &block)
        super(own(key), *otherwise, &block)
      end

      def dig(key, *rest)
        super(own(key), *rest)
      end

      def key?(key)
        super(own(key))
      end
      alias has_key? key?
      alias include? key?
      alias member? key?

      private

      # The key as it is written here.
      def own(key)
        return key if exact_key?(key)

        case key
        when Symbol then key.name
        when String then key.to_sym
        else key
        end
      end
    end

    # One row of a scenario set: `scenario.goal`, `scenario[:goal]`, `scenario[:verification][:city]`.
    class Scenario
      attr_reader :index

      # `index`: the place in its set, from 0.
      def initialize(fields, index: nil)
        @fields = Fields.from(fields.transform_keys(&:to_s))
        @index = index
      end

      def name
        @fields["name"]
      end

      # The scenario's own `id`, or else `identifier`.
      def id
        @fields.fetch("id") { identifier }
      end

      # A name that changes with the contents.
      def identifier
        require "digest"
        Digest::SHA256.hexdigest(Native.json(to_wire))[0, 12]
      end

      def [](key)
        @fields[key]
      end

      def key?(key)
        @fields.key?(key)
      end

      def dig(*keys)
        @fields.dig(*keys)
      end

      def to_h
        @fields.transform_keys(&:to_sym)
      end
      alias data to_h

      def to_json(*arguments)
        to_wire.to_json(*arguments)
      end

      def ==(other)
        other.is_a?(Scenario) && to_h == other.to_h
      end

      # @private
      def to_wire
        Plain.value(@fields)
      end

      def respond_to_missing?(name, include_private = false)
        @fields.key?(name) || OPTIONAL.include?(name) || super
      end

      def method_missing(name, *arguments)
        return @fields[name] if arguments.empty? && (@fields.key?(name) || OPTIONAL.include?(name))

        super
      end

      OPTIONAL = %i[context personality verification].freeze
    end
  end
end
