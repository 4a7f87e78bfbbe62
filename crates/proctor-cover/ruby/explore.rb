# frozen_string_literal: true

require "json"

# Looks for calls of one method that do different things: promising values first, then variations of what worked.
class ProctorExplore
  BLOCKS = ["{ |*args| args.first }", "&probe", "{ |*args| args }", "{ true }", "{ nil }", '{ "x" }', "{ |*args| args.length }", "{ false }", "{ [] }", "{ {} }"].freeze

  def initialize(execute, values, covered, out)
    @execute = execute
    @values = values
    @covered = covered
    @out = out
  end

  # Explores until nothing new comes, or the allowance is used up.
  def method(method, klass, receivers, allowance)
    @method = method
    @owner = klass["name"]
    @random = Random.new(method["id"].sum)
    @tried = {}
    @corpus = []
    @shapes = Hash.new(0)
    @digests = {}
    @base = nil
    @fresh = 0
    @left = allowance["tries"]
    @deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + allowance["seconds"]
    @blocked = Hash.new(0)
    @receivers = receivers
    @params = method["params"]
    @lists = @params.map { |param| [param["name"], @values.for_param(param, @owner)] }.to_h
    catch(:enough) { search }
    report
  end

  private

  def search
    return if @receivers.empty?

    simplest
    each_receiver
    one_at_a_time
    sweep
    vary
  end

  # The required arguments only, in a few combinations.
  def simplest
    required = @params.select { |param| %w[required key].include?(param["kind"]) }
    attempt(make({}))
    8.times { |place| attempt(make(required.to_h { |param| [param["name"], @lists[param["name"]][place]] })) }
  end

  def each_receiver
    @receivers.drop(1).each { |receiver| attempt(make(@base ? @base[0].dup : {}, receiver: receiver)) }
  end

  def one_at_a_time
    blocks = @method["yields"] ? BLOCKS : []
    blocks.each { |block| attempt(make(given, block: block)) }
    @params.each do |param|
      next if %w[block forward].include?(param["kind"])

      @lists[param["name"]].each_with_index do |value, place|
        attempt(make(given.merge(param["name"] => value)))
        attempt(make(given.merge(param["name"] => value), block: BLOCKS[place % 2])) if blocks.any? && place < 12
      end
    end
  end

  # Everything with everything, the promising ones more often.
  def sweep
    times = [@left / 2, 30 * (@params.length + 1)].min
    times.times do
      chosen = @params.reject { |param| %w[block forward].include?(param["kind"]) }.to_h do |param|
        optional = %w[optional optional_key rest key_rest].include?(param["kind"])
        [param["name"], optional && @random.rand < 0.4 ? nil : pick(@lists[param["name"]])]
      end
      attempt(make(chosen.compact, receiver: pick(@receivers), block: block))
    end
  end

  # Small changes of what did something new.
  def vary
    idle = 0
    while idle < 150
      break if @corpus.empty? || done?

      base = @corpus[@random.rand(@corpus.length)]
      chosen = base[:chosen].dup
      if chosen.empty? || @random.rand < 0.3
        receiver = pick(@receivers)
        receiver = swap(receiver) if receiver && @random.rand < 0.5
        found = attempt(make(chosen, receiver: receiver, block: block))
      else
        name = chosen.keys[@random.rand(chosen.length)]
        chosen[name] = change(chosen[name], @lists[name])
        found = attempt(make(chosen, receiver: base[:attempt].receiver, block: base[:attempt].block))
      end
      idle = found ? 0 : idle + 1
    end
  end

  def block
    @method["yields"] && @random.rand < 0.6 ? BLOCKS[@random.rand(BLOCKS.length)] : nil
  end

  def pick(list)
    return nil if list.nil? || list.empty?

    list[(list.length * (@random.rand**2)).floor]
  end

  def change(code, list)
    case @random.rand(6)
    when 0, 1 then pick(list) || code
    when 2 then @values.generic[@random.rand(@values.generic.length)]
    when 3 then swap(code)
    else deform(code, list)
    end
  end

  TOKEN = /"(?:[^"\\]|\\.)*"|(?<![\w.:"])-?\d+(?:\.\d+)?(?![\w.])|(?<![\w:]):[a-z_]\w*/.freeze

  # Another literal of the same kind somewhere in the code.
  def swap(code)
    places = []
    code.scan(TOKEN) { places << $~.offset(0) }
    return code if places.empty?

    from, to = places[@random.rand(places.length)]
    code[0...from] + other_token(code[from...to]) + code[to..]
  end

  def other_token(token)
    kind = token[0] == '"' ? '"' : token[0] == ":" ? ":" : nil
    pool = kind ? @values.literals.select { |code| code.start_with?(kind) } : @values.literals.grep(/\A-?\d/) + %w[0 1 2 100 -1 10000]
    pool += ['""', '"a"'] if kind == '"'
    pool.empty? ? token : pool[@random.rand(pool.length)]
  end

  def deform(code, list)
    case code
    when /\A-?\d+\z/ then (code.to_i + [-1, 1, 10, -10, 100].sample(random: @random)).to_s
    when /\A"/ then text(code, list)
    when /\A\[(.+)\]\z/m then ["[#{$1}, #{pick(@values.generic)}]", "[#{$1}, #{$1}]", "[[#{$1}]]"].sample(random: @random)
    when /\A\{ (.+) \}\z/m then "{ #{$1}, #{%w[a b name].sample(random: @random)}: #{pick(@values.generic)} }"
    else pick(list) || code
    end
  end

  def text(code, list)
    own = eval(code)
    other = list.select { |item| item.start_with?('"') }
    other = other.empty? ? "a" : eval(other[@random.rand(other.length)])
    place = @random.rand(own.length + 1)
    changed =
      case @random.rand(6)
      when 5 then "#{own} #{other}"
      when 0 then own + other
      when 1 then own.dup.insert(place, other)
      when 2 then own.length > 1 ? own[0...place] + own[place + 1..].to_s : own
      when 3 then own + [" ", "\n", "-", "1", "A", ":", "/"].sample(random: @random)
      else other + own
      end
    changed.length < 120 ? changed.inspect : code
  rescue StandardError, SyntaxError
    code
  end

  # What worked best so far, to vary one thing at a time.
  def given = @base ? @base[0] : {}

  def make(chosen, receiver: nil, block: nil)
    args = []
    keys = {}
    positional = true
    @params.each do |param|
      name = param["name"]
      list = @lists[name]
      case param["kind"]
      when "required" then args << (chosen[name] || list.first || "nil")
      when "optional"
        positional &&= chosen.key?(name)
        args << chosen[name] if positional
      when "rest" then args.concat(splat(chosen[name])) if chosen.key?(name)
      when "key" then keys[name] = chosen[name] || list.first || "nil"
      when "optional_key" then keys[name] = chosen[name] if chosen.key?(name)
      when "key_rest" then keys.merge!(options(chosen[name])) if chosen.key?(name)
      end
    end
    used = receiver || (@base && @base[1]) || @receivers.first
    [ProctorCase.new(method: @method, receiver: used, args: args, keys: keys, block: block || default_block), chosen]
  end

  def default_block
    @base ? @base[2] : nil
  end

  def splat(code)
    code.match?(/\A\[.+\]\z/m) && !code.include?("[[") && code.count("[") == 1 ? code[1...-1].split(", ") : [code]
  end

  def options(code)
    value = @execute.value_of(code)
    return {} unless value.is_a?(Hash)

    value.to_h { |key, item| [key, @execute.render.code(item)] }
         .select { |key, text| key.is_a?(Symbol) && key.match?(/\A[a-z_]\w*\z/) && text }.transform_keys(&:to_s)
  end

  def attempt((attempt, chosen))
    return false if @tried[attempt.key]

    @tried[attempt.key] = true
    throw :enough if (@left -= 1).negative? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > @deadline
    result = @execute.run(attempt)
    if %i[blocked invalid].include?(result.kind)
      @blocked[result.reason] += 1 if result.kind == :blocked
      return false
    end
    keep(attempt, chosen, result)
  end

  def keep(attempt, chosen, result)
    fresh = result.seen.reject { |key| @covered[key] }
    shape = [result.seen.sort, result.kind, result.noise].hash
    better = @base.nil? || (@base[3] && !result.noise)
    @base = [chosen, attempt.receiver, attempt.block, result.noise] if better
    return false if result.noise && fresh.empty?
    return false if @digests[[shape, result.digest]] || @shapes[shape] >= 14 || @corpus.length >= 220

    again = elsewhere { @execute.run(attempt) }
    result = @execute.agreed(result, again)
    return false unless result

    @digests[[shape, result.digest]] = true
    @shapes[shape] += 1
    # A call that only failed by accident leaves what it reached open for a better one.
    fresh.each { |key| @covered[key] = true } unless result.noise
    @corpus << { attempt: attempt, chosen: chosen }
    @base = [chosen, attempt.receiver, attempt.block, false] if !result.noise && fresh.length > 1 && result.kind == :return
    tell(attempt, result)
    !fresh.empty?
  end

  # Under another program name and at another time.
  def elsewhere
    name = $PROGRAM_NAME
    $PROGRAM_NAME = "other"
    ProctorClock.shift = 3_000_000
    yield
  ensure
    $PROGRAM_NAME = name
    ProctorClock.shift = 0
  end

  def done?
    from, to = @method["probes"]
    (from...to).all? { |id| @covered[(id << 1) + 1] && (@method["plain"].include?(id) || @covered[id << 1]) }
  end

  def tell(attempt, result)
    line = { "type" => "case", "method" => @method["id"], "receiver" => attempt.receiver, "args" => attempt.args,
             "keys" => attempt.keys, "block" => attempt.block, "seen" => result.seen,
             "observations" => result.observations.map { |one| one.reject { |key, _| key == "parts" } },
             "noise" => result.noise, "cost" => attempt.cost, "outcome" => result.kind }
    owner = result.value.class.name if result.kind == :return && attempt.block != "&probe"
    line["instance"] = owner if owner && attempt.cost < 120
    line["instance_code"] = attempt.code if line["instance"]
    line["shape"] = shape_of(result.value) if line["instance"]
    line["changed"] = mutation(attempt) if result.changed && attempt.cost < 100 && attempt.block.nil?
    @out.puts(JSON.generate(line))
  rescue JSON::GeneratorError, EncodingError
    nil
  end

  # What kind of object it is inside: two of the same shape teach little more than one.
  def shape_of(value)
    value.instance_variables.map do |name|
      inner = value.instance_variable_get(name)
      next "nil" if inner.nil?

      inner.respond_to?(:empty?) && inner.empty? ? "empty" : inner.class.name
    end.join(",")
  rescue StandardError
    ""
  end

  # The receiver after the call, as an expression.
  def mutation(attempt)
    inner = ProctorCase.new(**attempt.to_h, receiver: "it").code
    return nil if attempt.receiver.include?(".tap")

    name = attempt.method["name"]
    inner = "it.#{name.delete_suffix('=')} = #{attempt.args.first}" if name.match?(/\A\w+=\z/)
    "#{attempt.receiver}.tap { |it| #{inner} }"
  end

  def report
    @out.puts(JSON.generate("type" => "explored", "method" => @method["id"], "tries" => @tried.length, "blocked" => @blocked.max_by(&:last)&.first))
  end
end
