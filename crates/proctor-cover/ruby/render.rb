# frozen_string_literal: true

require "pathname"

# Values as Ruby code, and as RSpec matchers where code alone does not say it.
class ProctorRender
  LIMIT = 700
  # What an object answers to these is another number in every process.
  BY_CHANCE = %w[hash object_id __id__].freeze
  ADDRESS = /0x\h{6,}/.freeze

  # Stored objects that have a name in the example: [[name, object], ...].
  attr_writer :known

  def initialize(root, readers, queries = {})
    @root = root
    # Where we happen to be, and the folders around it: nothing that a spec may say.
    around = Pathname.new(File.dirname(root)).ascend.map(&:to_s).reject { |path| path == "/" }
    @places = /#{Regexp.escape(around.first)}|(?:#{around.drop(1).map { |path| Regexp.escape(path) }.join('|')})(?=["\\]|\z)/
    @readers = readers
    @queries = queries
    @unusable = {}
  end

  # Code for an equal value, or nil.
  def code(value, depth = 0)
    return nil if depth > 6 || !(Object === value)

    text = plain(value, depth)
    text if text && text.length <= LIMIT && !text.match?(ADDRESS) && !text.match?(@places)
  rescue StandardError
    nil
  end

  # [matcher code, words] for what a call returned.
  def matcher(value, receiver = nil)
    return rows(value.to_a) if ProctorRecords.relation?(value)
    return ["eq(#{known_record(value)})", "returns the #{value.model_name.human.downcase}"] if ProctorRecords.record?(value) && known_record(value) && !value.equal?(receiver)

    return ["be(RECEIVER)", "returns itself"] if !nil.equal?(receiver) && value.equal?(receiver) && !immediate?(value)
    return nil unless Object === value

    simple(value) || exact(value) || object(value) || kind(value)
  rescue StandardError
    nil
  end

  # Stored objects that a question finds: by the names that they have in the example.
  def rows(list)
    names = list.map { |record| known_record(record) }
    return ["be_empty", "returns nothing"] if list.empty?
    return exact(list) || object(list) || kind(list) unless names.all?

    ["contain_exactly(#{names.join(', ')})", "returns #{ProctorRecords.counted(list.first.class, list.length)}"]
  end

  # Code for the readable state of an object: {reader => code}.
  def attributes(value)
    return record_attributes(value) if ProctorRecords.record?(value)

    names = readable(value)
    found = {}
    names.each do |name|
      text = begin
        code(value.public_send(name))
      rescue StandardError, NotImplementedError
        nil
      end
      found[name] = text if text && text.length < 200
      break if found.length >= 6
    end
    found
  end

  # What a stored object holds besides defaults.
  def record_attributes(value)
    defaults = value.class.column_defaults
    held = ProctorRecords.attributes(value)
    told = held.reject { |name, part| defaults[name] == part || part.nil? }
    (told.empty? ? held : told).transform_values { |part| code(part) }.compact.reject { |_, text| text.length >= 200 }.first(ProctorRecords::NAMED).to_h
  end

  # What an object's own questions answer: {method => code}, at most so many.
  def answers(value, most)
    found = {}
    return found if most < 1

    asked(value).each do |name|
      text = answer(value, name)
      found[name] = text if text && text.length < 120
      break if found.length >= most
    end
    found
  end

  # The questions that a class or module answers itself.
  def queries_of(mod) = @queries[mod.name] || []

  private

  def asked(value)
    names = value.class.ancestors.take_while { |mod| mod != Object }.flat_map { |mod| @queries[mod.name] || [] }.uniq
    # Who is told to do something is not asked.
    (names - BY_CHANCE).reject { |name| ProctorNames.order?(name) || @unusable[[value.class, name]] }.select { |name| value.respond_to?(name) && zero?(value, name) }
  rescue NoMethodError
    []
  end

  def answer(value, name)
    code(value.public_send(name))
  rescue StandardError, NotImplementedError
    nil
  rescue ProctorProbe::Limit, ProctorProbe::Blocked, SystemStackError, NoMemoryError, SystemExit
    @unusable[[value.class, name]] = true
    nil
  end

  def immediate?(value)
    case value
    when nil, true, false, Symbol, Numeric, String then true
    else false
    end
  end

  def plain(value, depth)
    case value
    when nil, true, false, Integer then value.inspect
    when Float then value.finite? ? value.inspect : nil
    when Symbol then value.inspect
    when String then string(value)
    when Array then array(value, depth)
    when Hash then hash(value, depth)
    when Range then range(value, depth)
    when Regexp then value.inspect
    when Rational then "Rational(#{value.numerator}, #{value.denominator})"
    when Complex then "Complex(#{value.real.inspect}, #{value.imaginary.inspect})"
    when Module then named(value)
    else special(value, depth)
    end
  end

  def special(value, depth)
    return known_record(value) if ProctorRecords.record?(value)
    return code(value.to_a, depth) if ProctorRecords.relation?(value)
    return "BigDecimal(#{value.to_s('F').sub(/\.0\z/, '').inspect})" if defined?(BigDecimal) && value.instance_of?(BigDecimal) && value.finite?

    if defined?(Set) && value.instance_of?(Set)
      parts = value.map { |item| code(item, depth + 1) }
      return parts.all? ? "Set[#{parts.join(', ')}]" : nil
    end
    if value.is_a?(Struct) && named(value.class) && value.class.method_defined?(:==)
      parts = value.to_a.map { |item| code(item, depth + 1) }
      return nil unless parts.all?

      keys = value.class.respond_to?(:keyword_init?) && value.class.keyword_init?
      parts = value.members.zip(parts).map { |name, part| "#{name}: #{part}" } if keys
      built = "#{named(value.class)}.new(#{parts.join(', ')})"
      return begin
        eval(built) == value ? built : nil
      rescue StandardError
        nil
      end
    end
    if defined?(Date) && value.instance_of?(Date)
      return "Date.new(#{value.year}, #{value.month}, #{value.day})"
    end
    return "Time.at(#{value.to_r.numerator}, in: \"UTC\")" if value.instance_of?(Time) && value.to_r.denominator == 1

    nil
  end

  # The name of a stored object in the example.
  def known_record(value)
    (@known || []).find { |_, one| one.equal?(value) || (value.persisted? && one == value) }&.first
  end

  def string(value)
    text = value.dup.force_encoding(value.encoding)
    return text.inspect if text.encoding == Encoding::UTF_8 || text.ascii_only?

    return "#{text.inspect}.b" if text.encoding == Encoding::BINARY
    return nil unless text.valid_encoding?

    "#{text.encode(Encoding::UTF_8).inspect}.encode(#{text.encoding.name.inspect})"
  end

  def array(value, depth)
    return nil if value.length > 60

    parts = value.map { |item| code(item, depth + 1) }
    parts.all? ? "[#{parts.join(', ')}]" : nil
  end

  def hash(value, depth)
    return nil if value.length > 40

    parts = value.map do |key, item|
      left = code(key, depth + 1)
      right = code(item, depth + 1)
      return nil unless left && right

      key.is_a?(Symbol) && key.match?(/\A[a-z_]\w*[?!]?\z/i) ? "#{key}: #{right}" : "#{left} => #{right}"
    end
    parts.empty? ? "{}" : "{ #{parts.join(', ')} }"
  end

  def range(value, depth)
    ends = [value.begin, value.end].map { |side| side.nil? ? "" : code(side, depth + 1) }
    ends.all? ? "(#{ends[0]}#{value.exclude_end? ? '...' : '..'}#{ends[1]})" : nil
  end

  def named(mod)
    name = mod.name
    name if name && !name.start_with?("#") && Object.const_defined?(name) && !name.start_with?("Proctor")
  rescue NameError
    nil
  end

  public

  # A class with its article.
  def article(name)
    last = last_name(name)
    "#{last.match?(/\A[AEIOU]/) ? 'an' : 'a'} #{last}"
  end

  # What a value is, in a title.
  def words(value) = in_words(value)

  # A name as it is read aloud.
  def name_in_words(name) = spoken(name)

  private

  def simple(value)
    case value
    when nil then ["be_nil", "returns nil"]
    when true then ["be(true)", "returns true"]
    when false then ["be(false)", "returns false"]
    when Float then value.nan? ? ["be_nan", "returns NaN"] : nil
    end
  end

  def exact(value)
    text = code(value)
    return ["eq(#{text})", "returns #{in_words(value)}"] if text
    return long(value) if value.instance_of?(String) && value.encoding == Encoding::UTF_8

    nil
  end

  # What a value is, in a title: plain values as they are read aloud, others by what they hold. Never code.
  def in_words(value)
    case value
    when String then text_in_words(value)
    when Array then list_in_words(value)
    when Hash then value.empty? ? "an empty hash" : "#{pairs_in_words(value)}"
    when Struct then "#{article(value.class.name)} with #{pairs_in_words(value.to_h)}"
    when Symbol then spoken(value)
    when Module then value.name ? last_name(value.name) : "a class"
    when Integer, Float, nil, true, false then value.inspect
    when Range then "a range"
    when Regexp then "a pattern"
    else article(value.class.name)
    end
  end

  # The last part of a constant's name.
  def last_name(name) = name.split("::").last

  # A symbol, key or method as it is read aloud.
  def spoken(name)
    words = name.to_s.delete_prefix("@").tr("_", " ").gsub(/[?!=]+\z/, "").gsub(/([a-z\d])([A-Z])/, '\1 \2').strip
    words.match?(/\A[[:alnum:] ]+\z/) ? words.squeeze(" ") : "a symbol"
  end

  def text_in_words(value)
    plain = value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    return "an empty text" if plain.empty?

    sayable?(plain) && plain.length <= 40 ? plain.inspect : "a text of #{plain.length} #{plain.length == 1 ? 'character' : 'characters'}"
  end

  # Whether a text can stand in a title as it is.
  def sayable?(text) = text.match?(/\A[[:print:]]*\z/) && !text.match?(/["\\]/) && text.match?(/[[:alnum:]]/)

  def list_in_words(list)
    return "an empty list" if list.empty?

    said = list.map { |item| scalar?(item) ? in_words(item) : nil } if list.length <= 4
    return "a list of #{list.length} #{list.length == 1 ? 'item' : 'items'}" unless said&.all? && said.sum(&:length) <= 60
    return "a list with only #{said.first}" if said.length == 1

    "#{said[0..-2].join(', ')} and #{said.last}"
  end

  # The first pairs that say something, with words for plain values.
  def pairs_in_words(hash)
    said = hash.reject { |_, item| item.nil? }.first(3).map { |key, item| pair_in_words(key, item) }.uniq
    return "nothing set" if said.empty?

    rest = hash.length > 3 && hash.compact.length > 3 ? ["more"] : []
    parts = said + rest
    parts.length > 1 ? "#{parts[0..-2].join(', ')} and #{parts.last}" : parts.first
  end

  def pair_in_words(key, item)
    name = key.is_a?(String) && !key.match?(/\A\w+[?!]?\z/) ? text_in_words(key) : spoken(key)
    return item ? name : "not #{name}" if key.to_s.end_with?("?") && [true, false].include?(item)

    return "no #{name}" if item.respond_to?(:empty?) && item.empty?

    scalar?(item) ? "#{name} #{in_words(item)}" : name
  end

  def scalar?(item)
    case item
    when String then item.length <= 30 && (item.empty? || sayable?(item))
    when Symbol, Integer, Float, nil, true, false then true
    else false
    end
  end

  def long(value)
    head = value[0, 60]
    tail = value[-60..] || value
    return nil if (head + tail).match?(ADDRESS) || value.match?(@places)

    ["have_attributes(size: #{value.size}).and(start_with(#{head.inspect})).and(end_with(#{tail.inspect}))",
     "returns a text of #{value.size} characters"]
  end

  def object(value)
    name = named(value.class)
    return nil unless name

    if value.is_a?(Array) && value.length <= 8
      parts = value.map { |item| nested(item) }
      return ["match([#{parts.join(', ')}])", "returns #{value.length} #{value.length == 1 ? 'item' : 'items'}"] if parts.all?
    end
    return hash_of(value) if value.is_a?(Hash) && value.length.between?(1, 8)

    found = attributes(value)
    found = found.merge(answers(value, 7 - found.length)) { |_, one, _| one } if !value.is_a?(Array) && !value.is_a?(Module)
    return nil if found.empty?

    pairs = found.map { |key, text| "#{key}: #{text}" }.join(", ")
    ["be_an_instance_of(#{name}).and(have_attributes(#{pairs}))", "returns #{article(name)} with #{attributes_in_words(value, found.keys)}", [name, found]]
  end

  # What a reader would name first of an object: its attributes rather than its texts.
  def attributes_in_words(value, names)
    first = (names - %w[to_s to_h to_a inspect]).first(3)
    pairs_in_words(first.to_h { |name| [name, value.public_send(name)] })
  rescue StandardError
    "its attributes"
  end

  def hash_of(value)
    parts = value.map do |key, item|
      left = code(key)
      right = nested(item)
      return nil unless left && right

      "#{left} => #{right}"
    end
    ["match({ #{parts.join(', ')} })", "returns #{value.length} #{value.length == 1 ? 'pair' : 'pairs'}"]
  end

  def nested(item)
    text = code(item)
    return text if text
    return nil unless Object === item

    name = named(item.class)
    found = name ? attributes(item) : {}
    found = found.merge(answers(item, 4 - found.length)) { |_, one, _| one } if name && !item.is_a?(Module)
    return name && "an_instance_of(#{name})" if found.empty?

    "an_instance_of(#{name}).and(have_attributes(#{found.map { |key, part| "#{key}: #{part}" }.join(', ')}))"
  end

  def kind(value)
    name = named(value.class)
    name && ["be_an_instance_of(#{name})", "returns #{article(name)}"]
  end

  def readable(value)
    known = value.class.ancestors.flat_map { |mod| @readers[mod.name] || [] }.uniq
    known += %w[to_s to_h to_a size length].select { |name| own?(value, name) }
    (known - BY_CHANCE).select { |name| value.respond_to?(name) && zero?(value, name) }
  end

  def own?(value, name)
    place = value.method(name).source_location
    place && place[0].start_with?(@root)
  rescue NameError
    false
  end

  def zero?(value, name)
    [0, -1].include?(value.method(name).arity)
  rescue NameError
    false
  end
end
