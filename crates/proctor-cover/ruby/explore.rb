# frozen_string_literal: true

require "json"
require_relative "vary"
require_relative "hint"
require_relative "case_lines"

# Looks for calls of one method that do different things: promising values first, then what comparisons and errors of
# earlier calls ask for, then variations of what worked. How much is tried is counted, not timed: the same code gives the same calls.
class ProctorExplore
  include ProctorVary
  include ProctorCaseLines

  BLOCKS = ["{ |*args| args.first }", "&probe", "{ |*args| args }", "{ true }", "{ nil }", '{ "x" }', "{ |*args| args.length }", "{ false }", "{ [] }", "{ {} }"].freeze
  SLOW = 10
  # So many calls on the same way that showed nothing new are enough to look at.
  ALIKE = 12
  # So many calls before open branches are compared when the next is chosen.
  NEXT = 40
  # So many calls on the same way are kept.
  EACH_WAY = 8
  # So many are kept of a method.
  MOST = 140
  # The class of anything, objects without methods included.
  KIND = Kernel.instance_method(:class)

  # Plain values in code.
  LITERAL = /"[^"]*"|(?<=: ):\w+|(?<=: )\d+(?![\w.])/.freeze

  # So many objects are tried with the arguments that came furthest.
  FURTHER = 60

  # So many calls in front of one.
  LATER = 4

  # So many answers of stand-ins are exchanged for failures in one part of a call.
  FAILURES = 24

  # So many calls without anything new are enough; in a second round, where much is known, fewer.
  IDLE = [700, 350].freeze

  # A call that may lead further; `gates` is what it stands before, as of `stamp` answers known.
  Lead = Struct.new(:attempt, :chosen, :result, :gates, :stamp)

  def initialize(execute, values, covered, out)
    @execute = execute
    @values = values
    @covered = covered
    @out = out
  end

  # Explores until nothing new comes, or the allowance is used up. `known` are calls of an earlier round, to go on from.
  def method(method, klass, receivers, allowance, known = [])
    prepare(method, klass, receivers, allowance)
    @patience = IDLE[known.empty? ? 0 : 1]
    catch(:enough) { known.empty? ? search : go_on(known) }
    report
  end

  # Calls like these that may do something else on a faulty version: what they are like, for as many as allowed.
  def like(cases, method, klass, receivers, literals, allowance)
    prepare(method, klass, receivers, allowance)
    found = []
    cases.each do |one|
      result = @execute.run(one)
      break if (@steps -= result.steps * 3).negative?

      each = allowance["tries"] / (cases.length + 1)
      close = @hint.after(one, result, each / 2) { |_, _| true }
      try_like(close + Array.new(each - close.length) { varied(one, {})[0] }, found)
    end
    @left += allowance["tries"]
    cases.first(3).each { |one| try_like(@hint.with(one, literals), found) }
    found
  end

  def try_like(list, found)
    list.each do |attempt|
      next if @tried[attempt.key] || (@left -= 1).negative? || @steps.negative?

      @tried[attempt.key] = true
      seen = @execute.run(attempt)
      @steps -= seen.steps * 2
      found << [attempt, seen] unless seen.noise || seen.need
    end
  end

  # Keeps a call if it does the same again; says whether it was kept.
  def adopt(attempt, method)
    @method = method
    result = @execute.run(attempt)
    return false if result.noise || result.need || %i[blocked invalid].include?(result.kind)

    result = @execute.agreed(result, elsewhere { @execute.run(attempt) })
    result ? tell(attempt, result) : false
  end

  private

  def prepare(method, klass, receivers, allowance)
    @method = method
    @owner = klass["name"]
    @values.focus(@owner)
    @random = Random.new(method["id"].sum)
    @hint = ProctorHint.new(@values, @execute, @owner)
    @tried = {}
    @corpus = []
    @hot = []
    @cold = []
    @paths = {}
    @followed = Hash.new(0)
    @shapes = Hash.new(0)
    @alike = Hash.new(0)
    @digests = {}
    @base = nil
    @idle = 0
    @patience = IDLE[0]
    @left = allowance["tries"]
    @steps = allowance["steps"]
    @looks = allowance["steps"]
    @deadline = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + allowance["seconds"]
    @blocked = Hash.new(0)
    @strategy = nil
    @receivers = receivers
    @rescued = klass["rescued"] || []
    @changing = method["scope"] == "class" || method["name"] == "initialize" ? [] : klass["changing"] || []
    @failures = Hash.new(0)
    @made_with = klass["methods"].find { |one| one["name"] == "initialize" }&.fetch("params") || []
    @params = handed_on(method, klass)
    @lists = @params.map { |param| [param["name"], @values.for_param(param, @owner)] }.to_h
    @lists[@params.first["name"]] = @values.messages if ProctorObserve::GHOSTS.include?(method["name"]) && @params.any?
  end

  # `def self.call(...)` takes what the constructor takes.
  def handed_on(method, klass)
    return method["params"] unless method["params"].any? { |param| param["kind"] == "forward" }

    constructor = klass["methods"].find { |one| one["name"] == "initialize" }
    method["params"].reject { |param| param["kind"] == "forward" } + (constructor ? constructor["params"] : [])
  end

  def search
    return if @receivers.empty?

    simplest
    together
    each_receiver
    each_pair
    each_setting
    guided(@left / 6)
    from_deepest
    each_failure
    one_at_a_time
    guided(@left / 3)
    sweep
    guided(@left / 2)
    vary
  end

  # What was found before is where to go on: what it compared, other objects, small changes.
  def go_on(known)
    @random = Random.new(@method["id"].sum + known.length)
    known.each { |one| resume(one) }
    guided(@left / 3)
    each_receiver
    each_setting
    from_deepest
    each_failure
    guided(@left / 3)
    sweep
    guided(@left / 2)
    vary
  end

  # What came furthest, on other objects: which collaborators matter shows only behind the guards.
  def from_deepest
    lead = @corpus.max_by { |one| [one.result.seen.length, -one.attempt.cost] }
    return unless lead && @receivers.length > 1

    with, without = @receivers.partition { |code| code.include?("instance_double(") }
    (with.first(FURTHER) + without.first(FURTHER / 4)).each { |receiver| attempt([ProctorCase.new(**lead.attempt.to_h, receiver: receiver), lead.chosen]) }
    guided(@left / 6)
  end

  # What happens when a collaborator fails in a way that the class expects: one answer at a time raises instead.
  def each_failure
    errors = @rescued.first(4).map { |type| "raising(#{type}, \"went wrong\")" }
    return if errors.empty?

    leads = @corpus.sort_by { |lead| -lead.result.seen.length }.first(4)
    leads.each do |lead|
      one = lead.attempt
      @rescued.first(4).flat_map { |type| ProctorStandIns.failing(one.receiver, type) }.first(FAILURES).each { |code| attempt([ProctorCase.new(**one.to_h, receiver: code), lead.chosen]) }
      one.args.each_with_index do |arg, place|
        @rescued.first(4).flat_map { |type| ProctorStandIns.failing(arg, type) }.first(FAILURES).each do |code|
          attempt([ProctorCase.new(**one.to_h, args: one.args.dup.tap { |list| list[place] = code }), lead.chosen])
        end
      end
      # A clock does not fail.
      ((one.stubs || {}).keys - ProctorWorld::SILENT).each { |name| errors.each { |code| attempt([ProctorCase.new(**one.to_h, stubs: one.stubs.merge(name => code)), lead.chosen]) } }
    end
  end

  def resume(attempt)
    @tried[attempt.key] = true
    result = @execute.run(attempt, light: true)
    spend(result)
    return if %i[blocked invalid].include?(result.kind)

    chosen = chosen_of(attempt, {})
    follow(attempt, chosen, result)
    @corpus << Lead.new(attempt, chosen, result)
    @shapes[shape_key(attempt, result)] += 1
    @base ||= [chosen, attempt.receiver, attempt.block, false, attempt.before] unless result.noise
  end

  # The required arguments only, in a few combinations.
  def simplest
    required = @params.select { |param| %w[required key].include?(param["kind"]) }
    attempt(make({}))
    8.times { |place| attempt(make(required.to_h { |param| [param["name"], @lists[param["name"]][place]] })) }
  end

  # What a request has only matters together: who is logged in, what is asked for, and how.
  def together
    lists = @params.select { |param| param["codes"] }.to_h { |param| [param["name"], param["codes"]] }
    return if lists.empty?

    sessions = lists.fetch("session", []).first(2) + [nil]
    sessions.product(lists.fetch("params", ["{}"]).first(14), lists.fetch("verb", [nil]).first(2)).each do |session, params, verb|
      attempt(make({ "session" => session, "params" => params, "verb" => verb }.compact))
    end
  end

  def each_receiver
    @receivers.drop(1).each { |receiver| attempt(make(@base ? @base[0].dup : {}, receiver: receiver)) }
  end

  # An object and one like it, or nearly: by chance two are hardly ever alike.
  def each_pair
    param = @params.find { |one| one["kind"] == "required" }
    return unless param && @lists[param["name"]].first(20).any? { |code| code.start_with?("#{@owner}.") || @receivers.include?(code) }

    @receivers.first(12).each do |receiver|
      [receiver, swap(receiver), swap(receiver)].uniq.each { |other| attempt(make(given.merge(param["name"] => other), receiver: receiver)) }
    end
  end

  # The same after settings were changed.
  def each_setting
    @values.settings_for(@method["id"]).each do |code|
      [[@base ? @base[0].dup : {}], [@base ? @base[0].dup : {}, @receivers.last]].each do |chosen, receiver|
        made, given = make(chosen, receiver: receiver)
        made.before = code
        attempt([made, given])
      end
      each_literal_in(code)
    end
  end

  # What stands in a row may be asked for.
  def each_literal_in(code)
    return unless code.match?(ProctorStandIns::STORED)

    required = @params.select { |param| %w[required key].include?(param["kind"]) }
    code.scan(LITERAL).flatten.uniq.first(6).each do |literal|
      required.first(2).each do |param|
        made, chosen = make(given.merge(param["name"] => literal))
        made.before = code
        attempt([made, chosen])
      end
    end
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

  # What calls that went a new way ask for, those next to an open branch first.
  def guided(most)
    stop = @left - most
    while @left > stop && (lead = next_lead)
      @hint.after(lead.attempt, lead.result) { |id, answer| !@covered[(id << 1) + answer] }.each do |candidate|
        break if @left <= stop

        attempt([candidate, chosen_of(candidate, lead.chosen)])
      end
    end
  end

  # Of the calls that stand before open branches, one whose branches were followed least so far; then any other.
  def next_lead
    if @filtered != @covered.length
      @filtered = @covered.length
      @hot, shut = @hot.partition { |lead| gates_of(lead).any? }
      @cold.concat(shut)
    end
    place = @hot.first(NEXT).each_index.min_by { |index| [gates_of(@hot[index]).map { |id| @followed[id] }.min, index] }
    return @cold.shift unless place

    lead = @hot.delete_at(place)
    gates_of(lead).each { |id| @followed[id] += 1 }
    lead
  end

  # The conditions that a call answered, and nobody has ever answered otherwise.
  def gates(result) = result.answers.filter_map { |id, value| id unless @covered[(id << 1) + (value ? 0 : 1)] }

  # The same, found out once for as long as nothing new is known.
  def gates_of(lead)
    return lead.gates if lead.stamp == @covered.length

    lead.stamp = @covered.length
    lead.gates = gates(lead.result)
  end

  # The choice that a changed call stands for.
  def chosen_of(attempt, before)
    named = (attempt.names || []).zip(attempt.args).select(&:first).to_h
    before.merge(named).merge(attempt.keys.select { |name, _| @lists.key?(name) })
  end

  # Everything with everything, the promising ones more often.
  def sweep
    times = [@left / 3, 30 * (@params.length + 1)].min
    times.times do
      chosen = @params.reject { |param| %w[block forward].include?(param["kind"]) }.to_h do |param|
        optional = %w[optional optional_key rest key_rest].include?(param["kind"])
        [param["name"], optional && @random.rand < 0.4 ? nil : pick(@lists[param["name"]])]
      end
      attempt(make(chosen.compact, receiver: pick(@receivers), block: block))
    end
  end

  # Small changes of what did something new; what turns up is followed at once.
  def vary
    idle = 0
    while idle < 200
      break if @corpus.empty? || done?

      lead = favourite
      found = attempt(varied(lead.attempt, lead.chosen))
      guided(60) if found
      idle = found ? 0 : idle + 1
    end
  end

  # Mostly one that stands before an open branch.
  def favourite
    near = @random.rand < 0.6 ? @corpus.select { |lead| gates_of(lead).any? } : []
    list = near.empty? ? @corpus : near
    list[@random.rand(list.length)]
  end

  def varied(attempt, chosen)
    copy = attempt.dup
    copy.args = attempt.args.dup
    copy.keys = attempt.keys.dup
    (@random.rand < 0.3 ? 2 : 1).times { @random.rand < 0.2 ? cross(copy) : vary_one(copy) }
    [copy, chosen_of(copy, chosen)]
  end

  # Something that stands in one part of the call also in another: equal things are rare by chance.
  def cross(copy)
    parts = [copy.receiver, *copy.args, *copy.keys.values]
    from = parts[@random.rand(parts.length)]
    return if copy.args.empty?

    place = @random.rand(copy.args.length)
    if @random.rand < 0.4 && from.match?(/[(\["{\d]/)
      copy.args[place] = @random.rand < 0.5 ? from : swap(from)
    else
      own, into = [from, copy.args[place]].map { |code| code.scan(TOKEN).reject { |token| token.match?(OPENED) } }
      return if own.empty? || into.empty?

      copy.args[place] = copy.args[place].sub(into[@random.rand(into.length)]) { own[@random.rand(own.length)] }
    end
  end

  def vary_one(copy)
    places = copy.args.each_index.to_a + copy.keys.keys
    settings = @values.settings_for(@method["id"])
    return copy.before = settings[@random.rand(settings.length)] if !settings.empty? && @random.rand < 0.1
    return copy.receiver = later(copy.receiver) if !@changing.empty? && @random.rand < 0.25

    if places.empty? || @random.rand < 0.25
      copy.block = block || copy.block if @method["yields"] && @random.rand < 0.4
      receiver = @random.rand < 0.5 ? pick(@receivers) : copy.receiver
      copy.receiver = @random.rand < 0.5 ? swap(receiver) : receiver
    else
      place = places[@random.rand(places.length)]
      name = place.is_a?(Integer) ? (copy.names || [])[place] : place
      list = @lists[name] || @values.generic
      if place.is_a?(Integer) then copy.args[place] = change(copy.args[place], list)
      else copy.keys[place] = change(copy.keys[place], list)
      end
    end
  end

  # The object after one more of the calls that may change it.
  def later(receiver)
    return receiver if receiver.scan("it.").length >= LATER || !receiver.match?(/\A[A-Z]/)

    ProctorStandIns.followed_by(receiver, @changing[@random.rand(@changing.length)])
  end

  def block
    @method["yields"] && @random.rand < 0.6 ? BLOCKS[@random.rand(BLOCKS.length)] : nil
  end

  # What worked best so far, to vary one thing at a time.
  def given = @base ? @base[0] : {}

  def make(chosen, receiver: nil, block: nil)
    args = []
    names = []
    keys = {}
    positional = true
    @params.each do |param|
      name = param["name"]
      list = @lists[name]
      case param["kind"]
      when "required"
        names[args.length] = name
        args << (chosen[name] || list.first || "nil")
      when "optional"
        positional &&= chosen.key?(name)
        names[args.length] = name if positional
        args << chosen[name] if positional
      when "rest" then args.concat(splat(chosen[name])) if chosen.key?(name)
      when "key" then keys[name] = chosen[name] || list.first || "nil"
      when "optional_key" then keys[name] = chosen[name] if chosen.key?(name)
      when "key_rest" then keys.merge!(options(chosen[name])) if chosen.key?(name)
      end
    end
    used = receiver || (@base && @base[1]) || @receivers.first
    # A setting without which nothing worked stays.
    [ProctorCase.new(method: @method, receiver: used, args: args, keys: keys, block: block || default_block, names: names, before: @base && @base[4]), chosen]
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
    attempt = with_strategy(attempt, @strategy) if @strategy
    return false if @tried[attempt.key]

    @tried[attempt.key] = true
    return false if [attempt.receiver, *attempt.args].any? { |code| ProctorCode.duplicate_key?(code) || ProctorFactories.oddities(code).nil? }

    result = @execute.run(attempt, light: true)
    spend(result)
    # Objects are made as the call needs them: with a database or without.
    return attempt([other = with_strategy(attempt, @strategy = result.need), chosen_of(other, chosen)]) if result.need
    follow(attempt, chosen, result)
    @failures[failure_of(result)] += 1 if result.noise
    if %i[blocked invalid].include?(result.kind)
      blocked(attempt, result) if result.kind == :blocked
      return false
    end
    keep(attempt, chosen, result)
  end

  def with_strategy(attempt, strategy)
    put = ->(code) { code && ProctorFactories.with_strategy(code, strategy) }
    ProctorCase.new(**attempt.to_h, receiver: put[attempt.receiver], args: attempt.args.map(&put), keys: attempt.keys.transform_values(&put),
                    stubs: attempt.stubs&.transform_values(&put), locals: attempt.locals&.transform_values(&put))
  end

  # Why a call shows nothing, in a line that is the same for all calls that fail like it.
  def failure_of(result)
    error = result.error
    return result.reason.to_s if error.nil? || result.kind == :blocked

    made = "an object or argument could not be made: " if result.kind == :invalid
    "#{made}#{error.class}: #{error.message.to_s.lines.first.to_s.strip.gsub(/#<([\w:]+)[^>]*>/, '#<\\1>')}".encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub("?")[0, 200]
  rescue StandardError
    error.class.to_s
  end

  # What is always slow on one object may be quick on another.
  def blocked(attempt, result)
    @blocked[result.reason] += 1
    return unless result.reason == "too slow"

    throw :enough if @blocked["too slow"] >= SLOW
    return if (@blocked[[attempt.receiver]] += 1) < 2 || @receivers.length < 2

    @receivers -= [attempt.receiver]
    @base = nil if @base && @base[1] == attempt.receiver
  end

  def spend(result)
    @steps -= result.steps.to_i
    throw :enough if (@left -= 1).negative? || @steps.negative? || (@idle += 1) > @patience
    throw :enough if Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > @deadline
  end

  # A run on a way that was not taken before, or that ended in another error, is worth asking what it compared.
  def follow(attempt, chosen, result)
    return if @paths.length > 400

    # What is given may be compared with something that comes from elsewhere when it is left out.
    given = [attempt.args.length, attempt.keys.keys]
    path = [result.seen.sort, result.kind, *complaint(result.error), result.yielded.nil?, result.world.keys, kinds(result), given].hash
    return if @paths[path]

    @paths[path] = true
    @idle -= 20 if open?(result)
    (open?(result) ? @hot : @cold) << Lead.new(attempt, chosen, result)
  end

  # What an error is about. Ruby looks for similar names whenever it is asked what name it did not find: that takes long.
  def complaint(error)
    [error.class, error.is_a?(NameError) ? error.name : error&.message.to_s[0, 60]]
  end

  # What kinds of things were compared: a text where there was nothing before is a step, even on the same way.
  def kinds(result)
    found = {}
    result.notes.each do |id, operator, left, right|
      found[(id << 40) ^ KIND.bind_call(left).__id__] = true
      # A table with something else in it than what is looked for: what it has may be asked for instead.
      found[(id << 40) ^ 1] = true if Hash === left && operator == :[] && !left.empty? && !left.key?(right)
      # A list for a pattern is another thing with another number of parts.
      found[(id << 40) ^ left.length] = true if operator == :in && Array === left
    end
    found.keys
  end

  # Whether it stands before a branch that nothing has taken yet.
  def open?(result) = gates(result).any?

  # The same with an answer from outside is another thing: without one it may not hold tomorrow. Yes and no are two things even
  # where no branch decides between them.
  def shape_key(attempt, result)
    word = nil.equal?(result.value) || true.equal?(result.value) || false.equal?(result.value) || Symbol === result.value ? result.value : KIND
    [result.seen.sort, result.kind, result.noise, attempt.stubs&.keys, word].hash
  end

  def keep(attempt, chosen, result)
    fresh = result.seen.reject { |key| @covered[key] }
    shape = shape_key(attempt, result)
    better = @base.nil? || (@base[3] && !result.noise)
    @base = [chosen, attempt.receiver, attempt.block, result.noise, attempt.before] if better
    return false if result.noise && fresh.empty?
    # An example that looks at what is yielded cannot expect an error as well.
    return false if attempt.block == "&probe" && result.kind == :raise
    return false if fresh.empty? && (@shapes[shape] >= EACH_WAY || @corpus.length >= MOST || @alike[shape] > ALIKE || @looks.negative?)

    attempt = tidied(attempt, result)
    agreed = seen_twice(attempt, shape)
    return false if agreed.nil? || (agreed.noise && fresh.empty?)

    agreed.seen |= result.seen
    @digests[[shape, agreed.digest]] = true
    @shapes[shape] += 1
    # A call that only failed by accident leaves what it reached open for a better one.
    fresh.each { |key| @covered[key] = true } unless agreed.noise
    @idle = 0 if fresh.any?
    @corpus << Lead.new(attempt, chosen, result)
    @base = [chosen, attempt.receiver, attempt.block, false, attempt.before] if !agreed.noise && fresh.length > 1 && agreed.kind == :return
    tell(attempt, agreed)
    !fresh.empty?
  end

  # The same with arguments that a reader would expect, where that changes nothing.
  def tidied(attempt, result)
    (attempt.names || []).each_with_index do |name, place|
      fit = name && fitting(name, attempt.args[place])
      attempt = alike(attempt, result, args: attempt.args.dup.tap { |list| list[place] = fit }) if fit
    end
    attempt.keys.each do |name, code|
      fit = fitting(name, code)
      attempt = alike(attempt, result, keys: attempt.keys.merge(name => fit)) if fit
    end
    tidied_object(attempt, result)
  end

  # The same for what the object is made with.
  def tidied_object(attempt, result)
    opening = "#{@owner}.new("
    return attempt if @made_with.empty? || !attempt.receiver.start_with?(opening)

    places = ProctorCode.arguments(attempt.receiver, opening.length)
    places.each_index.to_a.reverse.each do |index|
      from, to = places[index]
      given = attempt.receiver[from...to]
      key = given[/\A[a-z_]\w*: /].to_s
      param = key.empty? ? @made_with[index] : @made_with.find { |one| "#{one['name']}: " == key }
      next unless param && @values.odd?(given.delete_prefix(key), param, @owner)

      fit = @values.for_param(param, @owner).find { |other| other != "nil" && !@values.odd?(other, param, @owner) }
      attempt = alike(attempt, result, receiver: attempt.receiver[0...from] + key + fit + attempt.receiver[to..]) if fit
    end
    attempt
  end

  def fitting(name, code) = code && odd?(name, code) ? @lists[name]&.find { |other| other != "nil" && !odd?(name, other) } : nil

  # The changed call if it goes the same way, the call itself if not.
  def alike(attempt, result, **change)
    other = ProctorCase.new(**attempt.to_h, **change)
    again = @execute.run(other, light: true)
    again.kind == result.kind && again.noise == result.noise && again.seen.sort == result.seen.sort ? other : attempt
  end

  # What is seen of it both here and elsewhere; nil if that is nothing, or nothing new.
  def seen_twice(attempt, shape)
    one = @execute.run(attempt)
    @looks -= one.steps.to_i
    return nil if %i[blocked invalid].include?(one.kind)

    known = @digests[[shape, one.digest]]
    agreed = known ? nil : @execute.agreed(one, elsewhere { @execute.run(attempt) })
    agreed = nil if agreed && @digests[[shape, agreed.digest]]
    agreed ? @alike[shape] = 0 : @alike[shape] += 1
    agreed
  end

  # Under another program name, with other arguments on its command line and at another time.
  def elsewhere
    name = $PROGRAM_NAME
    $PROGRAM_NAME = "other"
    ARGV.replace(["--other", "spec"])
    ProctorClock.shift = 3_000_000
    folder = ProctorScope.folder
    ProctorScope.folder = "#{folder}-elsewhere"
    yield
  ensure
    ProctorScope.folder = folder
    $PROGRAM_NAME = name
    ARGV.clear
    ProctorClock.shift = 0
  end

  # Everything in the method was taken, and nothing open was met on the way.
  def done?
    from, to = @method["probes"]
    (from...to).all? { |id| @covered[(id << 1) + 1] && (@method["plain"].include?(id) || @covered[id << 1]) } &&
      @corpus.none? { |lead| gates_of(lead).any? }
  end

  def report
    failure = @failures.reject { |reason, _| @blocked.key?(reason) }.max_by(&:last)&.first
    blocked = @blocked.select { |key, _| String === key }.max_by(&:last)&.first
    @out.puts(JSON.generate("type" => "explored", "method" => @method["id"], "tries" => @tried.length, "receivers" => @receivers.length, "blocked" => blocked, "failure" => failure))
  end
end
