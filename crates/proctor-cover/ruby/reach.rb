# frozen_string_literal: true

# How methods are reached: objects with other collaborators, doors to the world outside with their answers; and for a method
# that no call could be found for, what was missing.
module ProctorReach
  # Objects made for one class by exchanging one argument of its constructor, and values of one argument that are tried.
  VARIANTS = 60
  EACH_ARGUMENT = 12
  # Stored objects differ in one attribute each.
  EACH_STORED = 30
  # Objects made with other arguments, where there are no collaborators.
  GIVEN = 12
  # Blocks for constructors that keep one.
  KEPT_BLOCKS = ["{ |*args| args.first }", "{ |*args| args }"].freeze

  private

  # Calls that leave the program, under their full names, with what may answer them.
  def doors
    found = Hash.new { |hash, name| hash[name] = {} }
    @job["classes"].each do |klass|
      klass["methods"].each do |method|
        (method["doors"] || []).each { |name, usage| add_door(name, usage, klass, method, found) }
      end
    end
    found.to_h { |name, entry| [name, @values.door_answers(name, entry["usage"] || {}, entry["owner"], entry["rescues"])] }
  end

  def add_door(name, usage, klass, _method, found)
    written, called = name.split(".", 2)
    owner = @values.resolve(written.delete_prefix("::"), klass["name"])
    return unless owner.is_a?(Module) && owner.name && owner.name != klass["name"] && !ProctorRailsEffects.collects?(owner)

    entry = found["#{owner.name}.#{called}"]
    entry["usage"] = entry["usage"] ? @values.combine(entry["usage"], usage) : usage
    entry["owner"] ||= klass["name"]
    entry["rescues"] = (entry["rescues"] || []) | rescued_in(klass)
  end

  # Errors that a class rescues somewhere, by their full names.
  def rescued_in(klass)
    klass["rescued"] ||= klass["methods"].flat_map { |method| method["rescues"] || [] }.uniq.filter_map do |name|
      type = @values.resolve(name.delete_prefix("::"), klass["name"])
      type.name if type.is_a?(Class) && type <= Exception && type.name
    end
  end

  # Objects like the first that could be made, each with another value for one argument of the constructor: what they are
  # given cannot be seen from outside, so that all of them look alike when they are made.
  def variants(klass)
    constructor = klass["methods"].find { |method| method["name"] == "initialize" }
    return [] unless constructor && klass["module"].is_a?(Class)

    params = constructor["params"].select { |param| %w[required key optional optional_key].include?(param["kind"]) }
    lists = params.to_h { |param| [param["name"], @values.for_param(param, klass["name"]).then { |codes| codes.first(codes.first.to_s.match?(ProctorStandIns::STORED) ? EACH_STORED : EACH_ARGUMENT) }] }
    plain = params.select { |param| %w[required key].include?(param["kind"]) }.to_h { |param| [param["name"], lists[param["name"]].first || "nil"] }
    unless lists.values.flatten.any? { |code| code.include?("instance_double(") }
      # What may be left out is given once, and what must be given is given otherwise.
      changed = params.flat_map { |param| lists[param["name"]].first(3).map { |value| plain.merge(param["name"] => value) } }
      return (with_block(klass, params, plain) + in_turn(changed, params.length).uniq.map { |chosen| constructed(klass["name"], params, chosen) }).first(GIVEN)
    end
    changed = params.flat_map { |param| lists[param["name"]].map { |value| plain.merge(param["name"] => value) } }
    [plain, *in_turn(changed, params.length)].uniq.map { |chosen| constructed(klass["name"], params, chosen) }.first(VARIANTS) + with_block(klass, params, plain)
  end

  # An object that was given a block: what it does with it shows later.
  def with_block(klass, params, plain)
    return [] unless keeps_block?(klass)

    KEPT_BLOCKS.map { |block| "#{constructed(klass['name'], params, plain).delete_suffix('()')} #{block}" }
  end

  def keeps_block?(klass) = klass["methods"].any? { |method| method["name"] == "initialize" && method["params"].any? { |param| param["kind"] == "block" } }

  # A `Struct` or `Data`, by the names of its members; then one of numbers, one of texts.
  def record_instances(klass, mod)
    members = klass["members"].first(8)
    keys = mod.respond_to?(:keyword_init?) && mod.keyword_init?
    choices = [members.map.with_index { |name, place| ProctorNames.values(name).first || ['"a"', "1", "nil"][place % 3] }, members.map { "1" }, members.map { '"a"' }, members.each_index.map { |place| (place + 2).to_s }]
    choices.uniq.map { |values| "#{klass['name']}.new(#{(keys ? members.zip(values).map { |name, value| "#{name}: #{value}" } : values).join(', ')})" }
  end

  # Values of all arguments by turns.
  def in_turn(list, count) = count.zero? ? [] : list.each_slice((list.length / count.to_f).ceil.clamp(1, 1_000)).to_a.then { |slices| (0...slices.map(&:length).max.to_i).flat_map { |place| slices.filter_map { |slice| slice[place] } } }

  def constructed(name, params, chosen)
    args = params.filter_map do |param|
      value = chosen[param["name"]]
      next unless value

      %w[key optional_key].include?(param["kind"]) ? "#{param['name']}: #{value}" : value
    end
    "#{name}.new(#{args.join(', ')})"
  end

  # Objects after several calls of one method that changes them, each time with something else: full, sorted, more than one.
  GROWN = [2, 3, 4, 6].freeze
  LETTERS = %w[a b c d e f].freeze

  def grow
    changing = @cases.select { |one| one["changed"] && !one["noise"] && !one["receiver"].include?(ProctorStandIns::CHANGED) && one["locals"].nil? }
    changing.group_by { |one| one["method"] }.each_value do |list|
      one = list.min_by { |line| [line["args"].any? { |code| code.match?(/"|\d|:[a-z]/) } ? 0 : 1, line["cost"], line["number"]] }
      call = ->(turn) { ProctorCase.new(**attempt_of(one).to_h, receiver: "it", args: one["args"].map { |code| another(code, turn) }).code }
      next if one["method"].match?(/[^\w?!]\z/)

      GROWN.each do |count|
        [(0...count).to_a, (0...count).to_a.reverse].uniq.first(count > 2 ? 1 : 2).each do |turns|
          add_instance(one["method"][/\A[\w:]+/], "#{one['receiver']}#{ProctorStandIns::CHANGED}#{turns.map(&call).join('; ')} }", 80)
        end
      end
    end
  end

  # The same value in another turn: another name, another number.
  def another(code, turn)
    case code
    when /\A"(\w*)"\z/ then "#{$1}#{LETTERS[turn] || turn}".inspect
    when /\A:\w+\z/ then ":#{LETTERS[turn] || 'z'}"
    when /\A-?\d+\z/ then (code.to_i + turn).to_s
    else code
    end
  end

  # Says for every selected method without a call that shows something what was missing.
  def say_unreached
    shown = @cases.reject { |one| one["noise"] || one["stable"].to_a.empty? }.to_h { |one| [one["method"], true] }
    @job["classes"].each do |klass|
      klass["methods"].each do |method|
        next if !method["selected"] || shown[method["id"]]

        say("type" => "unreached", "method" => method["id"], "reason" => why_unreached(method, klass))
      end
    end
  end

  def why_unreached(method, klass)
    id = method["id"]
    explored = @explored[id]
    return "#{klass['name']} is not there after its file was loaded" unless klass["module"]
    return "#{klass['name']} has no public method of this name after its file was loaded" if (@absent ||= {})[id]
    return no_instance(klass) if explored && explored["tries"].zero? && explored["receivers"].zero?
    return "what it does is not the same every time, or disturbs other examples" if (@withdrawn ||= {})[id]
    return "exploring it was ended: it takes too long, needs too much memory, or ends its process" unless explored
    return "every call was stopped: #{explored['blocked']}" if explored["blocked"] && explored["failure"].nil?

    explored["failure"] ? "every call failed: #{explored['failure']} (#{explored['tries']} tried)" : "nothing that it does can be seen from outside (#{explored['tries']} calls tried)"
  end

  def no_instance(klass)
    stored = @values.records&.failures.to_h[klass["name"]]
    return "no #{klass['name']} could be stored: #{stored}" if stored

    constructor = @explored["#{klass['name']}#initialize"]
    why = constructor && (constructor["failure"] || constructor["blocked"])
    "no #{klass['name']} could be made#{": #{why}" if why}"
  end
end
