# frozen_string_literal: true

# What a comparison would have needed to answer otherwise: pairs of a value that was there and values to have instead.
# Pure: looks at values, changes nothing. Values that only code can make are `Code`.
class ProctorWish
  # An expression rather than a value.
  Code = Struct.new(:text)

  FILL = ["x", 1, true].freeze
  LOOKUP = %i[key? has_key? [] fetch delete dig].freeze
  MATCH = %i[=~ !~ match match? scan check skip scan_until skip_until check_until exist? sub gsub sub! gsub! split index slice slice!
             partition rpartition].freeze
  EQUAL = %i[== != eql? equal? casecmp?].freeze
  ORDER = %i[< > <= >= <=>].freeze
  CLASS = %i[is_a? kind_of? instance_of?].freeze

  def initialize(values, owner)
    @values = values
    @owner = owner
  end

  # [[old, [new, ...]], ...] for a comparison.
  def for(operator, left, right)
    pairs =
      if EQUAL.include?(operator) then [[left, near(right)], [right, near(left)]]
      elsif ORDER.include?(operator) then [[left, around(right)], [right, around(left)]]
      elsif operator == :when then [[left, fitting(right)]]
      elsif operator == :in then right.flat_map { |pattern| resembling(left, pattern) }
      elsif operator == :=== then [[right, fitting(left)]]
      elsif CLASS.include?(operator) then [[left, fitting(right)]]
      elsif LOOKUP.include?(operator) then lookup(left, right)
      elsif MATCH.include?(operator) then matching(left, right)
      else other(operator, left, right)
      end
    pairs.reject { |old, list| Code === old || list.empty? }
  end

  # For a condition that was only ever true, or only ever false.
  def truth(value)
    [[value, value ? [false, nil] : [true, "x", 1]]]
  end

  # For an error that says what was missing.
  def error(error)
    case error
    when KeyError then error.receiver.is_a?(Hash) ? [[error.receiver, with_key(error.receiver, error.key)]] : []
    when NoMethodError then missing(error)
    else []
    end
  rescue ArgumentError, NoMethodError
    []
  end

  private

  def missing(error)
    owner = error.receiver
    return [] if Module === owner

    [[owner, codes(@values.responding([error.name.to_s], @owner))]]
  end

  def codes(list) = list.first(6).map { |text| Code.new(text) }

  def near(value) = value.is_a?(Integer) ? [value, value + 1] : [value]

  def around(value)
    case value
    when Integer then [value, value - 1, value + 1]
    when Float then [value, value - 0.5, value + 0.5]
    when Numeric then [value]
    when String then [value, "#{value}a", value[0...-1].to_s]
    when Time then moments(value)
    else defined?(Date) && value.instance_of?(Date) ? days(value) : [value]
    end
  end

  # Days from now within which a moment comes from the clock: as a value it would be another one tomorrow.
  NEAR = 400

  # The same moment, a day before and a day after, in whole seconds; for the clock's, long ago and far away.
  def moments(time)
    seconds = (time.to_i - Time.now.to_i).abs < NEAR * 86_400 ? [0, 4_102_444_800] : [0, -86_400, 86_400].map { |more| time.to_i + more }
    seconds.map { |at| Code.new("Time.at(#{at}, in: \"UTC\")") }
  end

  def days(date)
    (date - Date.today).abs < NEAR ? [Date.new(2001, 1, 1), Date.new(2100, 1, 1)] : [date, date - 1, date + 1]
  end

  # What a pattern of a `case` accepts.
  def fitting(pattern)
    case pattern
    when Regexp then @values.matching(pattern).first(6)
    when Module then codes(@values.of_type(pattern.name.to_s, @owner).first(4))
    when Range then bounds(pattern)
    when Array then pattern.first(8).flat_map { |item| item.is_a?(Module) || item.is_a?(Regexp) ? fitting(item) : [item] }
    when Proc then []
    else near(pattern)
    end
  end

  # What would make a value like one that a pattern accepts, part by part: parts come from different places.
  def resembling(value, wanted)
    return [[value, [wanted]]] unless value.is_a?(Array) && wanted.is_a?(Array)

    pairs = value.zip(wanted).select { |mine, other| mine != other && !other.nil? && mine.instance_of?(other.class) }.map { |mine, other| [mine, [other]] }
    more = wanted.drop(value.length)
    # What is missing may come from the same text as the last part.
    last = value.last
    pairs << [last, more.first(1).flat_map { |part| ["#{wanted[value.length - 1]}/#{part}", "#{last}/#{part}"] }] if more.any? && last.is_a?(String)
    pairs + [[value, [wanted]]]
  end

  def bounds(range)
    first = range.begin
    last = range.end
    list = [first, last]
    list += [first.is_a?(Integer) ? first - 1 : nil, last.is_a?(Integer) ? last + 1 : nil]
    list.compact
  end

  def lookup(left, right)
    case left
    when Hash
      adding = left.key?(right) ? [left.reject { |key, _| key == right }, *other_values(left, right)] : with_key(left, right)
      adding = [] if left.length > 12
      [[left, adding], [right, left.keys.first(10)], *instead(left, left.keys, right)]
    when Array
      # Asked by a name, it should have been a table.
      return [[left, with_key({}, right)], [right, left.grep(right.class).first(6)]] if right.is_a?(Symbol) || right.is_a?(String)
      return [[right, left.grep(right.class).first(6)]] unless right.is_a?(Integer)

      [[left, right >= left.length && right < 20 ? [left + ["x"] * (right + 1 - left.length), left + [1] * (right + 1 - left.length)] : []]]
    when String then matching(left, right)
    else []
    end
  end

  # What is in a collection may be there because a call put it there: it puts the other thing there instead.
  def instead(left, parts, wanted)
    return [] if left.include?(wanted)

    parts.first(3).filter_map { |part| [part, [wanted]] if part.instance_of?(wanted.class) && (String === part || Symbol === part || Integer === part) }
  end

  # The same table with something else under a key.
  def other_values(hash, key)
    values =
      case hash[key]
      when nil, false then FILL + [true]
      when true then [false]
      when String then [nil, "x"]
      when Integer then [hash[key] + 1, 0]
      when Symbol, Array, Hash then [nil]
      else []
      end
    values.uniq.map { |value| hash.merge(key => value) }
  end

  def with_key(hash, key) = FILL.map { |value| hash.merge(key => value) }

  def matching(left, right)
    return matching(right, left) if left.is_a?(Regexp)
    return scanning(left, right) if left.is_a?(ProctorProbe::Scan)
    return [] unless left.is_a?(String) || left.is_a?(Symbol)

    case right
    when Regexp
      texts = @values.matching(right).first(8)
      [[left, left.is_a?(Symbol) ? texts.first(3).map(&:to_sym) : texts + texts.first(2).flat_map { |text| [left + text, text + left] }]]
    when String then [[left, ["#{left}#{right}#{left}", right]]]
    else []
    end
  end

  # The text so far stays, what comes next is what the scanner asks for.
  def scanning(scan, pattern)
    texts = pattern.is_a?(Regexp) ? @values.matching(pattern).first(6) : [pattern.to_s]
    head = scan.text[0...scan.place].to_s
    tail = scan.text[scan.place..].to_s
    [[scan.text, texts.flat_map { |text| [head + text + tail, head + text] }]]
  end

  def other(operator, left, right)
    case operator
    when :start_with?, :delete_prefix then right.is_a?(String) ? [[left, ["#{right}#{left}", right]]] : matching(left, right)
    when :end_with?, :delete_suffix then [[left, ["#{left}#{right}", right]]]
    when :include?, :member?, :cover? then membership(left, right)
    when :respond_to? then [[left, codes(@values.responding([right.to_s], @owner))]]
    when :send, :public_send, :method_defined? then [[right, methods_of(left)]]
    when :parse then left.respond_to?(:name) && left.name == "JSON" && right.is_a?(String) ? [[right, ["{}", "[]", '{"a":1}']]] : []
    when :const_get then left.is_a?(Module) ? [[right, left.constants(false).first(6)]] : []
    else unary(operator, left)
    end
  end

  def methods_of(object)
    names = object.is_a?(Module) ? object.instance_methods(false) : object.class.instance_methods(false)
    names.first(5)
  rescue NoMethodError
    []
  end

  def membership(left, right)
    case left
    when String then [[left, ["#{left}#{right}"]]]
    when Range then [[right, bounds(left)]]
    when Hash then lookup(left, right)
    when Array then [[right, left.first(8)], [left, [left + [right], left - [right]]], *instead(left, left, right)]
    else left.respond_to?(:first) ? [[right, Array(left.first(6))]] : []
    end
  rescue StandardError
    []
  end

  def unary(operator, value)
    list =
      case operator
      when :nil? then value.nil? ? ["a", 1] : [nil]
      when :empty? then opposite(value)
      when :zero?, :positive?, :negative? then [0, 1, -1]
      when :even?, :odd? then value.is_a?(Integer) ? [value + 1] : []
      when :any?, :none? then value.is_a?(Hash) ? [{ a: 1 }, {}] : [[1], [nil], []]
      when :eos? then return value.is_a?(ProctorProbe::Scan) ? [[value.text, ["#{value.text} ", "#{value.text}a", value.text[0...value.place].to_s]]] : []
      else []
      end
    [[value, list]]
  end

  def opposite(value)
    case value
    when String then value.empty? ? ["a", "hello world"] : [""]
    when Array then value.empty? ? [[1], ["a", "b"]] : [[]]
    when Hash then value.empty? ? [{ a: 1 }, { "a" => 1 }] : [{}]
    else []
    end
  end
end
