# frozen_string_literal: true

require "set"
require_relative "names"
require_relative "tables"

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
    "Proc" => ["->(*args) { args.first }", "->(*) { nil }", "->(*) { true }", '->(*) { "x" }', '->(*) { raise ArgumentError, "went wrong" }'],
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
  PROBED = %w[String Array Hash Integer Symbol Proc Float Range Regexp StringIO Time Date Set Class StandardError MatchData Method].freeze
  ARITHMETIC = %w[- * / % ** -@ round].freeze
  OBJECT = Object.instance_methods.map(&:to_s).freeze

  attr_reader :instances, :literals

  # How stored objects are made; nil where nothing is stored.
  attr_accessor :records

  def initialize(job, random)
    @random = random
    @pool = job["pool"]
    focus(nil)
    @usages = {}
    @methods = {}
    # Stored classes whose objects are built on demand: {name => class}.
    @later = {}
    @instances = Hash.new { |hash, key| hash[key] = (record = @later.delete(key)) ? @records.instances(record) : [] }
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

  # Literals and patterns are those that this class has to do with, until the next call.
  def focus(owner)
    own = @pool.fetch("by_class", {})[owner] || @pool
    @literals = own["literals"]
    @regexps = own["patterns"]
    @generic = nil
  end

  # Objects of a stored class that the covered files do not speak of cost much and are hardly needed.
  def postpone(name, record)
    @instances.delete(name)
    @later[name] = record
  end

  # Whether the covered files speak of a class.
  def spoken_of?(name)
    last = name.split("::").last
    @sources.to_s.match?(/\b#{Regexp.escape(last)}|#{Regexp.escape(last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase)}/)
  end

  # Objects of those classes for which the block says yes: {name => codes}.
  def instances_of
    (@instances.keys | @later.keys).select { |name| (type = class_named(name)) && yield(name, type) }.to_h { |name| [name, @instances[name]] }
  end

  # Codes for a parameter, the most promising first.
  def for_param(param, owner)
    return param["codes"] if param["codes"]

    usage = spread(param["usage"] || {}, owner)
    list = []
    Array(param["types"]).each { |type| list.concat(of_type(type, owner)) }
    list.concat(of_usage(usage, owner, 0, param["name"]))
    named = of_name(param["name"], owner)
    # That something is asked for whether it is there says less than what it is called.
    list -= ["true"] if usage["truth"] && (named - %w[nil true false]).any? && !Array(usage["equals"]).include?("true")
    list.concat(named)
    list.unshift(spoken(param["name"])) if spoken?(param["name"], list)
    list << param["default"] if param["default"]&.match?(/\A(nil|true|false|-?\d+(\.\d+)?|:\w+|"[^"#]*"|'[^']*'|\[\]|\{\})\z/)
    list << "nil"
    wide = texts(usage, owner) + GENERIC
    list.concat(wide)
    list.uniq.first(90)
  end

  # Values that nobody would choose for a parameter, unless its name or use asks for them.
  ODD = /\A(?:nil|\[\]|\{\}|""|Object|String|->.*|\/.*|\[nil\]|StringIO\.new.*)\z/m.freeze

  PLAIN_CODE = /\A(?:-?\d|["\[{:]|true\z|false\z|nil\z)/.freeze

  def odd?(code, param, owner)
    plain = code.match?(PLAIN_CODE)
    return false unless plain || code.match?(ODD)

    @fitting ||= {}
    fit = @fitting[[owner, param["name"]]] ||= Array(param["types"]).flat_map { |type| of_type(type, owner) } + of_usage(spread(param["usage"] || {}, owner), owner, 0, param["name"]) + of_name(param["name"], owner) + [param["default"]]
    # A plain value is odd where only objects will do.
    !fit.include?(code) && (code.match?(ODD) || fit.any? { |one| one&.match?(/\A[A-Z]\w*[.:(]|\Ainstance_double/) } && fit.none? { |one| one&.match?(PLAIN_CODE) && !%w[nil true].include?(one) })
  end

  # A text that says what it stands for.
  def spoken(name) = name.to_s.tr("_", " ").inspect

  # Names that say something, where nothing better than any text is known.
  def spoken?(name, list) = name.to_s.match?(/\A[a-z]{3,}[a-z_]*\z/) && (list.empty? || ANY_TEXT.include?(list.first))

  # Texts that say nothing.
  ANY_TEXT = (CORE["String"] + [":a", ":foo"] - ['""']).freeze

  def meaningless?(code, param) = ANY_TEXT.include?(code) && param["name"].to_s.match?(/\A[a-z]{3,}[a-z_]*\z/)

  # Calls that change settings of modules, to stand before others: a few of each method.
  def setting(method, code)
    list = (@settings ||= {})[method] ||= []
    list << code if list.length < 3 && (@settings.length <= 12 || mentioned?(method)) && @settings.length <= 60 && !list.include?(code)
  end

  def settings_for(method) = rows_for(method) + (@settings || {}).reject { |other, _| other == method }.sort_by.with_index { |(name, _), place| [mentioned?(name) ? 0 : 1, place] }.flat_map(&:last).first(16)

  # The source of the files that are covered, to know which settings they speak of.
  attr_writer :sources

  def mentioned?(setting) = @sources.to_s.match?(/\b#{Regexp.escape(setting[/\w+(?=[=?!]?\z)/].to_s)}\b/)

  # Rows that a method may find: those of its own class for a class method, else those of the classes that it names.
  def rows_for(method)
    return [] unless @records

    @rows ||= {}
    return @rows[method] if @rows.key?(method)

    @rows[method] = begin
      owner = class_named(method[/\A[\w:]+/])
      # What must be unique is there already.
      return @rows[method] = @records.rows(owner).first(1) if method.end_with?("#valid?") && ProctorDatabase.record?(owner)

      found = ProctorDatabase.record?(owner) && method.include?(".") ? [owner] : []
      found += ((@methods[method] || {})["constants"] || []).map { |name| resolve(name, method[/\A[\w:]+/]) }.select { |mod| ProctorDatabase.record?(mod) }
      found.uniq.flat_map { |record| @records.rows(record) }.first(24)
    end
  end

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
    return responses(type) if type.start_with?("Net::HTTP") && loaded?("Net")
    return ALIASES[type].flat_map { |name| CORE[name] } if ALIASES.key?(type)
    return CORE[type] if CORE.key?(type) && loaded?(type)

    name = resolve(type, owner)&.name
    return [] unless name

    of_class(name)
  end

  # Answers of other machines that are of this class.
  def responses(type)
    wanted = Object.const_get(type)
    return [] unless wanted.is_a?(Class) && wanted <= Net::HTTPResponse

    codes = Net::HTTPResponse::CODE_TO_OBJ.select { |_, klass| klass <= wanted }.first(2)
    codes.map { |code, klass| "http_response(#{klass.name}, #{code.inspect}, \"{}\")" }
  rescue NameError
    []
  end

  def of_class(name)
    return record_codes(name) if @records && ProctorDatabase.record?(class_named(name))

    known = @instances[name].first(6)
    known += (@instances.keys | @later.keys).select { |other| subclass?(other, name) }.flat_map { |other| @instances[other].first(2) }
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

  # What a door to the world outside may answer, from how its answer is used; errors that somebody rescues come last.
  def door_answers(name, usage, owner, rescued)
    target, asked = name.split(".", 2)
    list = target == "Net::HTTP" ? http_answers(asked, usage, owner) : of_usage(usage, owner, 0, asked)
    list = ["yielding"] + list if usage["block"] && list.none? { |code| code.start_with?("yielding") }
    list += %w[true false] if usage["truth"] || list.empty?
    list += ["nil", '"x"', "1", "{}"] unless target == "Net::HTTP"
    (list.first(10) + rescued.map { |type| "raising(#{type}, \"went wrong\")" }.first(4)).uniq
  end

  def combine(one, other)
    one.merge(other) do |_key, left, right|
      case left
      when Array then (left + right).uniq
      when Hash then combine(left, right)
      else left || right
      end
    end
  end

  private

  # Connections of Net::HTTP are stand-ins, answers are real ones that were never sent.
  def http_answers(asked, usage, owner)
    given = usage["element"]
    if given
      answers = given["calls"].to_h.keys.to_h { |name| [name, ProctorWorld::VERBS.include?(name) ? all_responses(owner) : ["nil"]] }
      return varied_answers(answers).map { |one| "yielding(#{ProctorStandIns.code('Net::HTTP', one)})" }
    end
    return ['"{}"', '""'] if asked == "get"
    return all_responses(owner) if ProctorWorld::VERBS.include?(asked)

    answers = usage["calls"].to_h.keys.to_h { |name| [name, ProctorWorld::VERBS.include?(name) ? all_responses(owner) : ["nil"]] }
    answers.empty? ? of_usage(usage, owner, 0, asked) : varied_answers(answers).map { |one| ProctorStandIns.code("Net::HTTP", one) }
  end

  # Ordinary answers, and those of the classes that the owner names.
  def all_responses(owner)
    named = @methods.select { |id, _| id.start_with?("#{owner}#", "#{owner}.") }.flat_map { |_, method| method["constants"] || [] }
    (ProctorWorld::RESPONSES + named.grep(/\ANet::HTTP[A-Z]/).uniq.flat_map { |type| responses(type).first(1) }).uniq.first(12)
  rescue NameError
    ProctorWorld::RESPONSES
  end

  # The first answer of each, then one of them changed at a time.
  def varied_answers(choices)
    full = choices.transform_values(&:first)
    [full, *choices.flat_map { |asked, values| values.drop(1).map { |value| full.merge(asked => value) } }]
  end

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

  # `name` is what the value is called where it is used.
  def of_usage(usage, owner, depth, name = "value")
    return [] if depth > 3

    list = ProctorTables.read?(usage) ? tables(owner) : []
    Array(usage["classes"]).each { |type| list.concat(of_type(type, owner).first(5)) }
    Array(usage["equals"]).each { |code| list.concat(equal_to(code, owner)) }
    Array(usage["bounds"]).each { |code| list.concat(around(code, owner)) }
    Array(usage["patterns"]).each { |code| list.concat(samples(code, owner)) }
    list.concat(hashes(usage, owner, depth)) if usage["keys"]
    list.concat(arrays(usage, owner, depth, name)) if usage["element"]
    list.concat(responders(usage, owner, depth, name))
    list << "nil" if usage["truth"] || usage["calls"]&.key?("nil?")
    list << "true" if usage["truth"]
    list.uniq
  end

  # Tables with the headers that a class speaks of.
  def tables(owner)
    mod = class_named(owner.to_s)
    lists = mod ? mod.constants(false).map { |name| mod.const_get(name) }.select { |value| value.is_a?(Array) && value.any? && value.all?(String) } : []
    ProctorTables.texts(lists, own_words(owner))
  end

  # Words that stand as texts in the file of a class, in order: what it reads by name.
  def own_words(owner)
    (@own_words ||= {})[owner] ||= begin
      path = Object.const_source_location(owner.to_s)&.first
      path ? File.read(path).gsub(/^\s*require.*$/, "").scan(/"([a-z]\w*)"|'([a-z]\w*)'/).flatten.compact.uniq : []
    rescue StandardError
      []
    end
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
    choices = usage["keys"].map do |key, inner|
      name = key.delete("^a-zA-Z0-9_")
      [key, (ProctorNames.values(name) + of_usage(inner, owner, depth + 1, name) + ['"x"', "1"]).uniq.first(5)]
    end
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
    # Asked by a key that is not known, it may as well be a table.
    list.insert(1, "{}") if calls.include?("[]")
    list + inner.map { |item| "[#{item}]" }
  end

  def responders(usage, owner, depth, name)
    calls = (usage["calls"] || {}).keys - OBJECT
    return [] if calls.empty?

    key = [calls, usage, name]
    return @responders[key] if @responders.key?(key)

    @responders[key] = begin
      core = PROBED.select { |type| loaded?(type) && calls.all? { |name| Object.const_get(type).method_defined?(name) } }
      # Texts and lists can be multiplied too, but who calculates means numbers.
      core = ["Array"] | core if core.include?("Array") && name.to_s.match?(/[a-z]{3,}[^s]s\z/) && ProctorNames.types(name).empty?
      core = (ProctorNames.types(name) & core) | core
      # What has a name is a thing rather than a symbol or a class.
      core -= %w[Symbol Class Method] if calls.include?("name") && (ProctorNames.types(name) & %w[Symbol Class]).empty?
      core = %w[Integer Float] | core if calls.any? { |name| ARITHMETIC.include?(name) } && core.include?("Integer")
      further = asks_further?(usage)
      core = [] if further
      list = core.first(4).flat_map { |type| CORE[type].first(type == core.first ? 12 : 4) }
      own = instances_of { |_, type| calls.all? { |call| type.method_defined?(call) } }
      stored = own.keys.select { |one| @records && ProctorDatabase.record?(class_named(one)) }
      return @responders[key] = record_codes(stored_as(stored, name)) + ["nil"] if stored.any? && core.empty?

      # Where Ruby's own values do, those of a class are meant only if it is called like that.
      own = own.select { |one, _| stored_as([one], name, nil) } unless core.empty?
      mine = own.values.flat_map { |codes| codes.first(3) }.first(10)
      mine = [] if further
      list = core.empty? || calls.length > 2 ? mine + list : list + mine
      list.concat(doubles(usage, owner, depth, name)) if core.empty?
      partial(calls).each { |type| list.concat(CORE[type].first(4)) } if list.empty?
      list
    end
  end

  # Whether what a call gives back is asked for something that no plain value answers: then it is no list that `find` is called on.
  def asks_further?(usage)
    usage["calls"].any? do |asked, inner|
      further = (inner["calls"] || {}).keys - OBJECT
      !asked.match?(/\A(?:dig|fetch|\[\])\z/) && further.any? { |name| PLAIN.none? { |type| type.method_defined?(name) } }
    end
  end

  PLAIN = [String, Array, Hash, Integer, Float, Symbol, Proc, Range, Regexp, Time, MatchData, Method, Enumerator, Module].freeze

  def partial(calls)
    scored = PROBED.select { |type| loaded?(type) }.map { |type| [calls.count { |name| Object.const_get(type).method_defined?(name) }, type] }
    scored.select { |score, _| score * 2 >= calls.length && score.positive? }.max_by(2, &:first).map(&:last)
  end

  # A stand-in that answers what is asked of it.
  def doubles(usage, owner, depth, name)
    return [] if depth > 2

    names = (usage["calls"].keys - OBJECT).select { |asked| asked.match?(/\A[a-z_]\w*[?!=]?\z/) }.first(12)
    # What a factory makes needs no stand-in.
    return [] if names.empty? || ProctorFactories.known?(ProctorStandIns.type(name, names, @classes).to_s)

    choices = names.to_h { |asked| [asked, answers(usage["calls"][asked], owner, depth, asked)] }
    varied_answers(choices).first(14).map { |chosen| ProctorStandIns.code(name, chosen, @classes) }
  end

  # What a stand-in may answer when it is asked this.
  def answers(usage, owner, depth, asked)
    return yielding(usage, owner, depth, asked) if usage["block"]
    return %w[true false] if asked.end_with?("?")
    return ["nil"] if asked.end_with?("=")

    values = of_usage(usage, owner, depth + 1, asked)
    # Whether there is anything matters more than what it is.
    values = [values.first, "nil", *values.drop(1)] if values.include?("nil")
    return values.uniq.first(6) unless values.empty?
    return %w[true nil] if ProctorNames.order?(asked)

    values = of_name(asked, owner).first(3)
    values.empty? ? [asked.tr("_", " ").inspect, "1", "nil"] : values
  end

  # A stand-in that is given a block calls it, with what the block uses.
  def yielding(usage, owner, depth, asked)
    return ["yielding"] unless usage["element"]

    given = of_usage(usage["element"], owner, depth + 1, asked.to_s.delete_suffix("s")).first(5)
    given = ['"x"'] if given.empty?
    given.map { |code| "yielding(#{code})" }
  end

  def of_name(name, owner)
    own = @classes.select { |klass| klass.split("::").last.downcase == name.to_s.delete("_").downcase }
    list = own.flat_map { |klass| of_class(klass) }
    list.concat(of_identifier(name))
    list.concat(record_ids(name, owner)) if @records
    list.concat(ProctorNames.values(name))
    list.concat(ProctorNames.types(name).select { |type| loaded?(type) }.flat_map { |type| CORE[type].first(6) })
    list << owner_instance(owner) if name == "other"
    list.compact
  end

  # Of the classes that would do, the one that is called like the value.
  def stored_as(names, word, otherwise = names.first)
    plain = word.to_s.delete("_@").downcase
    names.find { |name| plain == name.split("::").last.downcase } || names.find { |name| plain.end_with?(name.split("::").last.downcase) } || otherwise
  end

  # Objects of a stored class: stored ones first, in all their variants; doubles of them would show nothing.
  def record_codes(name)
    (@record_codes ||= {})[[name, @instances[name].length]] ||= begin
      stored, others = @instances[name].partition { |code| code.match?(ProctorStandIns::STORED) }
      (stored.first(40) + others.first(6)).uniq
    end
  end

  # Keys of stored objects: `order_id`, or `id` of the class itself. Keys are never written as numbers.
  def record_ids(name, owner)
    return [] unless name.to_s.match?(/(?:\A|_)ids?\z/)

    word = name.to_s.sub(/_?ids?\z/, "")
    record = word.empty? ? class_named(owner.to_s) : ProctorDatabase.records.find { |one| one.name.split("::").last.downcase == word.delete("_") }
    return [] if !ProctorDatabase.record?(record) || ProctorFactories.known?(record.name)

    made = @records.stored(record)
    return [] unless made

    name.to_s.end_with?("ids") ? ["[#{made}.id]", "[]"] : ["#{made}.id", "0"]
  end

  # `order_id`: of an object that is stored, in each of its states.
  def of_identifier(name)
    word = name.to_s[/\A(\w+)_id\z/, 1]
    own = word ? @classes.select { |klass| klass.split("::").last.downcase == word.delete("_").downcase } : []
    own.flat_map { |klass| ProctorFactories.codes(klass).map { |code| "#{ProctorFactories.with_strategy(code, 'create')}.id" } }
  end

  def owner_instance(owner) = @instances[owner.to_s].first
end
