# frozen_string_literal: true

require "stringio"
require_relative "record_sights"

# One attempt: a call, written as code, so that the same text can stand in a spec.
# `names` are the parameters that its arguments stand for.
# `stubs` are answers of the world outside, `locals` variables that an example sets first: {name => code}; `before` is a call
# that changes settings.
ProctorCase = Struct.new(:method, :receiver, :args, :keys, :block, :names, :stubs, :locals, :before, keyword_init: true) do
  def key = [method["id"], receiver, args, keys, block, stubs, locals, before]

  # How much there is to read, whatever its names are.
  # A failure that is made up costs more than one that comes by itself.
  def cost = [receiver, *args, *keys.values, block, before, *(locals || {}).values].compact.sum { |code| ProctorCode.size(code) } + (stubs || {}).sum { |_, code| 60 + ProctorCode.size(code) } +
             codes.sum { |code| code.scan(/(?:(\w+[?!=]?): )?raising\(/).sum { |(asked)| asked && !ProctorNames.order?(asked) ? 240 : 80 } } + 60 * codes.sum { |code| ProctorFactories.oddities(code) || 1 }

  # The lines that a spec needs before the call.
  def setup
    [before].compact + (locals || {}).flat_map { |name, code| ProctorStandIns.lines(name, code) } + (stubs || {}).map do |name, code|
      target, asked = name.delete_suffix("&").split(".", 2)
      next "travel_to(#{code})" if ProctorWorld::CLOCKS.include?(name) && ProctorRailsEffects.helper?(:travel_to)

      "allow(#{target}).to receive(#{asked.to_sym.inspect}).#{name.end_with?('&') ? "and_yield(#{code})" : ProctorStandIns.told(code)}"
    end.uniq
  end

  # Everything in it that makes objects.
  def codes = [receiver, *args, *keys.values, *(locals || {}).values, *(stubs || {}).values].compact

  # The message that is sent, with its arguments: a method for unknown messages gets one that nobody knows.
  def sent
    case method["name"]
    when "initialize" then ["new", args]
    when "respond_to_missing?" then ["respond_to?", args]
    when "method_missing" then args.first.to_s.start_with?(":") ? [args.first.delete(':"'), args.drop(1)] : ["method_missing", args]
    else [method["name"], args]
    end
  end

  # Whether it is about messages without a method of their own.
  def ghost? = %w[method_missing respond_to_missing?].include?(method["name"])

  # The call as an expression.
  def code
    name, args = sent
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
                           :world, :touched, :need, keyword_init: true) do
  def digest = [kind, observations.map { |one| one.values_at("kind", "matcher", "index") }].hash
end

# Executes attempts and describes what came of them.
class ProctorExecute
  include ProctorRecordSights

  # Of computing, so that a busy machine does not count; and of waiting.
  SECONDS = 0.3
  WAITING = 6
  # Comparisons of a constructor that are remembered with a call on its object.
  MADE = 40
  SHARED = "changes what all share"
  # Seconds from now within which a moment may come from the clock.
  NEAR = 400 * 86_400
  NOISE = [NoMethodError, NameError, TypeError, FrozenError, NotImplementedError, SystemStackError, LocalJumpError,
           FloatDomainError, Encoding::CompatibilityError, FiberError, ThreadError, IOError, SystemCallError, LoadError].freeze

  # Errors of ActiveRecord that a project lets happen; others are about arguments that nobody would give.
  MEANT = %w[RecordInvalid RecordNotFound RecordNotDestroyed RecordNotSaved RecordNotUnique DeleteRestrictionError StaleObjectError ReadOnlyRecord].map { |name| "ActiveRecord::#{name}" }.freeze

  # Kinds of which a call may show several.
  SEVERAL = %w[call change record effect].freeze

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
      # There may be several messages, and only one of everything else.
      twin = other.observations.find { |two| two["kind"] == sight["kind"] && two["index"] == sight["index"] && (!SEVERAL.include?(sight["kind"]) || two["matcher"] == sight["matcher"]) }
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
    words = name ? sight["words"] : changed_words(same.keys)
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
    (attempt.locals || {}).each { |name, code| @binding.local_variable_set(name, build(code)) }
    ProctorWorld.start((attempt.stubs || {}).transform_values { |code| build(code) })
    build(attempt.before) if attempt.before
    receiver = attempt.receiver && build(attempt.receiver)
    @made = ProctorProbe.notes
    args = attempt.args.map { |code| build(code) }
    keys = attempt.keys.to_h { |key, code| [key.to_sym, build(code)] }
    perform(attempt, receiver, args, keys)
  rescue ProctorProbe::Limit, ProctorProbe::Blocked, NoMemoryError, ProctorWorld::Unanswered => e
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
    ProctorDatabase.forget_request
    ProctorRailsEffects.start
    @stdout = $stdout
    @stderr = $stderr
    ProctorGuard.environment = nil
    @place = ProctorShared::Place.now
    ProctorDatabase.begin(shifted: !ProctorClock.shift.zero?)
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
    ProctorDatabase.rollback
    @render.known = nil
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
    { seen: ProctorProbe.seen.keys, notes: ProctorProbe.notes + made_notes, answers: ProctorProbe.answers, steps: effort, world: ProctorWorld.called.dup }
  end

  # What the receiver's constructor compared: it decides what the object is like.
  def made_notes = @made.nil? || @made.equal?(ProctorProbe.notes) ? [] : @made.first(MADE)

  # What a run took, in objects made and probes passed: about a microsecond each, and the same on every machine.
  # Stored objects are made of many small ones.
  def effort
    (GC.stat(:total_allocated_objects) - @objects) / (ProctorDatabase.active? ? 5 : 1) + ProctorProbe.steps
  end

  # Texts are frozen, as they are in the specs.
  def build(code)
    (@cache[code] ||= @binding.eval("# frozen_string_literal: true\nproc { #{code} }")).call
  end

  def perform(attempt, receiver, args, keys)
    name, sent = attempt.sent
    return failed(:invalid, "no message that nobody knows") if attempt.ghost? && !unknown?(receiver, args.first)

    # What is assigned to a module is a setting, even where there was nothing before.
    @setting = !attempt.before.nil? || (Module === receiver && (name.match?(/\A\w+=\z/) || !attempt.block.nil?))
    ProctorChance.asked = name == "eql?"
    yielded = []
    block = block_for(attempt.block, yielded)
    before = @light ? nil : state(receiver)
    texts = @light ? [] : args.map { |arg| mutable?(arg) ? @render.code(arg) : nil }
    @stored = @light ? nil : stored_before(attempt, receiver)
    ProctorProbe.start
    ProctorQueries.count_from_here
    begin
      # Even an object without any other method has this one.
      value = receiver.__send__(name, *args.last(sent.length), **keys, &block)
      # An email is written when it is looked at.
      value.message if ProctorRailsEffects.letter?(value)
    rescue ProctorProbe::Limit, ProctorProbe::Blocked, NoMemoryError, ProctorDouble::Unexpected, ProctorWorld::Unanswered, SignalException => e
      return failed(:blocked, e.message, e)
    rescue ProctorFactories::Unfit => e
      return failed(:blocked, e.message, e).tap { |result| result.need = "create" }
    rescue Exception => e # rubocop:disable Lint/RescueException
      need = ProctorFactories.needed(attempt.codes)
      return raised(e, attempt.ghost?).tap { |result| result.need = need }
    end
    run = noted
    run[:need] = ProctorFactories.needed(attempt.codes)
    result = @light ? ProctorResult.new(kind: :return, observations: [], noise: false, value: value) : looked_at(attempt, receiver, args, [before, texts, yielded], value)
    run.each { |key, part| result[key] = part }
    result.seen |= rules_broken(attempt, receiver) | rows_answered(attempt, receiver, value)
    result.steps = effort unless @light
    result.yielded = @given
    result
  end

  # Whether an object has no method of this name itself.
  def unknown?(receiver, message)
    return false unless Symbol === message && message.match?(/\A[a-z_]\w*[?!=]?\z/i)

    type = Module === receiver ? receiver.singleton_class : ProctorExplore::KIND.bind_call(receiver)
    !type.method_defined?(message) && !type.private_method_defined?(message)
  end

  def looked_at(...)
    ProctorProbe.start
    described(...)
  end

  def described(attempt, receiver, args, (before, texts, yielded), value)
    return validated(receiver, value) if attempt.method["name"] == "valid?" && ProctorRecords.record?(receiver) && !value

    list = []
    setter = attempt.method["name"].match?(/\A(\w+|\[\])=\z/)
    @locals = attempt.locals&.keys
    list.concat(attempt.method["name"] == "hash" ? hashed(value) : returned(value, receiver)) unless setter || attempt.block == "&probe"
    list << yields(yielded) if attempt.block == "&probe"
    list.concat(asked(attempt)) if attempt.stubs
    list.concat(heard(attempt)) if attempt.locals
    list.concat(ProctorRailsEffects.sights { |value| code_of(value) })
    after = state(receiver)
    changed = before && before != after
    list << attributes(before[1], after[1], receiver) if changed && !kept_in_table?(receiver)
    list.concat(stored_changes(attempt, receiver)) if ProctorDatabase.active?
    list << settings(receiver) if Module === receiver
    args.each_with_index do |arg, index|
      next unless texts[index]

      text = @render.code(arg)
      next if text.nil? || text == texts[index]

      list << { "kind" => "argument", "index" => index, "matcher" => "eq(#{text})", "words" => "changes the argument to #{@render.words(arg)}" }
    end
    unless @out.string.empty?
      text = @render.code(@out.string)
      list << { "kind" => "output", "matcher" => "output(#{text}).to_stdout", "words" => "prints #{@render.words(@out.string.chomp)}" } if text
    end
    # An assignment gives back what is assigned; only a plain call shows what the method returns.
    list.concat(returned(value, receiver)) if setter && list.compact.empty?
    ProctorResult.new(kind: :return, observations: list.compact, noise: list.compact.empty?, value: value, changed: changed)
  end

  def returned(value, receiver)
    return letter(value) if ProctorRailsEffects.letter?(value)
    return answered(value) if defined?(ActionCalls::Answer) && ActionCalls::Answer === value

    listing = Enumerator === value && !(Enumerator::Lazy === value) && value.size != Float::INFINITY
    if listing
      matcher, words = @render.matcher(value.first(50))
      return matcher ? [{ "kind" => "listing", "matcher" => matcher, "words" => words.sub("returns", "lists") }] : []
    end
    matcher, words, parts = @render.matcher(value, receiver)
    return [{ "kind" => "return", "matcher" => matcher, "words" => words, "parts" => parts }] if matcher

    [Object === value ? nil : blank(value)].compact
  end

  # A hash is another number in every process.
  def hashed(value) = Integer === value ? [{ "kind" => "return", "matcher" => "be_an_instance_of(Integer)", "words" => "returns an Integer" }] : []

  # An email that a mailer made.
  def letter(mail)
    pairs = ProctorRailsEffects.letter(mail) { |value| code_of(value) }
    return [] if pairs.empty?

    words = mail.subject ? "writes an email about #{mail.subject.to_s.inspect}" : "writes an email"
    [{ "kind" => "return", "matcher" => "have_attributes(#{pairs.map { |name, code| "#{name}: #{code}" }.join(', ')})", "words" => words, "parts" => [nil, pairs] }]
  end

  # What an action of a controller answers.
  def answered(answer)
    # Keys of rows stand in addresses.
    pairs = answer.to_h.reject { |name, value| value.nil? || value == "" || value == {} || (name == :location && value.match?(/\d/)) }.transform_values { |value| code_of(value) }.compact
    status = Rack::Utils::HTTP_STATUS_CODES[answer.status].to_s.downcase
    words = answer.location ? "redirects#{" to #{answer.location.sub(%r{\Ahttps?://[^/]+}, '')[/\A[^?]*/]}" if pairs[:location]}" : "responds with #{status.empty? ? answer.status : status}"
    [{ "kind" => "return", "matcher" => "have_attributes(#{pairs.map { |name, code| "#{name}: #{code}" }.join(', ')})", "words" => words, "parts" => [nil, pairs.transform_keys(&:to_s)] }]
  end

  # An object without methods can only be asked for by its class, a stand-in by the variable that holds it.
  def blank(value)
    if ProctorDouble === value && @locals
      own = @locals.find { |local| value.equal?(@binding.local_variable_get(local)) }
      return own && { "kind" => "return", "matcher" => "be(#{own})", "words" => "returns the #{own.tr('_', ' ').sub(/\Agiven /, '')}" }
    end
    name = ProctorExplore::KIND.bind_call(value).name
    name && { "kind" => "kind", "matcher" => name, "words" => "returns #{@render.article(name)}" }
  end

  def attributes(before, after, receiver)
    different = after.reject { |name, text| before[name] == text }
    # What the object says about itself afterwards; asking before could have changed it.
    different = different.merge(@render.answers(receiver, 4 - different.length)) if different.length < 4
    return nil if different.empty?

    pairs = different.map { |name, text| "#{name}: #{text}" }.join(", ")
    { "kind" => "state", "matcher" => "have_attributes(#{pairs})", "words" => changed_words(different.keys), "parts" => [nil, different] }
  end

  # What a module says of its settings after they were changed.
  def settings(receiver)
    changed = @keep.changes(@setting).select { |slot| slot.owner.equal?(receiver) }
    return nil if changed.empty?

    names = changed.map { |slot| slot.name.to_s.delete("@").downcase } | @render.queries_of(receiver)
    pairs = names.first(8).to_h { |name| [name, reading(receiver, name)] }.compact.first(4).to_h
    return nil if pairs.empty?

    { "kind" => "state", "matcher" => "have_attributes(#{pairs.map { |name, text| "#{name}: #{text}" }.join(', ')})", "words" => changed_words(pairs.keys), "parts" => [nil, pairs] }
  end

  # What a change is called: the attributes that differ, few of them.
  def changed_words(names)
    said = (names - %w[to_s to_h to_a]).map { |name| name == "itself" ? "the object" : @render.name_in_words(name) }.uniq.first(3)
    said.empty? ? "changes the object" : "changes #{said.length > 1 ? "#{said[0..-2].join(', ')} and #{said.last}" : said.first}"
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
      codes = calls.length == 1 && arguments_of(*calls[0])
      next if !codes || (codes.empty? && !ProctorWorld.door?(name))

      target, method = name.delete_suffix("&").split(".", 2)
      { "kind" => "call", "matcher" => received(target, method, codes), "words" => "calls #{@render.name_in_words(method)} on #{target.split('::').last}" }
    end
  end

  # What was given, as code, with variables of the example where it is one of these; nil if it cannot be written.
  def arguments_of(args, options)
    codes = args.map { |arg| code_of(arg) } + options.map { |key, value| (code = code_of(value)) && "#{key}: #{code}" }
    codes if codes.all?
  end

  def code_of(value)
    own = @locals&.find { |local| value.equal?(@binding.local_variable_get(local)) }
    own || of_record(value) || @render.code(value)
  end

  def received(target, method, codes) = "#{target}).to have_received(#{method.to_sym.inspect}).with(#{codes.empty? ? 'no_args' : codes.join(', ')}"

  # What stand-ins were told, where that is one thing.
  def heard(attempt)
    stand_ins = attempt.locals.select { |_, code| code.start_with?("instance_double(") }.keys
    stand_ins.flat_map do |local|
      calls = @binding.local_variable_get(local).proctor_heard.uniq
      calls.group_by(&:first).filter_map do |name, list|
        codes = list.length == 1 && arguments_of(*list[0].drop(1))
        next if !codes || name.end_with?("?") || (codes.empty? && !ProctorNames.order?(name))

        { "kind" => "call", "matcher" => received(local, name, codes), "words" => told(local, name) }
      end
    end.first(6)
  rescue StandardError
    []
  end

  def told(local, name)
    who = local.tr("_", " ").sub(/\Agiven /, "")
    what = name.to_s.delete("!=").tr("_", " ")
    return "sets the #{what} of the #{who}" if name.end_with?("=")

    return "reports #{what} to the #{who}" if ProctorNames.report?(name)

    ProctorNames.order?(name) ? "tells the #{who} to #{what}" : "asks the #{who} for #{what}"
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

  # Rows and stored objects before a call, to see what it does to them.
  def stored_before(attempt, receiver)
    return nil unless ProctorDatabase.active?

    named = record_variables(attempt)
    named["RECEIVER"] = receiver if ProctorRecords.record?(receiver) && named.none? { |_, one| one.equal?(receiver) }
    @render.known = named.to_a.reverse
    [ProctorDatabase.counts, named.transform_values { |record| ProctorRecords.in_table(record) }, named, named.transform_values { |record| ProctorRecords.attributes(record) }]
  end

  def record_variables(attempt)
    (attempt.locals || {}).keys.to_h { |name| [name, @binding.local_variable_get(name)] }.select { |_, value| ProctorRecords.record?(value) }
  end

  # Whether the change of an object was stored: then the table is looked at.
  def kept_in_table?(receiver)
    return false unless ProctorRecords.record?(receiver) && @stored

    name = @stored[2].find { |_, one| one.equal?(receiver) }&.first
    name && @stored[1][name] && @stored[1][name] != ProctorRecords.in_table(receiver)
  end

  # What a call did to the tables: rows that came and went, stored objects that are different now, what was found wrong.
  def stored_changes(attempt, receiver)
    counts, before, named, held = @stored
    list = ProctorRecords.row_changes(counts)
    named.each do |name, record|
      after = ProctorRecords.in_table(record)
      # What is not stored can only be asked itself; the object of the call is looked at anyway.
      if before[name].nil? && after.nil?
        list << changed_row(name, name, record, held[name], ProctorRecords.attributes(record)) unless record.equal?(receiver)
      elsif before[name] && after
        list << changed_row("#{name}.reload", name, record, before[name], after)
      end
    end
    list.concat(ProctorRecords.errors_of(receiver)) if ProctorRecords.record?(receiver)
    list.compact.map { |one| local_receiver(one, receiver, attempt) }
  end

  def changed_row(shown, name, record, before, after)
    different = after.reject { |attribute, value| before[attribute] == value }.transform_values { |value| expected_code(value) }.compact.first(ProctorRecords::NAMED).to_h
    return nil if different.empty?

    pairs = different.map { |attribute, code| "#{attribute}: #{code}" }.join(", ")
    verb = shown == name ? "sets" : "stores"
    { "kind" => "record", "matcher" => "#{shown}).to have_attributes(#{pairs}", "words" => "#{verb} #{different.keys.map { |word| word.tr('_', ' ') }.join(' and ')} of the #{record.model_name.human.downcase}" }
  end

  # A moment about now is another one every time; that it is there is not.
  def expected_code(value)
    moment = value.respond_to?(:acts_like_time?) || value.respond_to?(:acts_like_date?)
    moment && (value.to_time - Time.now).abs < NEAR ? "be_present" : @render.code(value)
  end

  # An object that is a variable already is called so.
  def local_receiver(one, receiver, attempt)
    name = (attempt.locals || {}).keys.find { |local| @binding.local_variable_get(local).equal?(receiver) }
    name ? one.merge("matcher" => one["matcher"].sub(/\ARECEIVER/, name)) : one
  end

  # What was wrong with an object is all there is to say of its validation.
  def validated(receiver, value)
    list = ProctorRecords.errors_of(receiver)
    ProctorResult.new(kind: :return, observations: list, noise: list.empty?, value: value, changed: false)
  end

  # Each thing that a validation finds wrong counts like a branch.
  def rules_broken(attempt, receiver)
    return [] unless attempt.method["name"] == "valid?" && attempt.method["base"] && ProctorRecords.record?(receiver)

    receiver.errors.details.flat_map { |name, list| list.map { |one| ProctorRecords.rule_key(attempt.method["base"], name, one[:error]) } }
  end

  # So does each kind of answer to a question about a table.
  def rows_answered(attempt, receiver, value)
    return [] unless attempt.method["base"] && attempt.method["testable"] && ProctorDatabase.record?(receiver)

    kind = ProctorRecords.answer_kind(value, receiver.unscoped.count)
    kind ? [ProctorRecords.rule_key(attempt.method["base"], attempt.method["name"], kind)] : []
  end

  def mutable?(arg) = String === arg || Array === arg || Hash === arg

  # Variables (to see whether anything changed) and readable attributes (to say what).
  def state(receiver)
    return nil if nil.equal?(receiver) || Module === receiver || ProctorDouble === receiver || !(Object === receiver)

    if ProctorRecords.record?(receiver)
      pairs = ProctorRecords.attributes(receiver).transform_values { |value| @render.code(value) }.compact
      return [[pairs, receiver.new_record?, receiver.destroyed?], pairs]
    end
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

  # A message that nobody knows may be refused: then the usual error is meant.
  def raised(error, refused = false)
    run = noted
    place = error.backtrace_locations&.first
    explicit = place && place.path.start_with?(@root) && @raise_lines[place.path.delete_prefix("#{@root}/")]&.include?(place.lineno)
    explicit = false if error.instance_of?(NoMethodError) || error.instance_of?(NameError)
    name = error.class.name
    own = error.class.respond_to?(:name) && name && defined_here?(name)
    refused &&= error.instance_of?(NoMethodError) && error.message.start_with?("undefined method") && !error.backtrace_locations&.first&.path.to_s.empty? && super_from_here?(error)
    noise = !explicit && !own && !refused && NOISE.any? { |type| error.is_a?(type) }
    noise ||= !explicit && !own && error.is_a?(ArgumentError)
    noise ||= !explicit && !own && name.to_s.match?(/\A(?:ActiveRecord|ActiveModel|SQLite3)::/) && !MEANT.include?(name)
    return failed(:invalid, "error without a name") if name.nil?

    message = explicit || own || MEANT.include?(name) ? @render.code(error.message.to_s) : nil
    matcher = message && message.length < 300 ? "raise_error(#{name}, #{message})" : "raise_error(#{name})"
    one = { "kind" => "raise", "matcher" => matcher, "words" => "raises #{name.split('::').last}" }
    ProctorResult.new(kind: :raise, observations: [one], noise: noise, reason: name, error: error, yielded: @given, **run)
  rescue StandardError => e
    failed(:invalid, e.class.name)
  end

  # Whether a method for unknown messages handed one on to Ruby: the error arose where `super` stands.
  def super_from_here?(error)
    place = error.backtrace_locations&.first
    place && place.path.start_with?(@root) && place.base_label == "method_missing"
  end

  def defined_here?(name)
    place = Object.const_source_location(name)
    place && place[0].to_s.start_with?(@root)
  rescue NameError
    false
  end
end
