# frozen_string_literal: true

# `eql?` of a class, as Ruby's tables call it: how often depends on how keys happen to fall together, which nobody can repeat.
module ProctorChance
  @asked = false

  class << self
    # Whether `eql?` itself is under observation.
    attr_accessor :asked
  end

  def eql?(other)
    ProctorChance.asked ? super : ProctorProbe.pause { super }
  end
end

# What instrumented code calls: remembers which places were reached, what conditions answered, and what was compared with what.
module ProctorProbe
  # Raised when an execution goes on for too long; not a StandardError, so that code under observation does not rescue it.
  class Limit < Exception; end # rubocop:disable Lint/InheritException

  # Raised when code does what observation does not allow.
  class Blocked < Exception; end # rubocop:disable Lint/InheritException

  # A text that is being scanned, and how far.
  Scan = Struct.new(:text, :place)

  STEPS = 60_000
  NOTES = 8
  @seen = {}
  # While a project is loaded nothing is counted.
  @steps = -(1 << 60)
  @answers = {}
  @left = {}
  @notes = []
  @count = Hash.new(0)

  class << self
    # Probe answers; the last value of each condition; comparisons as [number, operator, left, right].
    attr_reader :seen, :answers, :notes, :steps

    def c(id, value)
      @seen[(id << 1) + (value ? 1 : 0)] = true
      @answers[id] = value
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

    # The left side of a comparison.
    def l(id, operator, value)
      @left[id] = [operator, kept(value)] if @count[id] < NOTES
      value
    end

    # The right side.
    def r(id, value)
      add(id, @left[id][0], @left[id][1], kept(value)) if @count[id] < NOTES && @left[id]
      value
    end

    # A list of right sides.
    def w(id, value)
      add(id, :when, @left[id][1], value) if @count[id] < NOTES && @left[id]
      value
    end

    # What a `case … in` looks at, and values that its patterns accept.
    def i(id, accepted, value)
      add(id, :in, kept(value), accepted) if @count[id] < NOTES
      value
    end

    # A literal pattern and what it is asked about.
    def p(id, pattern, value)
      add(id, :=~, kept(value), pattern) if @count[id] < NOTES
      value
    end

    # A question without an argument.
    def u(id, operator, value)
      add(id, operator, kept(value), nil) if @count[id] < NOTES
      value
    end

    def start
      @seen = {}
      @answers = {}
      @left = {}
      @notes = []
      @count.clear
      @steps = 0
    end

    # Nothing is remembered meanwhile, nor counted.
    def pause
      before = [@seen, @answers, @left, @notes, @count, @steps]
      start
      @count = Hash.new(0)
      yield
    ensure
      @seen, @answers, @left, @notes, @count, @steps = before
    end

    private

    def add(id, operator, left, right)
      @count[id] += 1 unless operator == :when && @count[id].positive? && @notes.length < 60
      @notes << [id, operator, left, right] if @notes.length < 300
    end

    # Texts change while code runs; what is noted is what they were.
    def kept(value)
      return value.dup if String === value && String.equal?(value.class) && value.length < 400

      defined?(StringScanner) && StringScanner === value ? Scan.new(value.string.dup, value.pos) : value
    end
  end
end
