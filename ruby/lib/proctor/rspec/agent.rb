# frozen_string_literal: true

module Proctor
  # A call to a tool, as an agent reports it.
  ToolCall = Struct.new(:name, :arguments, :result, :error, :id, :duration_ms, keyword_init: true) do
    def to_wire
      { id: id&.to_s || "", name: name.to_s, arguments: Plain.value(arguments || {}), result: Plain.value(result),
        error: error&.to_s, duration_ms: duration_ms }.compact
    end
  end

  # What an agent answers. `tool_calls` were made by the agent itself; `pending_tool_calls` it wants to have made, and
  # is asked again with their results, unless `ends_turn` says that they come soon enough with the next message. An answer
  # without `tool_calls` does not say which tools were called; an empty list says that there were none.
  class AgentResponse
    attr_reader :text, :tool_calls, :pending_tool_calls, :metadata, :ends_turn

    def initialize(text = nil, tool_calls: nil, pending_tool_calls: [], metadata: nil, ends_turn: false, **named)
      @text = (text || named[:text]).to_s
      @lists_calls = !tool_calls.nil?
      @tool_calls = Array(tool_calls)
      @pending_tool_calls = Array(pending_tool_calls)
      @metadata = metadata
      @ends_turn = ends_turn
    end

    # Whether it says which tools the agent called.
    def lists_calls?
      @lists_calls
    end

    # Whatever an adapter returned, as a response.
    def self.from(answer)
      case answer
      when AgentResponse then answer
      when String, Symbol, nil then new(answer.to_s)
      when Hash then new(**answer.transform_keys(&:to_sym))
      else from_object(answer)
      end
    end

    def self.from_object(answer)
      unless answer.respond_to?(:text)
        raise UsageError, "the agent answered with #{answer.class}; " \
                          "return a String, a Hash with :text, or a Proctor::AgentResponse"
      end
      value = ->(name, otherwise) { answer.respond_to?(name) ? answer.public_send(name) : otherwise }
      new(answer.text, tool_calls: value.call(:tool_calls, nil), metadata: value.call(:metadata, nil),
                       pending_tool_calls: value.call(:pending_tool_calls, []))
    end
    private_class_method :from_object
  end

  # What an agent is built with: `context.test_name`, `context[:scenario]`, and whatever `super(...)` adds.
  class AgentContext
    attr_reader :test_name, :test_file, :test_line, :tags, :scenario, :extra

    def initialize(example, extra = {})
      metadata = example.metadata
      @test_name = metadata[:full_description]
      @test_file = metadata[:file_path]
      @test_line = metadata[:line_number]
      @tags = metadata.reject { |key, _| ::RSpec::Core::Metadata::RESERVED_KEYS.include?(key) }
      @scenario = metadata[:proctor_scenario]
      @extra = extra
    end

    def to_h
      { test_name: test_name, test_file: test_file, test_line: test_line, tags: tags, scenario: scenario }.merge(extra)
    end

    def [](name)
      to_h[name]
    end

    def with(more)
      dup.tap { |copy| copy.instance_variable_set(:@extra, extra.merge(more)) }
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
    # tool as it is used, or return the calls in the response. An adapter that does neither does not report its calls, and
    # examples that look at them are errors.
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
