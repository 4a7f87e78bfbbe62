# frozen_string_literal: true

require "set"

# Which arguments are worth trying for a parameter: from how it is used, what it is called, what the
# documentation says, and a pool of ordinary and harvested values. Everything is Ruby code as text.
class ProctorValues
  CORE = {
    "String" => ['"a"', '""', '"hello world"', '"42"', '"Foo"', '"a,b;c"', '"  padded "', '"one\ntwo"', '"1.5"', '"foo_bar-baz"', '"é"', '"a=1&b=2"'],
    "Integer" => %w[1 0 -1 2 3 10 100 1000],
    "Float" => %w[1.5 0.0 -0.5 10.25],
    "Symbol" => %w[:a :name :foo],
    "Array" => ["[1, 2, 3]", "[]", '["a", "b"]', "[nil]", "[[1, 2], [3, 4]]", "[3, 1, 2]", '["a", 1, nil]', "[1]", '["a"]', "[:a, :b]"],
    "Hash" => ["{ a: 1 }", "{}", '{ "a" => 1 }', "{ a: { b: 2 } }", '{ a: "x", b: nil }', '{ "a" => ["b"] }'],
    "Proc" => ["->(*args) { args.first }", "->(*) { nil }", "->(*) { true }", '->(*) { "x" }'],
    "Range" => ["(1..3)", "(0...2)", '("a".."c")'],
    "Regexp" => ["/a/", '/\d+/'],
    "NilClass" => ["nil"],
    "TrueClass" => ["true"],
    "FalseClass" => ["false"],
    "Time" => ["Time.at(0, in: \"UTC\")", "Time.at(1_700_000_000, in: \"UTC\")"],
    "Date" => ["Date.new(2024, 2, 29)", "Date.new(2023, 12, 31)"],
    "DateTime" => ["DateTime.new(2024, 2, 29, 12, 30, 45)"],
    "StringIO" => ['StringIO.new("a\nb\n")', "StringIO.new"],
    "Set" => ["Set[1, 2]", "Set[]"],
    "Rational" => ["Rational(1, 2)"],
    "Class" => %w[String Integer Object],
    "Module" => %w[Comparable Kernel],
    "Method" => ['"a".method(:upcase)'],
    "Object" => ["Object"],
    "StandardError" => ['StandardError.new("message")'],
    "Encoding" => ["Encoding::UTF_8"],
    "MatchData" => ['"ab".match(/a(b)/)'],
    "Enumerator" => ["[1, 2].each"],
    "Struct" => ["Struct.new(:a, :b).new(1, 2)"]
  }.freeze
  ALIASES = { "Boolean" => %w[TrueClass FalseClass], "Bool" => %w[TrueClass FalseClass], "boolean" => %w[TrueClass FalseClass],
              "true" => %w[TrueClass], "false" => %w[FalseClass], "nil" => %w[NilClass], "void" => [], "Numeric" => %w[Integer Float],
              "Number" => %w[Integer Float], "Fixnum" => %w[Integer], "#to_s" => %w[String Symbol Integer], "#call" => %w[Proc],
              "#each" => %w[Array], "IO" => %w[StringIO], "Enumerable" => %w[Array Hash], "Exception" => %w[StandardError],
              "#read" => %w[StringIO], "string" => %w[String], "integer" => %w[Integer], "hash" => %w[Hash], "array" => %w[Array] }.freeze
  GENERIC = ["nil", '"a"', "1", ":a", "[]", "{}", '""', "0", "true", "false", "[1, 2, 3]", "{ a: 1 }", '"hello world"', "-1", "1.5",
             '["a", "b"]', '{ "a" => 1 }', "(1..3)", "->(*args) { args.first }", "/a/", "Object", "100", '"42"', "[[1, 2], [3, 4]]",
             'StringIO.new("a\nb\n")', ":name", "String", '"one\ntwo"'].freeze
  BY_NAME = [
    [/\A(opts?|options|attr(ibute)?s|params|config|hash|headers|data|kwargs|context|locals|env|settings|map|mapping)\z/, %w[Hash]],
    [/(str|string|text|name|path|title|key|word|line|message|msg|label|content|input|source|url|uri|prefix|suffix|desc|description|value|code|template|html|body|format|pattern|char|token|id)\z/, %w[String]],
    [/(num|number|count|size|length|index|idx|n|i|x|y|width|height|limit|max|min|amount|level|depth|offset|pos|position|year|month|day|hour|port|line_no|precision|step|times|radius|a|b)\z/, %w[Integer Float]],
    [/(list|array|arr|items|args|argv|values|elements|entries|lines|words|names|keys|rows|columns|parts|segments|nodes|tokens|others|paths|files)\z/, %w[Array]],
    [/(block|proc|callback|fn|func|handler|callable|lambda)\z/, %w[Proc]],
    [/(time|timestamp|date|now|_at)\z/, %w[Time Date]],
    [/(io|out|output|stream|file|stdout|stderr|buffer)\z/, %w[StringIO String]],
    [/(type|sym|symbol|method_name|attr|attribute|status|state|mode|kind|event)\z/, %w[Symbol String]],
    [/(class|klass|mod)\z/, %w[Class]],
    [/(error|exception|err|ex|e)\z/, %w[StandardError]],
    [/(regex|regexp|re)\z/, %w[Regexp]],
    [/(enabled|flag|bool|\?)\z/, %w[TrueClass FalseClass]],
    [/(range)\z/, %w[Range]]
  ].freeze
  PROBED = %w[String Array Hash Integer Symbol Proc Float Range Regexp StringIO Time Date Set Class StandardError MatchData Method].freeze
  OBJECT = Object.instance_methods.map(&:to_s).freeze

  attr_reader :instances, :literals

  def initialize(job, random)
    @random = random
    @literals = job["pool"]["literals"]
    @regexps = job["pool"]["patterns"]
    @usages = {}
    @methods = {}
    @instances = Hash.new { |hash, key| hash[key] = [] }
    job["classes"].each do |klass|
      klass["methods"].each do |method|
        @methods[method["id"]] = method
        method["params"].each_with_index do |param, place|
          [place.to_s, param["name"]].each do |key|
            @usages["#{klass['name']}.#{method['name'] == 'initialize' ? 'new' : method['name']}:#{key}"] = param["usage"]
          end
        end
      end
    end
    @classes = job["classes"].map { |klass| klass["name"] }
    @responders = {}
    @samples = {}
  end

  # Codes for a parameter, the most promising first.
  def for_param(param, owner)
    usage = spread(param["usage"] || {}, owner)
    list = []
    Array(param["types"]).each { |type| list.concat(of_type(type, owner)) }
    list.concat(of_usage(usage, owner, 0, param["name"]))
    list.concat(of_name(param["name"], owner))
    list << param["default"] if param["default"]&.match?(/\A(nil|true|false|-?\d+(\.\d+)?|:\w+|"[^"#]*"|'[^']*'|\[\]|\{\})\z/)
    list << "nil"
    wide = texts(usage, owner) + GENERIC
    list.concat(wide)
    list.uniq.first(90)
  end

  # Calls that change settings of modules, to stand before others: a few of each method.
  def setting(method, code)
    list = (@settings ||= {})[method] ||= []
    list << code if list.length < 3 && @settings.length <= 12 && !list.include?(code)
  end

  def settings_for(method) = (@settings || {}).reject { |other, _| other == method }.values.flatten(1).first(16)

  def generic
    @generic ||= (GENERIC + @literals.first(60)).uniq
  end

  # Harvested texts, if it may be a text at all.
  def texts(usage, owner)
    calls = (usage["calls"] || {}).keys - OBJECT
    return [] unless calls.empty? || calls.count { |name| String.method_defined?(name) } * 2 >= calls.length

    from_patterns = @regexps.first(40).flat_map { |code| samples(code, nil).first(1) }
    (of_own_patterns(owner) + @literals.select { |code| code.start_with?('"') }.first(40) + from_patterns).uniq.first(60)
  end

  # Texts that match the regular expressions that a class keeps as constants.
  def of_own_patterns(owner)
    (@own_patterns ||= {})[owner.to_s] ||= begin
      mod = Object.const_get(owner.to_s)
      values = mod.constants(false).map { |name| mod.const_get(name) }.grep(Regexp)
      values.first(6).flat_map { |regexp| ProctorSample.for(regexp, Random.new(7), 12).map(&:inspect) }.first(24)
    rescue StandardError, LoadError
      []
    end
  end

  def of_type(type, owner)
    type = type.strip
    return of_class(owner.to_s) if type == "self"

    if (match = type.match(/\A(?:Array|Enumerable|Set)<(.+)>\z/))
      inner = of_type(match[1], owner).first(3)
      return inner.empty? ? CORE["Array"] : ["[#{inner.first}]", "[#{inner.join(', ')}]", "[]"]
    end
    type = type[/\A[#:\w]+/].to_s
    return [type] if type.match?(/\A:\w+\z/)
    return ALIASES[type].flat_map { |name| CORE[name] } if ALIASES.key?(type)
    return CORE[type] if CORE.key?(type) && loaded?(type)

    name = resolve(type, owner)&.name
    return [] unless name

    of_class(name)
  end

  def of_class(name)
    known = @instances[name].first(6)
    known += @instances.keys.select { |other| subclass?(other, name) }.flat_map { |other| @instances[other].first(2) }
    known = CORE[name] if known.empty? && CORE.key?(name) && loaded?(name)
    (known + [name]).uniq
  end

  def resolve(name, owner)
    parts = owner.to_s.split("::")
    until parts.empty?
      scope = parts.join("::")
      return Object.const_get("#{scope}::#{name}") if const?(scope, name)

      parts.pop
    end
    Object.const_get(name)
  rescue StandardError, ScriptError
    nil
  end

  def samples(code, owner)
    @samples[[code, owner]] ||= begin
      regexp = code.start_with?("/", "%r") ? eval(code) : resolve(code, owner)
      regexp.is_a?(Regexp) ? ProctorSample.for(regexp, Random.new(7)).map(&:inspect) : of_constant(regexp)
    rescue StandardError, SyntaxError
      []
    end
  end

  private

  def loaded?(type) = Object.const_defined?(type) && !Object.autoload?(type)

  def subclass?(other, name)
    one = Object.const_get(other)
    two = Object.const_get(name)
    one.is_a?(Module) && two.is_a?(Module) && one < two
  rescue StandardError, ScriptError
    false
  end

  def const?(scope, name)
    mod = Object.const_get(scope)
    mod.is_a?(Module) && mod.const_defined?(name.split("::").first, false)
  rescue StandardError, ScriptError
    false
  end

  def of_constant(value)
    code = value.inspect
    case value
    when String, Symbol, Integer, Float then [code]
    when Array, Set then value.first(6).map(&:inspect).select { |item| item.match?(/\A[":\d]/) }
    when Hash then value.keys.first(6).map(&:inspect).select { |item| item.match?(/\A[":\d]/) }
    else []
    end
  end

  # Adds what methods do with a value that is handed on to them.
  def spread(usage, owner, depth = 0)
    flows = usage["flows"]
    return usage if flows.nil? || depth > 1

    flows.each do |target|
      next unless target.include?(".")

      klass, rest = target.split(".", 2)
      name = resolve(klass, owner)
      name = name.is_a?(Module) ? name.name : klass
      other = @usages["#{name}.#{rest}"]
      usage = combine(usage, other) if other && !other.equal?(usage)
    end
    usage
  end

  def combine(one, other)
    one.merge(other) do |_key, left, right|
      case left
      when Array then (left + right).uniq
      when Hash then left.merge(right)
      else left || right
      end
    end
  end

  # `name` is what the value is called where it is used.
  def of_usage(usage, owner, depth, name = "value")
    return [] if depth > 3

    list = []
    Array(usage["classes"]).each { |type| list.concat(of_type(type, owner).first(5)) }
    Array(usage["equals"]).each { |code| list.concat(equal_to(code, owner)) }
    Array(usage["bounds"]).each { |code| list.concat(around(code, owner)) }
    Array(usage["patterns"]).each { |code| list.concat(samples(code, owner)) }
    list.concat(hashes(usage, owner, depth)) if usage["keys"]
    list.concat(arrays(usage, owner, depth, name)) if usage["element"]
    list.concat(responders(usage, owner, depth, name))
    list << "nil" << "true" if usage["truth"]
    list.uniq
  end

  def equal_to(code, owner)
    return [code] unless code.match?(/\A[A-Z]/)

    value = resolve(code, owner)
    return [] if value.nil?

    value.is_a?(Module) ? [value.name.to_s] : of_constant(value)
  end

  def around(code, owner)
    value = code.match?(/\A[A-Z]/) ? resolve(code, owner) : (Integer(code, exception: false) || Float(code, exception: false))
    return [] unless value.is_a?(Numeric)

    [value, value - 1, value + 1].map(&:inspect)
  end

  def hashes(usage, owner, depth)
    choices = usage["keys"].map { |key, inner| [key, (of_usage(inner, owner, depth + 1, key.delete('^a-zA-Z0-9_')) + ['"x"', "1"]).uniq.first(5)] }
    return [] if choices.empty?

    full = choices.map { |key, values| pair(key, values.first) }
    list = ["{ #{full.join(', ')} }"]
    choices.first(8).each_with_index do |(key, values), place|
      list << "{ #{pair(key, values.first)} }"
      values.drop(1).each do |value|
        changed = full.dup
        changed[place] = pair(key, value)
        list << "{ #{changed.join(', ')} }"
      end
      list << "{ #{(full - [full[place]]).join(', ')} }" if full.length > 1
    end
    (list + ["{}"]).uniq.first(24)
  end

  def pair(key, value)
    key.match?(/\A:[a-z_]\w*[?!]?\z/i) ? "#{key.delete_prefix(':')}: #{value}" : "#{key} => #{value}"
  end

  def arrays(usage, owner, depth, name)
    inner = of_usage(usage["element"], owner, depth + 1, name.to_s.delete_suffix("s")).first(6)
    inner = ['"a"', "1"] if inner.empty?
    list = ["[#{inner.first}]", "[#{inner.first(3).join(', ')}]", "[]", "[#{inner.first}, #{inner.first}]"]
    calls = (usage["calls"] || {}).keys
    list.unshift("{ a: #{inner.first} }") if calls.any? { |name| %w[each_pair key? keys to_h].include?(name) }
    list + inner.map { |item| "[#{item}]" }
  end

  def responders(usage, owner, depth, name)
    calls = (usage["calls"] || {}).keys - OBJECT
    return [] if calls.empty?

    key = [calls, usage, name]
    return @responders[key] if @responders.key?(key)

    @responders[key] = begin
      core = PROBED.select { |type| loaded?(type) && calls.all? { |name| Object.const_get(type).method_defined?(name) } }
      list = core.first(4).flat_map { |type| CORE[type].first(type == core.first ? 12 : 4) }
      own = @instances.select { |name, _| (mod = class_named(name)) && calls.all? { |call| mod.method_defined?(call) } }
      mine = own.values.flat_map { |codes| codes.first(3) }.first(10)
      list = core.empty? || calls.length > 2 ? mine + list : list + mine
      list.concat(doubles(usage, owner, depth, name)) if core.empty?
      partial(calls).each { |type| list.concat(CORE[type].first(4)) } if list.empty?
      list
    end
  end

  def partial(calls)
    scored = PROBED.select { |type| loaded?(type) }.map { |type| [calls.count { |name| Object.const_get(type).method_defined?(name) }, type] }
    scored.select { |score, _| score * 2 >= calls.length && score.positive? }.max_by(2, &:first).map(&:last)
  end

  # A stand-in that answers what is asked of it.
  def doubles(usage, owner, depth, name)
    return [] if depth > 2

    names = (usage["calls"].keys - OBJECT).select { |asked| asked.match?(/\A[a-z_]\w*[?!]?\z/) }.first(8)
    return [] if names.empty?

    choices = names.map do |asked|
      values = of_usage(usage["calls"][asked], owner, depth + 1, asked).first(5)
      values = asked.end_with?("?") ? %w[true false] : ['"x"', "1", "nil"] if values.empty?
      [asked, values]
    end
    full = choices.map { |asked, values| [asked, values.first] }.to_h
    others = choices.flat_map { |asked, values| values.drop(1).map { |value| full.merge(asked => value) } }
    [full, *others].first(10).map { |answers| ProctorStandIns.code(name, answers, @classes) }
  end

  def of_name(name, owner)
    own = @classes.select { |klass| klass.split("::").last.downcase == name.to_s.delete("_").downcase }
    list = own.flat_map { |klass| of_class(klass) }
    rule = BY_NAME.find { |pattern, _| name.to_s.match?(pattern) }
    list.concat(rule[1].select { |type| loaded?(type) }.flat_map { |type| CORE[type].first(6) }) if rule
    list << owner_instance(owner) if name == "other"
    list.compact
  end

  def owner_instance(owner) = @instances[owner.to_s].first
end
