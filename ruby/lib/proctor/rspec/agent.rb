# frozen_string_literal: true

module Proctor
  # A call to a tool, as an agent reports it.
  ToolCall = Struct.new(:name, :arguments, :result, :error, :id, :duration_ms, :metadata, keyword_init: true) do
    # Whatever an adapter gives for a call.
    def self.from(call)
      return call if call.is_a?(ToolCall)

      raise UsageError, "#{call.inspect} is no call of a tool; give { name:, arguments:, result: }" unless call.respond_to?(:to_h) && call

      fields = call.to_h.transform_keys(&:to_sym)
      fields[:name] ||= fields[:tool_name] || fields[:tool]
      new(**fields.slice(*members))
    end

    def to_wire
      { id: id&.to_s || "", name: name.to_s, arguments: Plain.value(arguments || {}), result: Plain.value(result),
        error: error&.to_s, duration_ms: duration_ms, metadata: metadata && Plain.value(metadata) }.compact
    end

    # What tells it from others: its id, else what was called.
    def identity
      id || [name.to_s, arguments]
    end
  end

  # What an agent answers. `tool_calls` were made by the agent itself; `pending_tool_calls` it wants to have made, and
  # is asked again with their results, unless `ends_turn` says that they come soon enough with the next message. An answer
  # without `tool_calls` does not say which tools were called; an empty list says that there were none.
  class AgentResponse
    attr_reader :text, :tool_calls, :pending_tool_calls, :metadata, :ends_turn, :first_token_ms

    def initialize(text = nil, tool_calls: nil, pending_tool_calls: [], metadata: nil, ends_turn: false,
                   first_token_ms: nil, **named)
      @text = (text || named[:text]).to_s
      @lists_calls = !tool_calls.nil?
      @tool_calls = Array(tool_calls)
      @pending_tool_calls = Array(pending_tool_calls)
      @metadata = metadata
      @ends_turn = ends_turn
      @first_token_ms = first_token_ms
    end

    # Whether it says which tools the agent called.
    def lists_calls?
      @lists_calls
    end

    # Whatever an adapter returned, as a response.
    def self.from(answer)
      case answer
      when AgentResponse then answer
      when String, Symbol then new(answer.to_s)
      when Hash then from_hash(answer.transform_keys(&:to_sym))
      else from_object(answer)
      end
    end

    # An answer that says nothing at all would pass every check that something is *not* said.
    def self.from_hash(answer)
      return new(**answer) if %i[text tool_calls pending_tool_calls].any? { |name| answer.key?(name) }

      raise UsageError, "the agent answered with a Hash that has #{answer.empty? ? "nothing in it" : answer.keys.map(&:inspect).join(", ")}; " \
                        "the words of the answer are :text"
    end
    private_class_method :from_hash

    def self.from_object(answer)
      unless answer.respond_to?(:text)
        raise UsageError, "the agent answered with #{answer.nil? ? "nil" : answer.class}; " \
                          "return a String, a Hash with :text, or a Proctor::AgentResponse"
      end
      value = ->(name, otherwise) { answer.respond_to?(name) ? answer.public_send(name) : otherwise }
      new(answer.text, tool_calls: value.call(:tool_calls, nil), metadata: value.call(:metadata, nil),
                       pending_tool_calls: value.call(:pending_tool_calls, []))
    end
    private_class_method :from_object
  end

  # What an agent is built with: a Hash, `context[:scenario]`, whose own entries are methods too, `context.test_name`.
  # `super(...)` and `merge` add to it.
  class AgentContext < Hash
    OWN = %i[test_name test_file test_line tags scenario].freeze

    def self.of(example, extra = {})
      metadata = example.metadata
      new.update(test_name: metadata[:full_description], test_file: metadata[:file_path], test_line: metadata[:line_number],
                 tags: metadata.reject { |key, _| ::RSpec::Core::Metadata::RESERVED_KEYS.include?(key) },
                 scenario: metadata[:proctor_scenario]).update(extra)
    end

    OWN.each { |name| define_method(name) { self[name] } }

    # What was added to the entries of every example.
    def extra
      reject { |name, _| OWN.include?(name) }
    end
  end

  # A base for adapters. Only `chat` has to be written.
  class Agent
    attr_reader :context

    def self.build(context = nil)
      new(context)
    end

    def initialize(context = nil)
      @context = context
    end

    # `messages` are hashes with :role and :content. Call `on_tool_call.call(name:, arguments:, result:)` for every
    # tool as it is used (see ToolCallReports), or return the calls in the response. An adapter that does neither does not report its
    # calls, and examples that look at them are errors. An adapter that streams may take `on_first_token:` and call it.
    def chat(_messages, on_tool_call: nil)
      raise NotImplementedError, "#{self.class} has no `chat`"
    end

    # Wraps every stretch of conversation: all that `user.says` and `user.simulate` make the agent do.
    def around
      yield
    end

    # The example is over.
    def reset!; end

    # Recorded with every answer.
    def metadata
      {}
    end
  end
end
