# frozen_string_literal: true

module Proctor
  # Every type of event. First the fields that a program may give by position, then those that the host adds; a spec compares
  # them with schema/events.schema.json.
  module Events
    define(:SuiteStarted, %i[time seed], :example_count, :workers, :repeats, :load_time_ms, :repetition_count, :policy,
           :repeat_limit, :repeat_against)
    define(:SuiteFinished, %i[time example_count failure_count], :pending_count, :counts, :error_count, :duration_ms, :exit_code,
           :state, :stopped_by, :verdict, :repetition_count, :late_count)
    define(:GroupStarted, %i[path file location time], :description)
    define(:GroupFinished, %i[path file time], :description)

    define(:ExampleStarted, %i[id file path location time], :description, :full_description, :tags, :suite, :scenario, :pass_rate,
           :deterministic, :scripted, :repeats) do
      def self.from_rspec(example)
        id = StableExampleId.new(example.metadata)
        new(id: id.to_hash, file: id.file_path, path: id.description_chain, location: example.location, time: ::Time.now,
            description: example.description, full_description: example.full_description)
      end
    end

    # status: :passed, :failed, :pending, and what else the host knows
    define(:ExampleFinished, %i[id status duration_ms exception], :fault, :message, :final, :flaky, :checks, :exit_status, :signal,
           :output_tail, :leaked, :description, :full_description, :location, :file, :path, :pass_rate, :repeats,
           :pending_exception) do
      def self.from_rspec(example)
        result = example.execution_result
        taken = result.run_time
        new(id: StableExampleId.new(example.metadata).to_hash, status: result.status, time: ::Time.now,
            duration_ms: taken && (taken * 1000).round(3), exception: Events.exception(example.exception),
            description: example.description, full_description: example.full_description, location: example.location)
      end
    end

    define(:SimulationStarted, %i[example_id goal max_turns time])
    define(:SimulationEnded, %i[example_id turn_count termination_reason time])

    define(:UserMessage, %i[example_id turn_number text source time], :metadata)
    define(:AgentResponse, %i[example_id turn_number text pending_tool_calls metadata time], :tool_calls, :duration_ms,
           :first_token_ms, :cost_usd, :ends_turn, :calls_listed)
    define(:TopicChanged, %i[example_id turn_number from_topic to_topic trigger])

    define(:ToolCallStarted, %i[example_id turn_number tool_call_id tool_name arguments time])
    define(:ToolCallCompleted, %i[example_id turn_number tool_call_id tool_name arguments result error metadata time], :duration_ms)

    define(:InvariantEvaluated, %i[example_id topic invariant_type description passed message], :mode)
    define(:EvaluationRecorded, %i[example_id turn_number mode evaluation_type name description passed score reasoning
                                   failure_message metadata])

    define(:AgentError, %i[example_id turn_number error_class message context])
    define(:JudgeError, %i[example_id operation error_class message])
    define(:ErrorOutsideExample, %i[phase place exception message time])

    define(:WorkerStarted, %i[worker pid generation time])
    define(:WorkerExited, %i[worker pid generation exit_status signal expected time])
    define(:WorkerLog, %i[worker line stream time])
    define(:ModelCall, %i[example_id backend model purpose input_tokens output_tokens cost_usd duration_ms cached tries error time],
           :interface, :prompt, :text, :tool_calls)
    define(:AgentSpan, %i[example_id turn_number name span_id parent_span_id started_at duration_ms scope error attributes], :spans_left_out)
    define(:Progress, %i[completed total failures time])

    # An exception as events have it.
    def self.exception(error)
      return unless error

      { class: error.class.name, message: Plain.text(error.message.to_s), backtrace: (error.backtrace || []).first(10) }
    end
  end
end
