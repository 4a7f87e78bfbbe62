# frozen_string_literal: true

# Conversations with agents in RSpec:
#
#     require "proctor/rspec"
#
#     RSpec.describe "Booking agent", type: :agent do
#       agent { ->(messages) { "You said: #{messages.last[:content]}" } }
#
#       it "answers" do
#         user.says "Hello"
#         expect(agent).to match(/Hello/)
#       end
#     end
#
# The engine, the judge and the simulated user are the host's; see docs/rspec.md.

require "rspec/core"
require_relative "version" unless defined?(Proctor::VERSION)
require_relative "host"
if defined?(RSpec::Agents) && !RSpec::Agents.const_defined?(:STAND_IN, false)
  raise Proctor::UsageError, "the gem rspec-agents is loaded already; both it and proctor/rspec define `agent`, `user` and `expect` in groups of " \
                             "`type: :agent`: take one of them out (docs/moving-from-rspec-agents.md)"
end
require_relative "rspec/configuration"
require_relative "observers"
require_relative "rspec_integration"
require_relative "rspec/agent"
require_relative "rspec/values"
require_relative "rspec/chat"
require_relative "rspec/conversation"
require_relative "rspec/definition"
require_relative "rspec/group_words"
require_relative "rspec/matchers"
require_relative "rspec/example_words"
require_relative "rspec/run_reporter"
require_relative "rspec/install"

# The name under which the design of observers knows this library; a gem of that name has precedence.
RspecAgents = Proctor unless defined?(RspecAgents)
