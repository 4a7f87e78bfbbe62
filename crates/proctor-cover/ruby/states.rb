# frozen_string_literal: true

# States of objects: which sequences of calls bring an object into a state that no other does. Breadth first, so that short
# sequences come first; a state is what an object's variables hold, without what cannot matter to a branch.
module ProctorStates
  # Calls made for one class, states kept, calls in a sequence, argument lists of one method.
  TRIED = 800
  KEPT = 60
  LONGEST = 4
  ARGUMENTS = 3
  # How a block begins that fails.
  FAILING = "{ raise "
  # Attributes that are assigned, of one class.
  ASSIGNED = 16

  private

  # Objects in more states, for classes of which something is still open.
  def search_states
    open = @instance_methods.reject { |method, _| complete?(method) && !met_open?(method) }.map(&:last).uniq
    work(open.map { |klass| [klass, nil] }, 60, nil, ProctorObserve::REPEATED) do |(klass, _), out|
      @execute.watch
      states_of(klass).each { |code| out.puts(JSON.generate("type" => "state", "class" => klass["name"], "code" => code)) }
    end
  end

  def states_of(klass)
    @known ||= @job["classes"].to_h { |one| [one["name"], true] }
    calls = changing_calls(klass)
    open = @values.instances[klass["name"]].first(4).map { |code| [code, 0] }
    seen = open.to_h { |code, _| [signature(@execute.value_of(code)), true] }
    found = []
    tried = 0
    while (code, depth = open.shift)
      calls.each do |call|
        return found if (tried += 1) > TRIED || found.length >= KEPT

        made = ProctorStandIns.followed_by(code, call)
        state = signature(@execute.value_of(made))
        # Blocks look alike from outside: one that fails is tried on the plain object whatever it looks like.
        next if state.nil? || (seen[state] && !(depth.zero? && call.include?(FAILING)))

        seen[state] = true
        found << made
        open << [made, depth + 1] if depth + 1 < LONGEST
      end
    end
    found
  end

  # Calls of the public methods that may change something, with a few arguments each: those that did something before, then likely ones.
  def changing_calls(klass)
    queries = klass["queries"] || []
    methods = klass["methods"].select { |method| method["scope"] != "class" && klass["module"].method_defined?(method["name"]) && method["name"].match?(/\A[a-z_]\w*[!=]?\z/) }
    methods.reject { |method| method["name"] == "initialize" || queries.include?(method["name"]) }.flat_map do |method|
      known = @cases.select { |one| one["method"] == method["id"] && one["locals"].nil? && one["stubs"].nil? }.sort_by { |one| [one["cost"], one["number"]] }.map { |one| [one["args"], one["keys"]] }
      chosen = (known.first(ARGUMENTS) + likely(method, klass)).uniq.first(ARGUMENTS * 2)
      chosen.map { |args, keys| call_of(method, args, keys) } + with_kept_block(method, klass, chosen.first(ARGUMENTS) | likely(method, klass).first(2))
    end.concat(assignments(klass)).uniq
  end

  # Assignments to attributes whose writers nobody wrote out: `attr_accessor`, `Struct`, inherited ones.
  def assignments(klass)
    mod = klass["module"]
    written = klass["methods"].map { |method| method["name"] }
    names = mod.public_instance_methods.map(&:to_s).grep(/\A[a-z_]\w*=\z/).sort - written
    names.select { |name| @known[mod.instance_method(name).owner.name] }.first(ASSIGNED).flat_map do |name|
      plain = name.delete_suffix("=")
      values = @values.for_param({ "name" => plain, "usage" => (klass["attributes"] || {})[plain] }, klass["name"]) - ["nil"]
      [*values.first(ARGUMENTS), "nil"].map { |value| "it.#{plain} = #{value}" }
    end
  end

  def likely(method, klass)
    needed = method["params"].select { |param| %w[required key].include?(param["kind"]) }
    lists = needed.to_h { |param| [param["name"], @values.for_param(param, klass["name"])] }
    plainest = (0...ARGUMENTS).map do |place|
      value = ->(param) { lists[param["name"]][place] || lists[param["name"]].first || "nil" }
      keys, plain = needed.partition { |param| param["kind"] == "key" }
      [plain.map(&value), keys.to_h { |param| [param["name"], value[param]] }]
    end
    [plainest.first, *with_optional(method, klass, plainest.first), *plainest.drop(1)]
  end

  # The same with one argument more that could be left out.
  def with_optional(method, klass, (args, keys))
    more = method["params"].select { |param| %w[optional optional_key].include?(param["kind"]) }
    first = more.find { |param| param["kind"] == "optional" }
    (more.select { |param| param["kind"] == "optional_key" } + [first].compact).first(ARGUMENTS).filter_map do |param|
      value = @values.for_param(param, klass["name"]).find { |code| code != "nil" && code != param["default"] }
      next unless value

      param["kind"] == "optional" ? [args + [value], keys] : [args, keys.merge(param["name"] => value)]
    end
  end

  # What is given a block may keep it; a class that rescues expects that it fails.
  def with_kept_block(method, klass, chosen)
    return [] unless method["yields"] && !method["name"].end_with?("=")

    failing = (klass["rescued"] || []).first(1).map { |type| "#{FAILING}#{type}, \"went wrong\" }" }
    [ProctorExplore::BLOCKS.first, *failing].flat_map do |block|
      chosen.map { |args, keys| ProctorCase.new(method: method, receiver: "it", args: args, keys: keys, block: block).code }
    end
  end

  def call_of(method, args, keys)
    return "it.#{method['name'].delete_suffix('=')} = #{args.first}" if method["name"].end_with?("=")

    ProctorCase.new(method: method, receiver: "it", args: args, keys: keys).code
  end

  # What an object holds, as far as a branch may depend on it; nil where there is no object.
  def signature(value)
    return nil if nil.equal?(value) || !(Object === value)

    return [value.new_record?, value.attributes.values.map { |one| part(one) }, ProctorDatabase.counts.values] if ProctorRecords.record?(value)

    value.instance_variables.map { |name| [name, part(value.instance_variable_get(name))] }
  rescue StandardError
    nil
  end

  def part(value)
    case value
    when nil, true, false, Symbol then value
    when Integer then value.clamp(-2, 4)
    when Array then [:list, [value.length, 5].min, value.first(4).map { |item| item.is_a?(Hash) ? [item.length, item.values.grep(Integer).map { |number| number.clamp(-1, 3) }] : item.class.hash }]
    when Hash then [:table, [value.length, 5].min, value.values.first(4).map { |item| item.is_a?(Integer) ? item.clamp(-1, 3) : item.class.hash }]
    when String then [:text, [value.length, 1].min]
    else ProctorExplore::KIND.bind_call(value).hash
    end
  end
end
