# frozen_string_literal: true

# What is said about a call that is worth keeping: how it is written in a spec, what it makes or changes for others.
# Needs `@execute`, `@values`, `@method`, `@params`, `@made_with`, `@owner` and `@out`.
module ProctorCaseLines
  # Calls after each other that bring an object into a state.
  STEPS = 4
  # Of a call that makes or changes an object for others, in what there is to read.
  LARGEST = 700

  # A stand-in without a name of its own.
  UNNAMED = 'instance_double("Collaborator"'

  private

  def tell(attempt, result)
    written, result = with_variables(attempt, result)
    return false unless result

    line = { "type" => "case", "method" => @method["id"], "receiver" => written.receiver, "args" => written.args,
             "keys" => written.keys, "block" => attempt.block, "names" => attempt.names, "stubs" => attempt.stubs,
             "locals" => written.locals, "before" => written.before, "setup" => written.setup, "seen" => result.seen,
             "observations" => result.observations.map { |one| one.reject { |key, _| key == "parts" } },
             "noise" => result.noise, "cost" => attempt.cost + oddity(attempt), "outcome" => result.kind }
    owner = ProctorExplore::KIND.bind_call(result.value).name if result.kind == :return && attempt.block != "&probe" && attempt.locals.nil?
    line["instance"] = owner if owner && attempt.cost < LARGEST && attempt.stubs.nil? && attempt.before.nil?
    line["instance_code"] = attempt.code if line["instance"]
    line["shape"] = shape_of(result.value) if line["instance"]
    line["changed"] = mutation(attempt) if result.changed && attempt.cost < LARGEST && attempt.block != "&probe" && attempt.stubs.nil? && attempt.locals.nil? && attempt.before.nil?
    line["prelude"] = prelude(attempt) if prelude?(attempt, result)
    @out.puts(JSON.generate(line))
    true
  rescue JSON::GeneratorError, EncodingError
    false
  end

  # What a reader would wonder about: arguments that nothing asks for.
  def oddity(attempt)
    named = (attempt.names || []).zip(attempt.args).select(&:first) + attempt.keys.to_a
    odd_answers(attempt) * 40 + named.count { |name, code| odd?(name, code) } * 40 + named.count { |name, code| meaningless?(name, code) } * 12
  end

  # Answers of stand-ins that are no such thing as they are called: a text for a time.
  def odd_answers(attempt)
    attempt.codes.grep(/instance_double\(/).sum do |code|
      code.scan(/\b([a-z]\w*): "x\w*"/).count { |(name)| (types = ProctorNames.types(name)).any? && !types.include?("String") }
    end
  end

  def meaningless?(name, code)
    param = @params&.find { |one| one["name"] == name }
    param && code && @values.meaningless?(code, param)
  end

  def odd?(name, code)
    param = @params&.find { |one| one["name"] == name }
    param && code && @values.odd?(code, param, @owner)
  end

  # Stand-ins become variables of the example, so that it can say what they were asked.
  def with_variables(attempt, result)
    parts = [attempt.receiver, *attempt.args, *attempt.keys.values, *(attempt.stubs || {}).values]
    rows = ProctorStandIns.statements(attempt.before.to_s)
    return [attempt, result] if (parts + rows).none? { |code| ProctorStandIns.steps?(code) } || attempt.locals&.key?("host")

    # A part was changed since the others became variables.
    attempt = named_after_parameters(ProctorStandIns.inlined(attempt))
    stubs = attempt.stubs || {}
    parts = [attempt.receiver, *attempt.args, *attempt.keys.values, *stubs.values]

    avoid = [@method["id"][/\A[\w:]+/].split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase]
    # An object that a factory makes is a variable itself, and may have the name of its class.
    avoid = [] if attempt.receiver.match?(/\A#{ProctorFactories::CALL}/)
    rows, settings = ProctorStandIns.statements(attempt.before.to_s).partition { |code| code.match?(ProctorStandIns::STORED) }
    codes, locals = ProctorStandIns.hoisted(rows + parts, avoid)
    receiver, *rest = codes.drop(rows.length)
    written = ProctorCase.new(**attempt.to_h, receiver: receiver, args: rest.shift(attempt.args.length),
                              keys: attempt.keys.keys.zip(rest.shift(attempt.keys.length)).to_h, stubs: attempt.stubs && stubs.keys.zip(rest).to_h, locals: locals,
                              before: settings.empty? ? nil : settings.join("; "))
    again = @execute.run(written)
    again.kind == result.kind ? [written, @execute.agreed(again, @execute.run(written))] : [written, nil]
  end

  # A stand-in that was found by what it must answer is called what its parameter is called.
  def named_after_parameters(attempt)
    args = attempt.args.each_with_index.map do |code, place|
      name = (attempt.names || [])[place]
      name ? named_after(name, code) : code
    end
    keys = attempt.keys.to_h { |name, code| [name, named_after(name, code)] }
    ProctorCase.new(**attempt.to_h, args: args, keys: keys, receiver: named_parts(attempt.receiver))
  end

  def named_after(name, code)
    code.start_with?(UNNAMED) ? code.sub(UNNAMED) { "instance_double(#{ProctorStandIns.type(name, [:proctor_none], [])}" } : code
  end

  # The same for what an object is made with.
  def named_parts(code)
    opening = "#{@owner}.new("
    return code unless code.start_with?(opening) && code.include?(UNNAMED)

    ProctorCode.arguments(code, opening.length).each_with_index.reverse_each do |(from, to), place|
      given = code[from...to]
      key = given[/\A[a-z_]\w*: /].to_s
      name = key.empty? ? @made_with[place]&.fetch("name") : key.delete(": ")
      code = code[0...from] + key + named_after(name, given.delete_prefix(key)) + code[to..] if name
    end
    code
  end

  # What kind of object it is inside: two of the same shape teach little more than one.
  def shape_of(value)
    return "" unless Object === value

    value.instance_variables.map do |name|
      inner = value.instance_variable_get(name)
      next "nil" if inner.nil?

      inner.respond_to?(:empty?) && inner.empty? ? "empty" : inner.class.name
    end.join(",")
  rescue StandardError
    ""
  end

  # Whether a call changes settings of a module, so that it may stand before others.
  def prelude?(attempt, result)
    !result.touched.to_a.empty? && result.kind == :return && attempt.receiver.match?(/\A[A-Z][\w:]*\z/) && attempt.method["name"] != "initialize" &&
      attempt.cost < 80 && attempt.block != "&probe" && attempt.stubs.nil? && attempt.locals.nil? && attempt.before.nil?
  end

  def prelude(attempt)
    name = attempt.method["name"]
    name.match?(/\A\w+=\z/) ? "#{attempt.receiver}.#{name.delete_suffix('=')} = #{attempt.args.first}" : attempt.code
  end

  # The receiver after the call, as an expression; a few calls may follow each other.
  def mutation(attempt)
    inner = ProctorCase.new(**attempt.to_h, receiver: "it").code
    name = attempt.method["name"]
    inner = "it.#{name.delete_suffix('=')} = #{attempt.args.first}" if name.match?(/\A\w+=\z/)
    inner = "it[#{attempt.args[0]}] = #{attempt.args[1]}" if name == "[]=" && attempt.args.length == 2
    before = attempt.receiver
    return "#{before}.tap { |it| #{inner} }" unless before.include?(".tap { |it|")
    return nil if before.scan("it.").length > STEPS || !before.end_with?(" }")

    "#{before.delete_suffix(' }')}; #{inner} }"
  end
end
