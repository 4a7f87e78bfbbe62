# frozen_string_literal: true

module Proctor
  module RspecAgentsCompat
    # `Llm::Anthropic.new(model:, api_key:)`: a model of the host. The key stays in the environment.
    class AnthropicModel
      DEFAULT = "claude-sonnet-4-5"

      def initialize(model: nil, api_key: nil)
        @model = model || DEFAULT
        @key_env = name_of(api_key) if api_key
      end

      # @private
      def model_fields(_part = nil, _criteria = nil)
        { "anthropic" => @model, "key_env" => @key_env }.compact
      end

      private

      # A key must not be written down anywhere; the host reads the variable that it comes from.
      def name_of(api_key)
        ENV.key(api_key) || raise(UsageError, "the key of a model comes from a variable of the environment, and none has this value: " \
                                              "set ANTHROPIC_API_KEY and leave `api_key:` out")
      end
    end

    # `Llm::Mock`: what judge and simulated user say without a model, as scripts for the host. A conversation reads it
    # when it begins, from its beginning. A question that was given no answer is answered by nobody: the example is
    # inconclusive, where the gem takes it for satisfied.
    class MockModel
      # Questions that name what they are about. A topic is chosen among names, which is another kind of answer.
      KINDS = %w[criterion grounded forbidden_claims intent goal].freeze
      # Matches nothing: a script may not be empty, and without one a model of proctor.toml would be asked.
      NOTHING = "[^\\s\\S]"

      attr_reader :user_responses, :evaluation_results

      def initialize
        reset!
      end

      # What the judge answers to questions that name this: a symbol is a name (of a criterion, a claim, an intent) and a
      # whole word, so that :lent does not answer for "silently"; a text may be any part of the question.
      def set_evaluation(criterion, satisfied, reasoning = nil)
        @names[criterion.to_s.downcase] = criterion.is_a?(Symbol)
        @evaluation_results[criterion.to_s.downcase] =
          { satisfied: satisfied ? true : false, reasoning: reasoning || "set_evaluation(#{criterion.inspect}, #{satisfied})" }
      end

      # What the simulated user says next.
      def queue_user_response(text)
        @user_responses << text.to_s
      end

      def reset!
        @user_responses = []
        @evaluation_results = {}
        @names = {}
      end

      def available?
        true
      end

      def model_info
        "scripted"
      end

      INSTEAD = {
        queue_topic_classification: "give topics `triggers`, or the judge rules by what was said: Proctor.configure " \
                                    "{ |c| c.judge = { verdicts: [{ about: \"topic\", seen: \"booked\", topic: \"booking\", because: \"…\" }] } }",
        set_default_response: "the host writes the prompts; answer questions with set_evaluation",
        **%i[complete calls last_prompt all_prompts].to_h do |name|
          [name, "the host asks the models; what the judge answered, and why, is in `proctor show last`"]
        end
      }.freeze
      INSTEAD.each do |name, instead|
        define_method(name) { |*, **| raise UsageError, "#{name} of the mock model has no counterpart in Proctor: #{instead}" }
      end

      # @private
      def model_fields(part, criteria)
        part == "simulator" ? { "script" => script } : { "verdicts" => verdicts(criteria) }
      end

      private

      def script
        @user_responses.empty? ? [{ "when" => NOTHING, "say" => "nothing was queued" }] : @user_responses.dup
      end

      def verdicts(criteria)
        rules = @evaluation_results.flat_map do |name, result|
          word = @names[name] && name.match?(/\A\w+\z/) ? "\\b#{name}\\b" : literal(name)
          text = criteria.find { |key, _| key.to_s.downcase == name }&.last&.text
          asked = "(?i)#{[word, text && literal(text)].compact.join("|")}"
          KINDS.map { |kind| { "about" => kind, "asked" => asked, "satisfied" => result[:satisfied], "because" => result[:reasoning] } }
        end
        rules.empty? ? [{ "about" => "criterion", "asked" => NOTHING, "satisfied" => false, "because" => "nothing was set" }] : rules
      end

      # A pattern of the host that matches this text.
      def literal(text)
        text.gsub(/[.*+?()\[\]{}|^$\\]/) { |special| "\\#{special}" }
      end
    end
  end
end
