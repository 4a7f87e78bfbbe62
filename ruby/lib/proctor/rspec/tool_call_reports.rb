# frozen_string_literal: true

module Proctor
  module Specs
    # What an adapter gets as `on_tool_call`: tells the host of calls while the agent works, and remembers them for the answer.
    #
    #   on_tool_call.call(name: "search", arguments: { guests: 50 }, result: "3 halls")     # a call that is over
    #   on_tool_call.started(name: "search", arguments: { guests: 50 }, id: "t1")           # one that begins
    #   on_tool_call.run(name: "search", arguments: { guests: 50 }) { search(50) }          # both, with its duration
    class ToolCallReports
      def initialize(&report)
        @report = report
        @calls = []
        @lock = Thread::Mutex.new
      end

      # A call is over: with `result`, or `error`; `id`, `duration_ms` and `metadata` as far as they are known.
      def call(call = nil, **fields)
        call = ToolCall.from(call || fields)
        @lock.synchronize { @calls << call }
        @report.call("agent.tool_call_completed", call)
        nil
      end
      alias completed call

      # A call begins. It is told as over by `call`, with the same id or the same name and arguments.
      def started(call = nil, **fields)
        @report.call("agent.tool_call_started", ToolCall.from(call || fields))
        nil
      end

      # Makes a call: returns what the block returns, and raises what it raises.
      def run(name:, arguments: {}, id: nil, metadata: nil)
        started(name: name, arguments: arguments, id: id)
        began = Native.nanoseconds
        over = lambda do |outcome|
          call(name: name, arguments: arguments, id: id, metadata: metadata,
               duration_ms: ((Native.nanoseconds - began) / 1_000_000.0).round(3), **outcome)
        end
        result = yield
        over.call({ result: result })
        result
      rescue StandardError => error
        over&.call({ error: "#{error.class}: #{error.message}" })
        raise
      end

      # Adapters may hand it on as a block.
      def to_proc
        method(:call).to_proc
      end

      # The calls that are over, in order.
      def calls
        @lock.synchronize { @calls.dup }
      end
    end
  end
end
