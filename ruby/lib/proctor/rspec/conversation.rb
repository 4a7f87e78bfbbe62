# frozen_string_literal: true

require "monitor"
require_relative "answers"
require_relative "blocks"
require_relative "example_location"

module Proctor
  module Specs
    # The conversation of one example: a mirror of what the host conducts, and the one who does what the host asks.
    #
    # It belongs to the instance of the example, not to a thread: threads and fibers of the example share it, one stretch
    # at a time.
    class Conversation
      include Answers

      @count = 0
      @lock = Thread::Mutex.new

      def self.next_id
        @lock.synchronize { "t#{@count += 1}" }
      end

      attr_reader :goal, :topic_history, :definition, :evaluation_results

      def initialize(instance, example)
        @instance = instance
        @example = example
        @monitor = Monitor.new
        @turns = {}
        @metadata = {}
        @times = {}
        @user_metadata = {}
        @topic_history = []
        @evaluation_results = []
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
          said, answered = @times[turn.number]
          [Message.new(:user, turn.user, timestamp: said, metadata: @user_metadata[turn.number]),
           Message.new(agent_role, turn.agent, timestamp: answered, metadata: @metadata[turn.number], turn: turn)]
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

      def tool_calls_for(name)
        find_tool_calls(name)
      end

      def current_topic
        topic_history.last
      end

      def in_topic?(name)
        current_topic == name.to_sym
      end

      def turns_in(topic)
        turns.select { |turn| turn.topic == topic.to_sym }
      end
      alias turns_for_topic turns_in

      # How many turns were spent in a topic.
      def turns_in_topic(topic)
        turns_in(topic).size
      end

      def last_agent_response
        last_turn&.agent_response
      end

      def last_user_message
        last_turn&.user
      end

      def empty?
        @turns.empty?
      end

      def soft_evaluations
        evaluation_results.select(&:soft?)
      end

      def hard_evaluations
        evaluation_results.select(&:hard?)
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
          @user_metadata[last_turn.number] = metadata
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
          found = outcome.fetch("evaluations", [])
          remember(found, soft: soft, turn: turn)
          settle(outcome) unless outcome["status"] == "failed"
          found
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
        @finished = true
        reset_agent
      end

      def finished?
        @finished == true
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

      # The role of the agent's messages.
      def agent_role
        :assistant
      end

      # One stretch at a time. The agent cannot make its own conversation go on.
      def stretch(&block)
        raise UsageError, "the conversation cannot go on from inside its agent or one of its blocks" if inside?

        @monitor.synchronize(&block)
      end

      # Whether the caller is called by a stretch itself, be it in a fiber of its own. Under a scheduler another fiber of
      # the thread can be here by right, and waits.
      def inside?
        return false unless @asker

        @monitor.mon_owned? || (@asker == Thread.current && !scheduled?)
      end

      def scheduled?
        Fiber.respond_to?(:current_scheduler) && !Fiber.current_scheduler.nil?
      end

      def start
        return if started?

        @definition = Definition.new(@instance, @example, @graph)
        wire = @definition.to_wire(self, @blocks)
        id = Conversation.next_id
        fields = { definition: wire }.merge(ExampleLocation.of(@example, Host.line.item))
        @id = id
        settle(ask("conversation.start", fields))
      rescue Host::Line::Refused => error
        @id = nil
        raise UsageError, error.message
      end

      def ask(action, fields)
        @asker = Thread.current
        outcome = Host.line.request(action, { conversation: @id }.merge!(fields), conversation: @id) { |asked| answer(asked) }
        learn(outcome["conversation"])
        outcome
      ensure
        @asker = nil
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
        when "errored" then raise outcome["fault"] == "agent" ? Error.new(message).extend(AgentFault) : Errored.new(message)
        else raise Error, message
        end
      end

      def remember(found, soft:, turn:)
        where = { turn_number: turn || last_turn&.number, topic: current_topic }
        @evaluation_results += found.map do |each|
          EvaluationResult.new(mode: soft ? :soft : :hard, type: each["type"]&.to_sym, description: each["description"],
                               passed: each["passed"], failure_message: each["message"],
                               metadata: where.merge(reasoning: each["reasoning"], score: each["score"]).compact)
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
  end
end
