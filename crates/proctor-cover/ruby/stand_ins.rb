# frozen_string_literal: true

require_relative "code"
require_relative "names"
require_relative "factories"

# Code in which objects are made: what stand-ins are called, and how what is made in several steps becomes variables of an example.
module ProctorStandIns
  # What is made in several steps in a spec: a stand-in, an answer of another machine, a stored object, an object after some calls.
  OPENING = /instance_double\(|http_response\(|#{ProctorFactories::CALL}|\b[A-Z][\w:]*\.create!\(?/.freeze
  STORED = /\A[A-Z][\w:]*\.create!/.freeze
  # Further objects of the same kind.
  FURTHER = %w[other third fourth fifth sixth].freeze
  CHANGED = ".tap { |it| "
  # Names that an example cannot use for a variable.
  TAKEN = %w[class module end def self in do if then case when begin not and or argument double expect alias next nil true false return super
             yield rescue ensure unless until while for break redo retry else elsif undef defined it subject described_class example
             allow receive proc lambda loop raise puts print format test object_id hash method send].freeze

  module_function

  # A stand-in for something of this name that answers so: {name => code}.
  def code(name, answers, classes = [])
    pairs = answers.map { |asked, value| asked.match?(/\A\w+[?!]?\z/) ? "#{asked}: #{value}" : "#{asked.inspect}: #{value}" }
    "instance_double(#{[type(name, answers.keys, classes), *pairs].join(', ')})"
  end

  # A class that knows these methods, or a name that no class has.
  def type(name, asked, classes)
    return name if name.to_s.include?("::") && knows?(name, asked)

    camel = name.to_s.delete_prefix("@").sub(/[?!]\z/, "").split("_").reject(&:empty?).map { |word| word[0].upcase + word[1..] }.join
    camel = "Value" unless camel.match?(/\A[A-Z][A-Za-z0-9]*\z/)
    own = classes.select { |klass| klass.split("::").last.end_with?(camel) && knows?(klass, asked) }
    own = own.min_by { |klass| [klass.split("::").last == camel ? 0 : 1, klass.length] }
    return own if own
    return camel.inspect unless Object.const_defined?(camel)

    knows?(camel, asked) ? camel : "#{camel}Like".inspect
  end

  def knows?(name, asked)
    mod = ProctorScope.known(name)
    mod.is_a?(Class) && asked.all? { |method| mod.method_defined?(method) }
  end

  # Words for a status, as the protocol has them.
  def phrase(type) = type.name.split("::").last.delete_prefix("HTTP").gsub(/([a-z])([A-Z])/, '\1 \2').then { |words| words == "OK" ? "OK" : words }

  # Whether an example must make something in several steps.
  def steps?(code) = code.match?(OPENING) || code.include?(CHANGED)

  # Codes with what is made in several steps taken out, and {variable => code}, what others need first. `avoid` are names in use.
  def hoisted(codes, avoid)
    locals = {}
    changed = codes.map { |code| code && taken_out(code, locals, avoid) }
    [changed, locals]
  end

  def taken_out(code, locals, avoid)
    return taken_changed(code, locals, avoid) if changed?(code)

    from = code =~ OPENING
    return code unless from

    inner = from + $~[0].length
    return code[0...from] + kept($~[0], locals, avoid) + taken_out(code[inner..], locals, avoid) unless $~[0].end_with?("(")

    to = ProctorCode.closing(code, inner)
    return code unless to

    made = code[from...inner] + taken_out(code[inner...to], locals, avoid) + ")"
    code[0...from] + kept(made, locals, avoid) + taken_out(code[to + 1..], locals, avoid)
  end

  # The object after one more call, as an expression.
  def followed_by(code, call) = changed?(code) ? "#{code.delete_suffix(' }')}; #{call} }" : "#{code}#{CHANGED}#{call} }"

  # The whole is an object after some calls.
  def changed?(code)
    place = code.index(CHANGED)
    place && ProctorCode.closing(code, place + CHANGED.length) == code.length - 1
  end

  def taken_changed(code, locals, avoid)
    base, calls = code.delete_suffix(" }").split(CHANGED, 2)
    # A stored object is changed itself; what it is made with comes before it.
    opening = base[STORED]
    base = opening ? opening + taken_out(base.delete_prefix(opening), locals, avoid) : taken_out(base, locals, avoid)
    kept(base + CHANGED + nested_calls(calls, locals, avoid) + " }", locals, avoid)
  end

  # What calls are given is made before; what belongs to the object itself is made by the call.
  def nested_calls(calls, locals, avoid) = taken_out(calls, locals, avoid)

  # A call with what its variables hold where they are used, so that it can be changed. What is made last uses what was made before.
  def inlined(attempt)
    return attempt unless attempt.locals

    # Rows that nobody names are only there.
    parts = [attempt.receiver, *attempt.args, *attempt.keys.values, *(attempt.stubs || {}).values, *attempt.locals.values]
    idle = attempt.locals.select { |name, made| made.match?(STORED) && parts.none? { |code| code.to_s.match?(/(?<![:\w"@.])#{name}(?![\w:"])/) } }
    put = ->(code) { attempt.locals.to_a.reverse.inject(code) { |text, (name, made)| text.gsub(/(?<![:\w"@.])#{name}(?![\w:"])/) { made } } }
    ProctorCase.new(**attempt.to_h, receiver: put[attempt.receiver], args: attempt.args.map(&put), keys: attempt.keys.transform_values(&put),
                    stubs: attempt.stubs&.transform_values(&put), locals: nil, before: [attempt.before, *idle.values.map(&put)].compact.join("; ").then { |text| text.empty? ? nil : text })
  end

  # The variable that holds it; the same thing twice is two things.
  def kept(made, locals, avoid)
    name = variable(made, locals, avoid)
    locals[name] = made
    name
  end

  def variable(made, locals, avoid)
    word = made.start_with?("http_response") ? "Response" : made[/\A#{ProctorFactories::CALL}:(\w+)/, 1] || made[/\A(?:instance_double\()?"?([A-Z][\w:]*)/, 1] || "Object"
    word = word.split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
    word = "given_#{word}" if TAKEN.include?(word) || (avoid.include?(word) && !made.include?(CHANGED) && !made.match?(STORED))
    name = word
    name = FURTHER.map { |prefix| "#{prefix}_#{word}" }.find { |one| !locals.key?(one) } || word if locals.key?(word) && made.match?(STORED)
    number = 1
    name = "#{word}_#{number += 1}" while locals.key?(name)
    name
  end

  # The lines of a spec that make what a variable holds.
  def lines(name, code)
    if code.start_with?("instance_double(") then stand_in(name, code)
    elsif code.start_with?("http_response(") then response(name, code)
    elsif changed?(code)
      base, calls = code.delete_suffix(" }").split(CHANGED, 2)
      ["#{name} = #{base}", *statements(calls).map { |call| call.sub(/\Ait(?=[.\[ ])/, name) }]
    else ["#{name} = #{code}"]
    end
  end

  def stand_in(name, code)
    type, *pairs = parts(code, "instance_double(".length)
    special, plain = pairs.partition { |pair| pair.match?(/\A[^ ]+ (?:yielding|raising)\b/) }
    ["#{name} = instance_double(#{[type, *plain].join(', ')})"] + special.map do |pair|
      asked, answer = pair.split(": ", 2)
      "allow(#{name}).to receive(:#{asked.delete(':')}).#{told(answer)}"
    end
  end

  def response(name, code)
    type, status, body = parts(code, "http_response(".length)
    ["#{name} = #{type}.new(\"1.1\", #{status}, #{phrase(Object.const_get(type)).inspect})", "allow(#{name}).to receive(:body).and_return(#{body})"]
  end

  # How RSpec is told what a stand-in does.
  def told(answer)
    case answer
    when "yielding" then "and_yield"
    when /\Ayielding\(/ then "and_yield#{answer.delete_prefix('yielding')}"
    when /\Araising\(/ then "and_raise#{answer.delete_prefix('raising')}"
    else "and_return(#{answer})"
    end
  end

  def parts(code, place) = ProctorCode.arguments(code, place).map { |from, to| code[from...to] }

  # Calls between semicolons.
  def statements(calls)
    found = []
    from = 0
    ProctorCode.each_outer(calls, 0) do |at, letter, depth|
      next unless depth == 1 && letter == ";"

      found << calls[from...at].strip
      from = at + 1
    end
    found << calls[from..].strip
    found.reject(&:empty?)
  end

  # Code with one answer of one stand-in exchanged for this error: how it goes when a collaborator fails. Who the error is
  # named after fails first, then who is told to do something.
  def failing(code, error)
    found = []
    place = 0
    while (from = code.index("instance_double(", place))
      place = from + "instance_double(".length
      (type_from, type_to), *pairs = ProctorCode.arguments(code, place)
      own = error.start_with?("#{code[type_from...type_to]}::")
      pairs.each do |start, stop|
        key = code[start...stop][/\A[^ ]+: /]
        next unless key

        rank = own ? 0 : ProctorNames.order?(key.delete(": ")) ? 1 : 2
        found << [rank, "#{code[0...start]}#{key}raising(#{error}, \"went wrong\")#{code[stop..]}"]
      end
    end
    found.sort_by.with_index { |(rank, _), index| [rank, index] }.map(&:last)
  end
end
