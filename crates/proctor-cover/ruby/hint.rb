# frozen_string_literal: true

require_relative "wish"

# Turns what a run compared, and what it failed on, into calls that may go another way: finds where in the code of a call
# a value comes from, and writes what was wished for in its place.
class ProctorHint
  # Names of stand-ins come first: they are no texts.
  TOKEN = /#{ProctorFactories::CALL}:\w+|instance_double\("\w+"|http_response\([\w:]+, "\d+"|"(?:[^"\\]|\\.)*"|(?<![\w.:"])-?\d+(?:\.\d+)?(?![\w.])|(?<![\w:]):[a-z_]\w*[?!]?|(?<![\w.:])(?:nil|true|false)(?![\w:?])/i.freeze
  MOMENT = /\b(?:Time\.(?:at|utc)|Date\.new)\([^()]*\)/.freeze
  LIST = /\{[^{}|]*\}|\[[^\[\]]*\]/.freeze
  # Calls after one call, for one comparison; how often the same comparison is asked about.
  MOST = 160
  EACH = 12
  OFTEN = 4
  # Comparisons of one place that are looked at after one call.
  HERE = 8

  def initialize(values, execute, owner)
    @values = values
    @execute = execute
    @wish = ProctorWish.new(values, owner)
    @tokens = {}
    @wishes = {}
    @asked = Hash.new(0)
  end

  # Calls worth trying after this one, so many at most. `open` tells whether a condition still lacks an answer.
  def after(attempt, result, most = MOST, &open)
    found = []
    learn(attempt, result.error, found) if result.error
    result.answers.each do |id, value|
      next unless open.call(id, value ? 0 : 1)
      next without(attempt, value, found) if ProctorDouble === value
      next unless plain?(value)

      @wish.truth(value).each { |old, list| place(attempt, old, list, found, false) }
    end
    found.concat(compared(attempt, result.notes, most))
    outside(attempt, result.world, found) unless result.world.empty?
    same_host(attempt, found) if result.notes.any? { |_, _, left, right| nameless?(left) || nameless?(right) }
    found.concat(inside(attempt, result.yielded)) if result.yielded
    found.uniq(&:key).first(most)
  rescue Encoding::CompatibilityError
    # Texts of two encodings that cannot stand in one.
    found.uniq(&:key).first(most)
  end

  # A stand-in was there, and there should have been nothing.
  def without(attempt, stand_in, found)
    name = stand_in.inspect[/InstanceDouble\(([\w:]+)\)/, 1]
    slots(attempt).each do |slot|
      from = slot[2] =~ /instance_double\("?#{Regexp.escape(name)}"?[,)]/
      to = from && ProctorCode.closing(slot[2], from + "instance_double(".length)
      found << replaced(attempt, slot, "#{slot[2][0...from]}nil#{slot[2][to + 1..]}") if to
    end
  end

  # The same call with other texts and numbers in the places of its own.
  def with(attempt, literals)
    slots(attempt).flat_map do |slot|
      whole = %i[arg key].include?(slot[0]) ? literals.map { |item| replaced(attempt, slot, item.inspect) } : []
      parts = tokens(slot[2]).select { |_, _, value| value.is_a?(String) || value.is_a?(Integer) }.first(3).flat_map do |from, to, value|
        literals.flat_map { |item| exchanged(value, item) }.uniq.map { |new| replaced(attempt, slot, slot[2][0...from] + new.inspect + slot[2][to..]) }
      end
      whole + parts
    end.uniq(&:key)
  end

  private

  # A value with a literal in it, as a whole or in the place of a word or number.
  def exchanged(value, item)
    return item.is_a?(Integer) ? [item, item - 1, item + 1] : [] if value.is_a?(Integer)
    return [value.sub(/\d+/, item.to_s), "#{item}#{value}"] if item.is_a?(Integer)

    [item, value.sub(/[[:alpha:]]+/) { item }, "#{value}#{item}", "#{item}#{value}"]
  end

  # What comparisons ask for: of each place in the source one thing, then of each a second one, so that an early one
  # that asks for much leaves room for those after it.
  def compared(attempt, notes, most)
    lists = Hash.new { |hash, id| hash[id] = [] }
    notes.each do |id, operator, left, right|
      # What a pattern looks at is made of several parts: each of its values is asked about.
      asked = operator == :in ? left.hash : brief(left)
      next if lists[id].length >= HERE || (@asked[[id, asked, brief(right)]] += 1) > OFTEN

      close = operator == :in && left.is_a?(Array) ? right.grep(Array).filter_map { |pattern| matched(attempt, left, pattern) } : []
      wishes(operator, left, right).each { |old, list| place(attempt, old, list, close, true) }
      lists[id] << close.first(EACH)
      break if lists.length > most * 2
    end
    in_turn(lists.values.map { |list| in_turn(list) }).first(most)
  end

  # The call with every part of a list changed at once into what a pattern accepts; nil if one of them cannot be placed.
  def matched(attempt, left, pattern)
    pairs = left.zip(pattern).select { |mine, other| !other.nil? && mine != other }
    more = pattern.drop(left.length)
    last = left.length - 1
    # Further parts may come from the same text as the last one.
    pairs << [left.last, [pattern[last], *more].join("/")] if more.any? && left.last.is_a?(String)
    pairs.reject! { |mine, other| more.any? && mine.equal?(left.last) && other.equal?(pattern[last]) }
    pairs.uniq(&:first).inject(attempt) do |changed, (mine, other)|
      found = []
      place(changed, mine, [other], found, false)
      found.first || (return nil)
    end
  rescue StandardError
    nil
  end

  # The first of each list, then the second of each.
  def in_turn(lists)
    (0...(lists.map(&:length).max || 0)).flat_map { |place| lists.filter_map { |list| list[place] } }
  end

  def plain?(value)
    case value
    when nil, true, false, String, Symbol, Numeric, Array, Hash then true
    else false
    end
  end

  # Enough of a value to know a comparison again.
  def brief(value)
    case value
    when nil, true, false, Symbol, Integer, Regexp, Module then value
    when String then value.length
    else value.class
    end
  end

  def wishes(operator, left, right)
    key = [operator, left, right].hash
    @wishes[key] ||= @wish.for(operator, left, right)
  rescue StandardError, SystemStackError
    []
  end

  # The parts of a call that are code: [kind, index, code].
  def slots(attempt)
    list = attempt.args.each_with_index.map { |code, index| [:arg, index, code] }
    list.concat(attempt.keys.map { |name, code| [:key, name, code] })
    list << [:receiver, nil, attempt.receiver] if attempt.receiver.match?(/[({\["\d]/)
    list << [:block, nil, attempt.block] if attempt.block && attempt.block != "&probe"
    list << [:before, nil, attempt.before] if attempt.before
    list.concat((attempt.stubs || {}).map { |name, code| [:stub, name, code] })
  end

  def replaced(attempt, (kind, index, _), code)
    copy = attempt.dup
    case kind
    when :arg
      copy.args = attempt.args.dup
      copy.args[index] = code
    when :key then copy.keys = attempt.keys.merge(index => code)
    when :receiver then copy.receiver = code
    when :before then copy.before = code
    when :stub then copy.stubs = attempt.stubs.merge(index => code)
    else copy.block = code
    end
    copy
  end

  # A file is there, where one of this name is looked for.
  def on_disk(attempt, path, found)
    short = path.delete_prefix("#{Dir.pwd}/")
    name = short.match?(/\A\w[\w.-]*\z/) ? short : "a.txt"
    slots(attempt).each do |slot|
      spots(slot[2], short).each do |from, to, kind, value|
        next unless kind == :same && value.is_a?(String) && slot[2][0...from] !~ /file_named\(\z/

        ProctorWorld::TEXTS.each { |text| found << replaced(attempt, slot, "#{slot[2][0...from]}file_named(#{name.inspect}, #{text})#{slot[2][to..]}") }
      end
    end
  end

  # What was asked of the world outside gets an answer.
  def outside(attempt, world, found)
    asked = world.select { |name, _| name.start_with?("File.", "IO.") }.values.flatten(1).map { |args, _| args.first }
    asked.grep(String).uniq.first(3).each { |path| on_disk(attempt, path, found) }
    (world.keys - (attempt.stubs || {}).keys).first(3).each do |name|
      ProctorWorld.answers_for(name).each do |code|
        copy = attempt.dup
        copy.stubs = (attempt.stubs || {}).merge(name => code)
        found << copy
      end
    end
  end

  def place(attempt, old, list, found, anywhere)
    before = found.length
    slots(attempt).each do |slot|
      spots(slot[2], old).each do |from, to, kind, value|
        list.each do |new|
          code = written(kind, value, old, new)
          next if code.nil? || ProctorCode.size(code) > 400

          text = slot[2][0...from] + code + slot[2][to..]
          found << replaced(attempt, slot, text) unless text == slot[2]
        end
      end
    end
    options(attempt, old, list, found) if old.is_a?(Hash)
    answered_otherwise(attempt, old, list, found)
    by_attribute(attempt, old, list, found) if ProctorFactories.any?
    in_records(attempt, old, list, found) if @values.records && found.length == before
    whole(attempt, old, list, found) if anywhere && found.length == before
  end

  RESPONSE = /http_response\(([\w:]+), "(\d+)"/.freeze

  # The status of another machine's answer was compared, or its class was asked for: it answers otherwise.
  def answered_otherwise(attempt, old, list, found)
    return unless defined?(Net::HTTPResponse) && (String === old || Integer === old || Net::HTTPResponse === old)

    status = Net::HTTPResponse === old ? old.code : old.to_s
    return unless status.match?(/\A[1-5]\d\d\z/)

    slots(attempt).each do |slot|
      slot[2].to_enum(:scan, RESPONSE).map { $~ }.select { |match| match[2] == status }.each do |match|
        list.filter_map { |new| response_opening(new) }.each do |code|
          found << replaced(attempt, slot, slot[2][0...match.begin(0)] + code + slot[2][match.end(0)..]) unless code == match[0]
        end
      end
    end
  end

  # How an answer with this status, or of the class that a code names, begins.
  def response_opening(new)
    return new.text[RESPONSE] if new.is_a?(ProctorWish::Code)

    type = Net::HTTPResponse::CODE_TO_OBJ[new.to_s]
    type && "http_response(#{type.name}, #{new.to_s.inspect}"
  end

  # An attribute of an object that a factory makes has this value: the factory is given another.
  def by_attribute(attempt, old, list, found)
    slots(attempt).each do |slot|
      object = made_by_factory(slot[2])
      next unless object

      names = ProctorFactories.attributes(object).select { |_, value| value.class == old.class && value == old }.keys.first(6)
      names.product(list.first(4)).each do |name, new|
        code = ProctorFactories.overridden(slot[2], name, ProctorFactories.fitting(object, name, code_of(new)) || next)
        found << replaced(attempt, slot, code) if code && code != slot[2]
      end
    end
  end


  MADE = /\b([A-Z][\w:]*)\.(?:create!|new)(\((?!\)))?/.freeze

  # The value may be what a stored object has by default: then the attribute is given.
  def in_records(attempt, old, list, found)
    slots(attempt).each do |slot|
      slot[2].to_enum(:scan, MADE).map { $~ }.each do |match|
        inside = match[2] ? slot[2][match.end(0)...ProctorCode.closing(slot[2], match.end(0))] : ""
        @values.records.holding(match[1], old).reject { |name| inside.match?(/(?:\A|, )#{name}: /) }.first(3).each do |name|
          list.first(3).each do |new|
            code = code_of(new)
            given = match[2] ? "(#{name}: #{code}, " : "(#{name}: #{code})"
            found << replaced(attempt, slot, slot[2][0...match.begin(2) || match.end(0)] + given + slot[2][match.end(0)..]) if code && code.length < 60
          end
        end
      end
    end
  end

  # The object that the first factory of a code makes.
  def made_by_factory(code)
    match = ProctorFactories::CALL.match(code)
    stop = match && ProctorCode.closing(code, match.end(0))
    return nil unless stop

    call = code[match.begin(0)..stop]
    (@made ||= {}).fetch(call) { @made[call] = @execute.value_of(call) }
  end

  # The value stands nowhere as such: it may be made from any argument.
  def whole(attempt, old, list, found)
    return if old.is_a?(Module)

    list.each { |new| one_key(attempt, old, new, found) if new.is_a?(Hash) } if old.is_a?(Hash)

    slots(attempt).each do |slot|
      next unless %i[arg key].include?(slot[0])

      list.first(4).each do |new|
        code = code_of(new)
        found << replaced(attempt, slot, code) if code && code != slot[2]
        next unless old.is_a?(String) && new.is_a?(String)

        texts(slot[2]).select { |_, _, own| Encoding.compatible?(own, new) }.each { |from, to, own| found << replaced(attempt, slot, slot[2][0...from] + (own + new).inspect + slot[2][to..]) }
      end
    end
  end

  # A table that is wished for with one key more, or with something else under one.
  def one_key(attempt, old, new, found)
    changed = new.keys.reject { |key| old.key?(key) && old[key] == new[key] }
    another_key(attempt, changed.first, new, found) if changed.length == 1
  end

  # Options may have been merged with others since they were given: one more, wherever some are given or could be.
  def another_key(attempt, key, new, found)
    value = new[key]
    slots(attempt).each do |slot|
      given = tokens(slot[2]).select { |_, _, token| token.is_a?(Hash) }.first(2)
      given.each do |from, to, token|
        code = code_of(token.merge(key => value))
        found << replaced(attempt, slot, slot[2][0...from] + code + slot[2][to..]) if code
      end
    end
    return unless key.is_a?(Symbol) && key.match?(/\A[a-z_]\w*\z/)

    option = "#{key}: #{code_of(value)}"
    slots(attempt).push([:receiver, nil, attempt.receiver]).uniq.each do |slot|
      code = with_option(slot[2], key, option) if %i[receiver arg].include?(slot[0])
      found << replaced(attempt, slot, code) if code
    end
  end

  # An object that is made with one option more, or with another value for it.
  def with_option(code, key, option)
    opening = code[/\A[A-Z][\w:]*\.new\b/]
    return nil unless opening
    return "#{opening}(#{option})#{code.delete_prefix(opening)}" unless code[opening.length] == "("

    inner = opening.length + 1
    parts = ProctorCode.arguments(code, inner)
    to = ProctorCode.closing(code, inner)
    return nil unless to

    args = parts.map { |from, till| code[from...till] }.reject { |arg| arg.start_with?("#{key}: ") }
    "#{opening}(#{[*args, option].join(', ')})#{code[to + 1..]}"
  end

  # Short texts in a code: [from, to, text].
  def texts(code) = tokens(code).select { |_, _, value| value.is_a?(String) && value.length < 80 }.first(3)

  # Options given as keywords.
  def options(attempt, old, list, found)
    given = attempt.keys.keys.map(&:to_sym)
    rest = attempt.method["params"].any? { |param| param["kind"] == "key_rest" }
    if rest && old.keys == given
      list.each { |new| found << keywords(attempt, new) if new.is_a?(Hash) }
    elsif old.empty? && (param = attempt.method["params"][attempt.args.length]) && param["kind"] == "optional" && param["default"].to_s.start_with?("{", "nil")
      list.each do |new|
        code = code_of(new)
        copy = attempt.dup
        copy.args = attempt.args + [code]
        found << copy if code
      end
    end
    found.compact!
  end

  def keywords(attempt, new)
    return nil unless new.keys.all? { |key| key.is_a?(Symbol) && key.match?(/\A[a-z_]\w*\z/) }

    copy = attempt.dup
    copy.keys = new.to_h { |key, value| [key.to_s, attempt.keys[key.to_s] || code_of(value)] }
    copy.keys.values.all? ? copy : nil
  end

  def code_of(value) = value.is_a?(ProctorWish::Code) ? value.text : @execute.render.code(value)

  # Literals of a code: [from, to, value].
  def tokens(code)
    @tokens[code] ||= begin
      list = []
      code.scan(TOKEN) { list << [*$~.offset(0), literal($~[0])] }
      code.scan(MOMENT) { list << [*$~.offset(0), literal($~[0])] }
      code.scan(LIST) { list << [*$~.offset(0), literal($~[0])] unless $~[0].match?(/[A-Z]\w*\.|double/) }
      list.reject { |_, _, value| value == :proctor_none }
    end
  end

  def literal(text)
    return :proctor_none if text.include?('#{')

    eval("(#{text})") # rubocop:disable Security/Eval
  rescue StandardError, SyntaxError
    :proctor_none
  end

  # Where in a code a value may come from: [from, to, how, the literal there].
  def spots(code, old)
    return [] if old.equal?(:proctor_none)

    tokens(code).filter_map do |from, to, value|
      kind = relation(value, old)
      [from, to, kind, value] if kind
    end.first(6)
  rescue StandardError
    []
  end

  # Texts of data: what they hold is what the code looks at.
  def data?(value, old)
    return false unless value.is_a?(String) && value.start_with?("{", "[") && defined?(JSON)

    [false, true].any? { |symbols| JSON.parse(value, symbolize_names: symbols) == old }
  rescue StandardError
    false
  end

  def relation(value, old)
    return :data if (old.is_a?(Hash) || old.is_a?(Array)) && data?(value, old)

    case old
    when String
      case value
      when String
        return :same if value == old
        return :part if !old.empty? && value.include?(old)
        return :same if !old.empty? && value.strip.casecmp?(old.strip)
      when Symbol then return :symbol if value.to_s == old
      when Integer then return :number if value.to_s == old
      end
    when Symbol
      return :same if value.equal?(old)
      return :text if value.is_a?(String) && value == old.to_s
    when Integer
      return :same if value.is_a?(Integer) && value == old
      return :size if (value.is_a?(String) || value.is_a?(Array)) && value.length == old
      return :digits if value.is_a?(String) && value.to_i == old && value.match?(/\A\s*-?\d/)
    when Float then return :same if value.is_a?(Numeric) && value == old
    when nil, true, false then return :same if value.equal?(old)
    when Array, Hash then return :same if value.instance_of?(old.class) && value == old
    when Time then return :same if value.is_a?(Time) && value == old
    else return :same if defined?(Date) && Date === old && value.is_a?(Date) && value == old
    end
    nil
  end

  def written(kind, value, old, new)
    case kind
    when :same then code_of(new)
    when :data then new.is_a?(Hash) || new.is_a?(Array) ? JSON.generate(new).inspect : nil
    when :part then new.is_a?(String) || new.is_a?(Symbol) || new.is_a?(Numeric) ? value.sub(old) { new.to_s }.inspect : nil
    when :symbol then new.is_a?(String) || new.is_a?(Symbol) ? new.to_sym.inspect : nil
    when :text then new.is_a?(String) || new.is_a?(Symbol) ? new.to_s.inspect : code_of(new)
    when :number then new.to_s.match?(/\A-?\d+\z/) ? new.to_s : nil
    when :digits then new.is_a?(Numeric) ? value.sub(/-?\d+/) { new.to_s }.inspect : nil
    when :size then sized(value, new)
    end
  end

  def sized(value, length)
    return nil unless length.is_a?(Integer) && length.between?(0, 300)
    return (value.empty? ? "a" * length : (value * (length / value.length + 1))[0, length]).inspect if value.is_a?(String)

    length > 30 ? nil : code_of(value.empty? ? [1] * length : value.cycle.first(length))
  end

  # Errors that say what kind of thing is missing.
  def learn(attempt, error, found)
    case error
    when ProctorDouble::Unexpected then answer(attempt, error, found)
    when SystemCallError then on_disk(attempt, error.message[/ - (.+)\z/m, 1].to_s, found)
    when FrozenError then thaw(attempt, error.receiver, found)
    when TypeError, ArgumentError then convert(attempt, error.message.to_s, found)
    end
    host(attempt, error, found) if error.is_a?(NameError)
    @wish.error(error).each { |old, list| place(attempt, old, list, found, true) }
    same_class(attempt, error, found) if error.instance_of?(NoMethodError)
  rescue NoMethodError, ArgumentError
    nil
  end

  # A text that is to be changed must not be frozen.
  def thaw(attempt, text, found)
    return unless String === text

    slots(attempt).each do |slot|
      spots(slot[2], text).each do |from, to, kind, _|
        next unless kind == :same && slot[2][from] == '"' && (from.zero? || slot[2][from - 1] != "+")

        found << replaced(attempt, slot, "#{slot[2][0...from]}+#{slot[2][from..]}")
      end
    end
  end

  # A stand-in that did not know an answer gets one, unless it stands for a class that does not know it either.
  def answer(attempt, error, found)
    name = error.name
    return unless name.match?(/\A[a-z_]\w*[?!=]?\z/)

    key = name.end_with?("=") ? name.inspect : name
    opening = /instance_double\("?#{Regexp.escape(error.owner)}"?/
    values = name.end_with?("?") ? %w[true false] : [*@values.usual(name), '"x"', "1", "[]", "nil"].uniq
    slots(attempt).each do |slot|
      next unless slot[2].match?(opening) && !slot[2].include?(" #{key}:")

      values.each { |value| found << replaced(attempt, slot, slot[2].sub(opening) { |head| "#{head}, #{key}: #{value}" }) }
    end
  end

  CONVERSION = /(?:no implicit conversion of|can't convert|wrong argument type|comparison of) (\S+) (?:in)?(?:to|with|\(expected) ?(\w+)|(\S+) can't be coerced into (\w+)/.freeze

  def convert(attempt, message, found)
    if (match = message.match(CONVERSION))
      have = (match[1] || match[3]).sub("nil", "NilClass").delete_prefix("#<Class:")
      want = match[2] || match[4]
      slots(attempt).each do |slot|
        next unless slot[0] == :arg && kind_of(slot[2]).name == have

        @values.of_type(want, nil).first(4).each { |code| found << replaced(attempt, slot, code) }
      end
      convert_made(attempt, have, want, found)
    elsif (match = message.match(/missing keywords?: (.+)/))
      names = match[1].scan(/:(\w+)/).flatten
      copy = attempt.dup
      copy.keys = attempt.keys.merge(names.to_h { |name| [name, '"x"'] })
      found << copy if attempt.method["params"].any? { |param| %w[key_rest forward].include?(param["kind"]) }
    end
  end

  # The same for what the object was made with.
  def convert_made(attempt, have, want, found)
    opening = attempt.receiver[/\A[A-Z][\w:]*\.new\(/]
    return unless opening

    ProctorCode.arguments(attempt.receiver, opening.length).each do |from, to|
      given = attempt.receiver[from...to]
      key = given[/\A[a-z_]\w*: /].to_s
      next unless kind_of(given.delete_prefix(key)).name == have

      @values.of_type(want, nil).first(3).each { |code| found << replaced(attempt, [:receiver, nil], attempt.receiver[0...from] + key + code + attempt.receiver[to..]) }
    end
  end

  def kind_of(code) = ProctorExplore::KIND.bind_call(@execute.value_of(code))

  # A module is tried in an empty class; what it expects of that class is added.
  def host(attempt, error, found)
    return unless attempt.receiver.match?(HOST)
    return if error.is_a?(NoMethodError) && !error.receiver.class.name.nil?

    name = error.name
    descended(attempt, name, found)
    return unless name.to_s.match?(/\A[a-z_]\w*[?!]?\z/)

    ['"x"', "1", "[]", "{}", "nil"].each do |value|
      copy = attempt.dup
      copy.receiver = attempt.receiver.sub(/ \}\.new/) { "; def #{name}(*) = #{value} }.new" }
      found << copy
    end
  end

  # A module that asks for what one of Ruby's collections offers belongs into a class that descends from it.
  def descended(attempt, name, found)
    return unless attempt.receiver.start_with?("Class.new { include ")

    %w[Hash Array String].select { |type| Object.const_get(type).method_defined?(name) || Object.const_get(type).private_method_defined?(name) }.first(2).each do |type|
      filled = { "Hash" => ["", ".merge!(\"a\" => 1)"], "Array" => ["", ".push(1, 2)"], "String" => ["(\"a\")"] }[type]
      filled.each { |tail| found << replaced(attempt, [:receiver, nil], attempt.receiver.sub("Class.new {", "Class.new(#{type}) {") + tail) }
    end
  end

  HOST = /\A((?:Class\.new(?:\(\w+\))?|Struct\.new\(:a, :b\)) \{ .* \})\.new/.freeze

  # Another object of the class that a module is tried in: the class becomes a variable of the example.
  def same_host(attempt, found)
    host = attempt.receiver[HOST, 1]
    return unless host && attempt.locals.nil?

    mine = attempt.receiver.sub(host, "host")
    attempt.args.each_index do |index|
      [mine, mine.sub("(1, 2)", "(1, 3)")].uniq.each do |other|
        copy = replaced(attempt, [:arg, index], other)
        copy.receiver = mine
        copy.locals = { "host" => host }
        found << copy
      end
    end
  end

  def nameless?(value) = Module === value && value.name.nil?

  def same_class(attempt, error, found)
    return if plain?(error.receiver) || Module === error.receiver

    type = ProctorExplore::KIND.bind_call(error.receiver)
    slots(attempt).each do |slot|
      next unless slot[0] == :arg && kind_of(slot[2]).equal?(type)

      @values.responding([error.name.to_s], nil).first(4).each { |code| found << replaced(attempt, slot, code) }
    end
  end

  # Blocks that use what they are given, or the object they are evaluated in.
  def inside(attempt, (kind, object))
    @values.uses_of(object, kind).map do |block|
      copy = attempt.dup
      copy.block = block
      copy
    end
  end
end
