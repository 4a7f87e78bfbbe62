# frozen_string_literal: true

# The agent under test. Put yours in its place: anything with `chat(messages)`, `call(messages)`, or `ask(text)` and `messages` (a chat of
# RubyLLM, for example).
class Agent
  def chat(messages, on_tool_call:)
    return "Good evening! How can I help?" unless messages.last[:content].include?("table")

    free = free_tables(guests: 4)
    on_tool_call.call(name: :free_tables, arguments: { guests: 4 }, result: free)
    "There is a table at #{free.first}."
  end

  def free_tables(guests:)
    ["19:00", "20:30"]
  end
end
