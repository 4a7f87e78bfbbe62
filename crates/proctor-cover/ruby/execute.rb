# frozen_string_literal: true

require "stringio"

# One attempt: a call, written as code, so that the same text can stand in a spec.
# `names` are the parameters that its arguments stand for.
# `stubs` are answers of the world outside, `locals` variables that an example sets first: {name => code}; `before` is a call
# that changes settings.
ProctorCase = Struct.new(:method, :receiver, :args, :keys, :block, :names, :stubs, :locals, :before, keyword_init: true) do
  def key = [method["id"], receiver, args, keys, block, stubs, locals, before]

  def cost = [receiver, *args, *keys.values, block, before, *(locals || {}).values].compact.sum(&:length) + (stubs || {}).sum { |name, code| 60 + name.length + code.length }

  # The lines that a spec needs before the call.
  def setup
    [before].compact + (locals || {}).map { |name, code| "#{name} = #{code}" } + (stubs || {}).map do |name, code|
      target, asked = name.delete_suffix("&").split(".", 2)
      "allow(#{target}).to receive(#{asked.to_sym.inspect}).#{name.end_with?('&') ? 'and_yield' : 'and_return'}(#{code})"
    end
  end

  # The call as an expression.
  def code
    name = method["name"] == "initialize" ? "new" : method["name"]
    list = args + keys.map { |key, value| "#{key}: #{value}" }
    list << "&probe" if block == "&probe"
    tail = block && block != "&probe" ? " #{block}" : ""
    case name
    when "[]" then "#{receiver}[#{args.join(', ')}]"
    when /\A[a-zA-Z_]\w*[?!]?\z/ then "#{receiver}.#{name}#{list.empty? ? '' : "(#{list.join(', ')})"}#{tail}"
    else "#{receiver}.public_send(#{name.to_sym.inspect}#{list.map { |item| ", #{item}" }.join})"
    end
  end
end

# What an attempt showed.
ProctorResult = Struct.new(:kind, :observations, :seen, :reason, :noise, :value, :changed, :notes, :answers, :steps, :error, :yielded,
                           :world, :touched, keyword_init: true) do
  def digest = [kind, observations.map { |one| one.values_at("kind", "matcher", "index") }].hash
end

# Executes attempts and describes what came of them.
class ProctorExecute
  # Of computing, so that a busy machine does not count; and of waiting.
  SECONDS = 0.3
  WAITING = 6
  SHARED = "changes what all share"
  NOISE = [NoMethodError, NameError, TypeError, FrozenError, NotImplementedError, SystemStackError, LocalJumpError,
           FloatDomainError, Encoding::CompatibilityError, FiberError, ThreadError, IOError, SystemCallError, LoadError].freeze

  attr_reader :render

  # What is shared, for those who look at it.
  attr_reader :keep

  def initialize(root, readers, raise_lines, queries = {})
    @root = root
    @keep = ProctorKeep.new(readers.keys)
    @raise_lines = raise_lines
    @render = ProctorRender.new(root, readers, queries)
    @binding = ProctorScope.new.place
    @cache = {}
    @main = Thread.current
    @since = nil
  end

  # Ends attempts that take too long; to be started in the process that executes.
  def watch
    pipe, @open_end = IO.pipe
    # Makes no objects while it waits: what a call takes is counted in objects.
    pipes = [pipe]
    @watcher = Thread.new do
      loop do
        IO.select(pipes, nil, nil, 0.05)
        since = @since
        next unless since

        @main.raise(ProctorProbe::Limit, "too slow") if computing - since[0] > SECONDS || now - since[1] > WAITING
      end
    end
  end

  # With `light`, only where it goes and how it ends: what there is to see costs more than most calls.
  def run(attempt, light: false)
    @light = light
    result = executed(attempt)
    return failed(:blocked, SHARED) if @disturbed

    result.touched = @keep.touched
    result
  end

  # What two executions agree on; nil if they went different ways.
  def agreed(one, other)
    # The second time something may be remembered: another way to the same end.
    return nil unless one.kind == other.kind && (one.seen.sort == other.seen.sort || one.digest == other.digest)

    list = one.observations.filter_map do |sight|
      twin = other.observations.find { |two| two["kind"] == sight["kind"] && two["index"] == sight["index"] }
      next unless twin

      sight["matcher"] == twin["matcher"] ? sight : common(sight, twin)
    end
    list.empty? ? nil : ProctorResult.new(**one.to_h, observations: list, seen: one.seen | other.seen)
  end

  # The attributes that are the same in both.
  def common(sight, twin)
    return nil unless sight["parts"] && twin["parts"] && sight["parts"][0] == twin["parts"][0]

    name, pairs = sight["parts"]
    same = pairs.select { |key, text| twin["parts"][1][key] == text }
    return nil if same.empty?

    text = "have_attributes(#{same.map { |key, code| "#{key}: #{code}" }.join(', ')})"
    text = "be_an_instance_of(#{name}).and(#{text})" if name
    words = name ? sight["words"] : "changes #{same.keys.join(' and ')}"
    sight.merge("matcher" => text, "words" => words, "parts" => [name, same])
  end

  # Remembers the object that a block is given, or evaluated in.
  def given(kind, object)
    @given ||= [kind, object]
  end

  # What a code stands for; nil if it cannot be built.
  def value_of(code)
    prepare
    build(code)
  rescue Exception # rubocop:disable Lint/RescueException
    nil
  ensure
    finish
  end

  private

  def executed(attempt)
    prepare
    @objects = GC.stat(:total_allocated_objects)
    ProctorProbe.start
    ProctorWorld.start((attempt.stubs || {}).transform_values { |code| build(code) })
    build(attempt.before) if attempt.before
    (attempt.locals || {}).each { |name, code| @binding.local_variable_set(name, build(code)) }
    receiver = attempt.receiver && build(attempt.receiver)
    args = attempt.args.map { |code| build(code) }
    keys = attempt.keys.to_h { |key, code| [key.to_sym, build(code)] }
    perform(attempt, receiver, args, keys)
  rescue ProctorProbe::Limit, ProctorProbe::Blocked, NoMemoryError => e
    failed(:blocked, e.message)
  rescue Exception => e # rubocop:disable Lint/RescueException
    raise if e.is_a?(SignalException)

    failed(:invalid, "#{e.class}: #{e.message}"[0, 200], e)
  ensure
    finish
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def computing = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

  def prepare
    @stdout = $stdout
    @stderr = $stderr
    ProctorGuard.environment = nil
    @place = ProctorShared::Place.now
    @keep.start
    @disturbed = @setting = false
    $stdout = @out = StringIO.new
    $stderr = StringIO.new
    ProctorGuard.armed = true
    @since = [computing, now]
  end

  def finish
    @since = nil
    ProctorWorld.finish
    ProctorGuard.armed = false
    $stdout = @stdout
    $stderr = @stderr
    undo
    (Thread.list - [Thread.main, @watcher, Thread.current]).each(&:kill) if Thread.list.length > 2
  rescue ProctorProbe::Limit
    retry
  end

  # Puts back what is the same for the whole process.
  def undo
    @disturbed = @place.restore
    @keep.restore(@setting)
    before = ProctorGuard.environment
    return if before.nil? || before == ENV.to_h

    ENV.replace(before)
    @keep.touched << ProctorKeep::ENVIRONMENT
  end

  def failed(kind, reason, error = nil)
    ProctorResult.new(kind: kind, observations: [], reason: reason, noise: true, error: error, **noted)
  end

  # What the probes remember of a run.
  def noted
    { seen: ProctorProbe.seen.keys, notes: ProctorProbe.notes, answers: ProctorProbe.answers, steps: effort, world: ProctorWorld.called.dup }
  end

  # What a run took, in objects made and probes passed: about a microsecond each, and the same on every machine.
  def effort
    GC.stat(:total_allocated_objects) - @objects + ProctorProbe.steps
  end

  # Texts are frozen, as they are in the specs.
  def build(code)
    (@cache[code] ||= @binding.eval("# frozen_string_literal: true\nproc { #{code} }")).call
  end

  def perform(attempt, receiver, args, keys)
    name = attempt.method["name"] == "initialize" ? "new" : attempt.method["name"]
    # What is assigned to a module is a setting, even where there was nothing before.
    @setting = !attempt.before.nil? || (Module === receiver && (name.match?(/\A\w+=\z/) || !attempt.block.nil?))
    ProctorChance.asked = name == "eql?"
    yielded = []
    block = block_for(attempt.block, yielded)
    before = @light ? nil : state(receiver)
    texts = @light ? [] : args.map { |arg| mutable?(arg) ? @render.code(arg) : nil }
    ProctorProbe.start
    begin
      # Even an object without any other method has this one.
      value = receiver.__send__(name, *args, **keys, &block)
    rescue ProctorProbe::Limit, ProctorProbe::Blocked, NoMemoryError, ProctorDouble::Unexpected, SignalException => e
      return failed(:blocked, e.message, e)
    rescue Exception => e # rubocop:disable Lint/RescueException
      return raised(e)
    end
    run = noted
    result = @light ? ProctorResult.new(kind: :return, observations: [], noise: false, value: value) : looked_at(attempt, receiver, args, [before, texts, yielded], value)
    run.each { |key, part| result[key] = part }
    result.steps = effort unless @light
    result.yielded = @given
    result
  end

  def looked_at(...)
    ProctorProbe.start
    described(...)
  end

  def described(attempt, receiver, args, (before, texts, yielded), value)
    list = []
    setter = attempt.method["name"].match?(/\A(\w+|\[\])=\z/)
    list.concat(returned(value, receiver)) unless setter || attempt.block == "&probe"
    list << yields(yielded) if attempt.block == "&probe"
    list.concat(asked(attempt)) if attempt.stubs
    list.concat(heard(attempt)) if attempt.locals
    after = state(receiver)
    changed = before && before != after
    list << attributes(before[1], after[1], receiver) if changed
    list << settings(receiver) if Module === receiver
    args.each_with_index do |arg, index|
      next unless texts[index]

      text = @render.code(arg)
      next if text.nil? || text == texts[index]

      list << { "kind" => "argument", "index" => index, "matcher" => "eq(#{text})", "words" => "changes the argument to #{text.length > 50 ? 'what it should be' : text}" }
    end
    unless @out.string.empty?
      text = @render.code(@out.string)
      list << { "kind" => "output", "matcher" => "output(#{text}).to_stdout", "words" => "prints #{text.length > 50 ? 'its text' : text}" } if text
    end
    # An assignment gives back what is assigned; only a plain call shows what the method returns.
    list.concat(returned(value, receiver)) if setter && list.compact.empty?
    ProctorResult.new(kind: :return, observations: list.compact, noise: list.compact.empty?, value: value, changed: changed)
  end

  def returned(value, receiver)
    listing = Enumerator === value && !(Enumerator::Lazy === value) && value.size != Float::INFINITY
    if listing
      matcher, words = @render.matcher(value.first(50))
      return matcher ? [{ "kind" => "listing", "matcher" => matcher, "words" => words.sub("returns", "lists") }] : []
    end
    matcher, words, parts = @render.matcher(value, receiver)
    return [{ "kind" => "return", "matcher" => matcher, "words" => words, "parts" => parts }] if matcher

    [Object === value ? nil : blank(value)].compact
  end

  # An object without methods can only be asked for by its class.
  def blank(value)
    name = ProctorExplore::KIND.bind_call(value).name
    name && { "kind" => "kind", "matcher" => name, "words" => "returns #{name.match?(/\A[AEIOU]/) ? 'an' : 'a'} #{name}" }
  end

  def attributes(before, after, receiver)
    different = after.reject { |name, text| before[name] == text }
    # What the object says about itself afterwards; asking before could have changed it.
    different = different.merge(@render.answers(receiver, 4 - different.length)) if different.length < 4
    return nil if different.empty?

    pairs = different.map { |name, text| "#{name}: #{text}" }.join(", ")
    { "kind" => "state", "matcher" => "have_attributes(#{pairs})", "words" => "changes #{different.keys.join(' and ')}", "parts" => [nil, different] }
  end

  # What a module says of its settings after they were changed.
  def settings(receiver)
    changed = @keep.changes(@setting).select { |slot| slot.owner.equal?(receiver) }
    return nil if changed.empty?

    names = changed.map { |slot| slot.name.to_s.delete("@").downcase } | @render.queries_of(receiver)
    pairs = names.first(8).to_h { |name| [name, reading(receiver, name)] }.compact.first(4).to_h
    return nil if pairs.empty?

    { "kind" => "state", "matcher" => "have_attributes(#{pairs.map { |name, text| "#{name}: #{text}" }.join(', ')})", "words" => "changes #{pairs.keys.join(' and ')}", "parts" => [nil, pairs] }
  end

  def reading(receiver, name)
    return nil unless receiver.respond_to?(name) && [0, -1].include?(receiver.method(name).arity)

    text = @render.code(receiver.public_send(name))
    text if text && text.length < 120
  rescue StandardError, NotImplementedError
    nil
  end

  # What was asked of the world outside, where it answered as it was told to.
  def asked(attempt)
    (attempt.stubs.keys - ProctorWorld::SILENT).filter_map do |name|
      calls = (ProctorWorld.called[name] || []).uniq
      codes = calls.length == 1 ? calls[0].map { |arg| @render.code(arg) } : [nil]
      next if codes.empty? || !codes.all?

      target, method = name.delete_suffix("&").split(".", 2)
      { "kind" => "call", "matcher" => "#{target}).to have_received(#{method.to_sym.inspect}).with(#{codes.join(', ')}", "words" => "asks #{name.delete_suffix('&')}" }
    end
  end

  # What stand-ins were told, where that is one thing.
  def heard(attempt)
    attempt.locals.keys.flat_map do |local|
      calls = @binding.local_variable_get(local).proctor_heard.uniq
      calls.group_by(&:first).filter_map do |name, list|
        codes = list.length == 1 && list[0][1]&.map { |arg| @render.code(arg) }
        next if !codes || codes.empty? || !codes.all? || name.end_with?("?")

        { "kind" => "call", "matcher" => "#{local}).to have_received(#{name.inspect}).with(#{codes.join(', ')}", "words" => "tells #{local.tr('_', ' ')} to #{name}" }
      end
    end.first(3)
  rescue StandardError
    []
  end

  def yields(yielded)
    return { "kind" => "yield", "matcher" => "not_yield", "words" => "does not yield" } if yielded.empty?
    return nil if yielded.length > 12

    codes = yielded.map { |args| args.map { |arg| arg.is_a?(String) ? arg : nil } }
    return nil unless codes.flatten.all?

    if codes.length == 1
      inner = codes[0].empty? ? "yield_with_no_args" : "yield_with_args(#{codes[0].join(', ')})"
      return { "kind" => "yield", "matcher" => inner, "words" => "yields once" }
    end
    list = codes.map { |args| args.length == 1 ? args[0] : "[#{args.join(', ')}]" }
    { "kind" => "yield", "matcher" => "yield_successive_args(#{list.join(', ')})", "words" => "yields #{codes.length} times" }
  end

  def block_for(code, yielded)
    @given = nil
    return nil if code.nil?

    code == "&probe" ? recorder(yielded) : build("proc #{code}")
  end

  # A block that remembers what it is given. It may be evaluated inside of another object: only locals here.
  def recorder(yielded)
    limit = 0
    owner = self
    render = @render
    proc do |*args|
      raise ProctorProbe::Limit, "yields too often" if (limit += 1) > 200

      owner.given(owner.equal?(self) ? :yield : :self, owner.equal?(self) ? args.first : self)
      yielded << args.map { |arg| render.code(arg) || false } if yielded.length < 20
      nil
    end
  end

  def mutable?(arg) = String === arg || Array === arg || Hash === arg

  # Variables (to see whether anything changed) and readable attributes (to say what).
  def state(receiver)
    return nil if nil.equal?(receiver) || Module === receiver || ProctorDouble === receiver || !(Object === receiver)

    case receiver
    when String, Array, Hash
      code = @render.code(receiver)
      return [code, receiver.instance_of?(String) ? {} : { "itself" => code }.compact]
    end
    variables = receiver.instance_variables.map { |name| @render.code(receiver.instance_variable_get(name)) }
    [variables, @render.attributes(receiver)]
  rescue StandardError
    nil
  end

  def raised(error)
    run = noted
    place = error.backtrace_locations&.first
    explicit = place && place.path.start_with?(@root) && @raise_lines[place.path.delete_prefix("#{@root}/")]&.include?(place.lineno)
    explicit = false if error.instance_of?(NoMethodError) || error.instance_of?(NameError)
    name = error.class.name
    own = error.class.respond_to?(:name) && name && defined_here?(name)
    noise = !explicit && !own && NOISE.any? { |type| error.is_a?(type) }
    noise ||= !explicit && error.is_a?(ArgumentError) && error.message.start_with?("wrong number", "missing keyword", "unknown keyword")
    return failed(:invalid, "error without a name") if name.nil?

    message = explicit || own ? @render.code(error.message.to_s) : nil
    matcher = message && message.length < 300 ? "raise_error(#{name}, #{message})" : "raise_error(#{name})"
    one = { "kind" => "raise", "matcher" => matcher, "words" => "raises #{name}" }
    ProctorResult.new(kind: :raise, observations: [one], noise: noise, reason: name, error: error, yielded: @given, **run)
  rescue StandardError => e
    failed(:invalid, e.class.name)
  end

  def defined_here?(name)
    place = Object.const_source_location(name)
    place && place[0].to_s.start_with?(@root)
  rescue NameError
    false
  end
end
