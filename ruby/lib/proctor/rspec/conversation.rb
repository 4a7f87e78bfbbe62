# frozen_string_literal: true

require "monitor"

module Proctor
  module Specs
    # The conversation of one example: a mirror of what the host conducts, and the one who does what the host asks.
    #
    # It belongs to the instance of the example, not to a thread: threads and fibers of the example share it, one stretch
    # at a time.
    class Conversation
      @count = 0
      @lock = Thread::Mutex.new

      def self.next_id
        @lock.synchronize { "t#{@count += 1}" }
      end

      attr_reader :goal, :topic_history, :definition

      def initialize(instance, example)
        @instance = instance
        @example = example
        @monitor = Monitor.new
        @turns = {}
        @metadata = {}
        @topic_history = []
        @blocks = Blocks.new
      end

      # What tests ask.

      def turns
        @turns.values
      end

      def last_turn
        @turns[@turns.keys.last]
      end

      def turn_count
        @turns.size
      end

      def messages
        turns.flat_map do |turn|
          [{ role: :user, content: turn.user }, { role: :assistant, content: turn.agent }]
        end
      end

      def all_tool_calls
        turns.flat_map(&:tool_calls)
      end
      alias tool_calls all_tool_calls

      # Calls of a tool, of all turns, with arguments that match if any are given.
      def find_tool_calls(name, arguments = {}, **named)
        wanted = arguments.merge(named)
        all_tool_calls.select { |call| ToolPattern.new(name, wanted).matches?(call) }
      end

      def has_tool_call?(name, arguments = {}, **named)
        !find_tool_calls(name, arguments, **named).empty?
      end

      def called_tool?(name, count: nil)
        found = find_tool_calls(name).size
        count ? found == count : found.positive?
      end

      def current_topic
        topic_history.last
      end

      def turns_in(topic)
        turns.select { |turn| turn.topic == topic.to_sym }
      end

      def inspect
        "#<Proctor conversation, #{turn_count} turns>"
      end

      # What makes it go on.

      def started?
        !@id.nil?
      end

      def declare(graph)
        if started?
          raise UsageError, "the topics of a conversation are declared before it begins: " \
                            "move `expect_conversation_to` before the first `user.says` or `user.simulate`"
        end
        @graph = graph
        stretch { start }
      end

      def says(text, metadata)
        stretch do
          start
          fields = { text: Plain.text(text.to_s) }
          fields[:metadata] = Plain.value(metadata) if metadata && !metadata.empty?
          settle(wrapped { ask("conversation.say", fields) })
          Reply.new(last_turn, @metadata[last_turn.number])
        end
      end

      def simulate(builder)
        stretch do
          start
          @dynamic_rules = @definition.rules + builder.rules
          simulate = builder.to_wire(self, @blocks)
          raise UsageError, "a simulation needs a goal: user.simulate { goal \"…\" }" unless simulate["goal"]

          dynamic = !@dynamic_rules.empty?
          outcome = wrapped { ask("conversation.simulate", { simulate: simulate, dynamic_rules: dynamic }) }
          settle(outcome)
          Simulated.new(self, outcome["simulation"] || {})
        end
      end

      # Has assertions checked; returns what came of each.
      def check(assertions, soft:, turn:)
        stretch do
          start
          outcome = ask("conversation.check", { assertions: assertions, soft: soft, turn: turn }.compact)
          settle(outcome) unless outcome["status"] == "failed"
          outcome.fetch("evaluations", [])
        end
      end

      # The example is over: the last topic is left. Raises what that brought to light, unless there is an error already.
      def finish(quiet: false)
        stretch do
          next unless started?

          outcome = ask("conversation.end", {})
          settle(outcome) unless quiet
        end
      ensure
        reset_agent
      end

      # For checks and builders.

      # An assertion that a block of Ruby decides. It is called with the turn in question and this conversation.
      def block(description, kind: "custom", name: nil, &code)
        @blocks.add(description, kind: kind, name: name, &code)
      end

      # In the example, with as many arguments as the code takes.
      def call_block(code, *arguments)
        arguments = arguments.first(code.arity) if code.lambda? && code.arity >= 0
        @instance.instance_exec(*arguments, &code)
      end

      def criterion(name)
        @definition ||= Definition.new(@instance, @example)
        @definition.criterion(name)
      end

      # A name of a topic, checked.
      def known_topic(name)
        stretch { start }
        known = @definition.topic_names
        return name.to_s if known.include?(name.to_s)

        listed = known.empty? ? "none is declared here (expect_conversation_to)" : "there are: #{known.join(", ")}"
        raise UsageError, "there is no topic :#{name}; #{listed}"
      end

      def adapter
        @adapter ||= @instance.__send__(:proctor_adapter)
      end

      private

      # One stretch at a time. The agent cannot make its own conversation go on.
      def stretch(&block)
        if @asking && @monitor.mon_owned?
          raise UsageError, "the conversation cannot go on from inside its agent or one of its blocks"
        end
        @monitor.synchronize(&block)
      end

      def start
        return if started?

        @definition = Definition.new(@instance, @example, @graph)
        wire = @definition.to_wire(self, @blocks)
        id = Conversation.next_id
        fields = { definition: wire, observe: Proctor.observers.any? }.merge(whereabouts)
        @id = id
        settle(ask("conversation.start", fields))
      rescue Host::Line::Refused => error
        @id = nil
        raise UsageError, error.message
      end

      def whereabouts
        metadata = @example.metadata
        item = Host.line.item
        row = metadata[:proctor_scenario]
        { key: item ? item.key : Plain.text(@example.id), repeat: item&.repeat || 1, attempt: item&.attempt || 1,
          file: Plain.text(metadata[:rerun_file_path] || metadata[:file_path]), line: metadata[:line_number],
          path: path_of(metadata), row: row&.to_wire }.compact
      end

      def path_of(metadata)
        path = [metadata[:description]]
        group = metadata[:example_group]
        while group
          path.unshift(group[:description])
          group = group[:parent_example_group]
        end
        path.map { |own| Plain.text(own.to_s) }.reject(&:empty?)
      end

      def ask(action, fields)
        @asking = true
        outcome = Host.line.request(action, { conversation: @id }.merge!(fields), conversation: @id) { |asked| answer(asked) }
        learn(outcome["conversation"])
        (outcome["events"] || []).each { |event| Proctor.observers.tell(event) }
        outcome
      ensure
        @asking = false
      end

      # Turns what a stretch came to into what RSpec understands.
      def settle(outcome)
        raised = @raised
        @raised = nil
        raise raised if raised

        message = outcome["message"].to_s
        case outcome["status"]
        when "passed" then outcome
        when "failed" then ::RSpec::Expectations.fail_with(failed_text(outcome))
        when "inconclusive" then raise Inconclusive.new(message, outcome["fault"])
        else raise outcome["fault"] == "agent" ? Error.new(message).extend(AgentFault) : Error.new(message)
        end
      end

      def failed_text(outcome)
        failures = outcome["failures"] || []
        shown = failures.map { |failure| failure["turn"] }.compact.uniq.map { |number| @turns[number]&.transcript }
        [failures.map { |failure| failure["message"] }, shown.compact].flatten.join("\n\n")
      end

      # Takes in what the host tells of the conversation.
      def learn(news)
        return unless news

        (news["turns"] || []).each { |turn| @turns[turn["number"]] = Turn.new(turn) }
        @topic_history = (news["topics"] || []).map(&:to_sym)
        @goal = news["goal"] unless news["goal"].to_s.empty?
      end

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
        draft = { "number" => number, "user" => said && said["content"] }
        @turns[number] = Turn.new(draft)
        answer = Chat.new(adapter).call(asked["messages"])
        @turns[number] = Turn.new(draft.merge("agent" => answer[:text], "tool_calls" => Plain.value(answer[:tool_calls])))
        @metadata[number] = answer[:metadata]
        answer
      rescue StandardError, ScriptError => error
        error.extend(AgentFault) unless error.frozen?
        refuse(error)
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
        found = @dynamic_rules.map { |kind, code| [kind, call_block(code, last_turn, self)] }
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

      def wrapped(&block)
        return yield unless adapter.respond_to?(:around)

        outcome = nil
        adapter.around { outcome = block.call }
        outcome || raise(UsageError, "`around` of #{adapter.class} has to yield")
      end

      def reset_agent
        return unless @adapter

        if @adapter.respond_to?(:reset!) then @adapter.reset!
        elsif @adapter.respond_to?(:reset) then @adapter.reset
        end
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

    # Blocks of Ruby by name. Names follow the order of declaration, so that examples of a group have the same ones and
    # the host reads their definition once.
    class Blocks
      def initialize
        @all = {}
      end

      def add(description, kind:, name: nil, &code)
        id = "b#{@all.size + 1}"
        @all[id] = code
        { "$block" => { "id" => id, "description" => description, "kind" => kind, "name" => name&.to_s }.compact }
      end

      def fetch(id)
        @all.fetch(id)
      end
    end
  end
end
