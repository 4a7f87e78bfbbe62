# frozen_string_literal: true

module Proctor
  # What goes wrong in this library, rather than in the code under test.
  class Error < StandardError; end

  # The host cannot be started, or is gone.
  class HostUnavailable < Error; end

  # The spec asks for something that makes no sense: an unknown topic, a graph that comes too late.
  class UsageError < Error; end

  # A check could not be carried out: it says nothing for or against the agent.
  class Errored < Error
    def proctor_outcome
      { status: "errored", fault: "harness" }
    end
  end

  # A spec looks at tool calls that the agent did not report.
  class NotReported < Errored; end

  # Nobody can say whether the agent did well: the judge or the simulated user failed.
  class Inconclusive < Error
    attr_reader :fault

    def initialize(message, fault)
      super(message)
      @fault = fault
    end

    # What becomes of the example.
    def proctor_outcome
      { status: "inconclusive", fault: @fault }
    end
  end

  # Marks an error of the agent's adapter, which stays what it is.
  module AgentFault
    def proctor_outcome
      { fault: "agent" }
    end
  end
end
