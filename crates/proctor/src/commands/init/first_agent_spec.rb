# frozen_string_literal: true

# Conversations with the agent in agent.rb. `proctor run` conducts them; nothing here needs a key or a network.
require "proctor/rspec"
require_relative "../agent"

RSpec.describe "Table reservations", type: :agent do
  agent Agent

  it "greets" do
    user.says "Hello"
    expect(agent).to match(/good evening/i)
    expect(agent).not_to call_tool(:free_tables)
  end

  it "offers a table that is free" do
    user.says "Hello"
    user.says "Is there a table for four tonight?"
    expect(agent).to call_tool(:free_tables).with(guests: 4)
    expect(agent).to match(/19:00/)
  end
end
