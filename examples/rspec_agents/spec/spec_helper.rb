# frozen_string_literal: true

require "proctor/rspec"
require_relative "../lib/venue_agent"

Proctor.configure do |config|
  # Scripts in place of models, so that nothing here needs a key. With one, replace both by
  #   config.model = { anthropic: "claude-sonnet-4-5" }
  config.judge = { verdicts: [
    { about: "goal", seen: "Your reference is", because: "the venue is booked and the user has a reference" },
    { about: "goal", satisfied: false, because: "nothing is booked" },
    { about: "grounded", seen: "search_venues", because: "name and price are those of search_venues" },
    { about: "forbidden_claims", because: "it claims nothing of the kind" },
    { about: "intent", asked: "confirm", seen: "Shall I book it", because: "it asks before it books" },
    { about: "criterion", asked: "missing", seen: "For how many|Which city", because: "it asks for one thing only" },
    { about: "criterion", asked: "polite", because: "friendly, if a little dry" },
    { about: "topic", seen: "discount", topic: "offering", because: "they talk about the price" },
    { about: "topic", topic: "gathering", because: "nothing is offered yet" }
  ] }
  config.simulator = { script: [
    "Hello, I need a room",
    { when: "Which city", say: "In Berlin" },
    { when: "how many people", say: "For 50 people" },
    { when: "Shall I book it", say: ["Is there a discount?", "Yes, please"] },
    { when: "stays at", say: "All right, book it" }
  ] }
end
