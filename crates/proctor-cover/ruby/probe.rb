# frozen_string_literal: true

# What instrumented code calls: remembers which places were reached and what conditions answered.
module ProctorProbe
  # Raised when an execution goes on for too long; not a StandardError, so that code under observation does not rescue it.
  class Limit < Exception; end # rubocop:disable Lint/InheritException

  # Raised when code does what observation does not allow.
  class Blocked < Exception; end # rubocop:disable Lint/InheritException

  STEPS = 60_000
  @seen = {}
  @steps = 0

  class << self
    attr_reader :seen

    def c(id, value)
      @seen[(id << 1) + (value ? 1 : 0)] = true
      raise Limit, "too many steps" if (@steps += 1) > STEPS

      value
    end

    def h(id)
      @seen[(id << 1) + 1] = true
      raise Limit, "too many steps" if (@steps += 1) > STEPS
    end

    def v(id, value)
      @seen[(id << 1) + 1] = true
      value
    end

    def start
      @seen = {}
      @steps = 0
    end
  end
end
