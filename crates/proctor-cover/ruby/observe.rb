# frozen_string_literal: true

# Loads a project with probes, looks for calls that show what its methods do, and tries each of them on faulty versions.
# Usage: ruby observe.rb JOB RESULT. Everything is executed in forked children with limits; this process only collects, in the
# order of its tasks and never of their ends: the same project gives the same calls.
require "json"
%w[database shared keep probe guard clock world double sample record_values form_values records queries render values finders execute explore children settle faults reach states factories rails_effects hosts requests delegators].each { |name| require_relative name }

class ProctorObserve
  include ProctorChildren
  include ProctorSettle
  include ProctorFaults
  include ProctorReach
  include ProctorStates
  include ProctorHosts
  include ProctorRequests
  include ProctorDelegators

  # Calls tried altogether, shared by the methods, and at least for each; the same for what they may take.
  CALLS = 75_000
  LEAST = 200
  EFFORT = 8_000_000
  SHARE = (80_000..2_500_000).freeze
  # The number of constructors that are explored even if no selected method needs them.
  FEW = 12
  # Probe numbers of a file start at its index times this, as `observation.rs` gives them.
  STRIDE = 100_000
  # Methods for messages without a method of their own: they are reached through such messages, private or not.
  GHOSTS = %w[method_missing respond_to_missing?].freeze
  # A round that finds less than this is the last one.
  ENOUGH_MORE = 1.03
  # Parts of the whole time by the clock after which nothing further is begun. Only a machine that is very busy comes near them.
  EXPLORED = 0.4
  REPEATED = 0.55
  CHASED_BY = 0.85

  def initialize(job, result)
    @job = job
    @result = File.open(result, "w")
    @result.sync = true
    @root = job["root"]
    # Answers of probes that some call brought about; those that calls of the same file did.
    @covered = {}
    @own = {}
    @cases = []
    @explored = {}
    @started = now
  end

  def run
    load_project
    ProctorDatabase.start
    use_what_rails_gives
    @values = ProctorValues.new(@job, Random.new(1))
    @values.sources = sources
    ProctorScope.folder = File.join(File.dirname(@root), "files")
    @values.records = ProctorRecordValues.new(@values.literals) if ProctorDatabase.active?
    @execute = ProctorExecute.new(@root, readers, @job["raise_lines"], queries)
    ProctorGuard.install
    ProctorWorld.install(@root)
    find_methods
    @job["classes"].each { |klass| rescued_in(klass) }
    ProctorWorld.install_doors(doors)
    warm_up_requests
    configure
    @execute.keep.assignments.each { |name, codes| codes.each { |code| @values.setting(name, code) } }
    phase("constructors") { construct }
    phase("class methods") { explore(@class_methods, 1) }
    phase("instance methods") { explore(@instance_methods, 1) }
    phase("settle") { settle }
    phase("states") { search_states }
    phase("again") { again }
    publish
    unless @job["mutants"].empty?
      phase("faults") { mutate(@job["mutants"]) }
      phase("chase") { chase }
    end
    finish
  end

  # Says how long a part took, and what there is after it.
  def phase(name)
    before = now
    yield
    say("type" => "phase", "name" => name, "seconds" => (now - before).round(2), "cases" => @cases.length, "covered" => @covered.length)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Seconds of work so far, by what the processors did rather than by the clock: a busy machine changes nothing.
  # A clock that has gone on for much longer ends it all the same.
  def spent
    times = Process.times
    [(times.utime + times.stime + times.cutime + times.cstime) / @job["jobs"], (now - @started) / 8].max
  end

  def say(line) = @result.puts(JSON.generate(line))

  def load_project
    Encoding.default_external = Encoding::UTF_8
    Dir.chdir(@root)
    $VERBOSE = nil
    $PROGRAM_NAME = "rspec"
    @job["load_paths"].reverse_each { |path| $LOAD_PATH.unshift(path) }
    @job["requires"].each { |path| require path }
    @job["late"].each { |path| require path rescue nil } # rubocop:disable Style/RescueModifier
    ProctorGuard.install_sockets
    ProctorScope.include(ActionCalls) if defined?(ActionCalls)
  end

  # A library that is configured before it is used: with what it has by default.
  def configure
    roots = @job["classes"].map { |klass| klass["name"][/\A\w+/] }.uniq.map { |name| constant(name) }.grep(Module)
    roots.select { |mod| mod.respond_to?(:configure) && mod.method(:configure).arity.then { |arity| arity.zero? || arity == -1 } }.first(2).each do |mod|
      place = mod.method(:configure).source_location&.first.to_s
      next unless place.start_with?("#{@root}/")

      # What is loaded by it on this occasion is no change that a call makes.
      unchanged(mod) { @execute.value_of("#{mod.name}.configure {}") }
      @values.setting("#{mod.name}.configure", "#{mod.name}.configure {}")
    end
  end

  # Runs with the variables of a module put back afterwards.
  def unchanged(mod)
    before = mod.instance_variables.to_h { |name| [name, mod.instance_variable_get(name)] }
    yield
  ensure
    (mod.instance_variables - before.keys).each { |name| mod.remove_instance_variable(name) }
    before.each { |name, value| mod.instance_variable_set(name, value) }
  end

  # Stored objects, factories, and what the project's examples have for emails, jobs and the clock.
  def use_what_rails_gives
    keep_log_small
    ProctorQueries.install
    ProctorRailsEffects.install(@root, @job["spec"], @job["spec_type"])
    ProctorFactories.install(ProctorRailsEffects.helper?(:create))
    ProctorFactories.troubles.each { |text| say("type" => "trouble", "message" => text) }
  end

  # Thousands of calls in a log: a file that grows too large ends the process that writes it.
  def keep_log_small
    logger = Rails.logger if defined?(Rails) && Rails.respond_to?(:logger)
    logger.level = 5 if logger.respond_to?(:level=)
  end

  # The text of the files that are covered.
  def sources
    @job["mutants"].map { |mutant| mutant["file"] }.uniq.map { |file| File.read(File.join(@root, file), encoding: Encoding::UTF_8).scrub("?") }.join("\n")
  rescue SystemCallError
    ""
  end

  def readers = @job["classes"].to_h { |klass| [klass["name"], klass["readers"]] }

  def queries = @job["classes"].to_h { |klass| [klass["name"], klass["queries"] || []] }

  # The constant, if it is there; what loads itself when it is named may fail to.
  def constant(name)
    Object.const_get(name)
  rescue StandardError, ScriptError
    nil
  end

  # Sorts methods into constructors, class methods and instance methods; drops what is not really there.
  def find_methods
    @known = @job["classes"].to_h { |klass| [klass["name"], true] }
    @places = @job["classes"].flat_map { |klass| klass["methods"].flat_map { |method| method["plain"] } }.to_h { |id| [id, true] }
    @constructors = []
    @class_methods = []
    @instance_methods = []
    @job["classes"].each do |klass|
      mod = constant(klass["name"])
      next say("type" => "missing", "class" => klass["name"]) unless mod.is_a?(Module)

      klass["module"] = mod
      # Also where it is another name for `==`.
      mod.prepend(ProctorChance) if mod.is_a?(Class) && mod.method_defined?(:eql?) && mod.instance_method(:eql?).owner.equal?(mod)
      delegate(klass, mod)
      klass["methods"].each { |method| sort(method, klass, mod) }
    end
  end

  def sort(method, klass, mod)
    return unless method["testable"]

    # What is asked of an action is a request.
    method.replace(as_request(method, mod)) && klass["requests"] = true if method["scope"] != "class" && action?(mod, method["name"])
    # Emails are written by calling the class.
    method["scope"] = "class" if ProctorRailsEffects.mailer?(mod) && mod.action_methods.include?(method["name"])
    if method["name"] == "initialize"
      return @constructors << [method, klass] if mod.is_a?(Class) && mod.respond_to?(:new)
    elsif method["scope"] == "class" || method["module_function"]
      return @class_methods << [method, klass] if mod.respond_to?(method["name"], GHOSTS.include?(method["name"]))
    elsif mod.method_defined?(method["name"]) || (GHOSTS.include?(method["name"]) && mod.private_method_defined?(method["name"]))
      return @instance_methods << [method, klass]
    end
    (@absent ||= {})[method["id"]] = true
  end

  # Ways to make instances of every class, documented ones included.
  def construct
    @job["classes"].each { |klass| plain_instance(klass) }
    documented
    @constructors = @constructors.select { |method, klass| needed?(method, klass) } if @constructors.length > FEW
    2.times { |round| explore(@constructors, round + 1) unless round == 1 && @constructors.all? { |method, _| complete?(method) } }
  end

  # Of many classes only those are built that are covered, or that the covered files speak of; stored ones are made otherwise.
  def needed?(method, klass)
    method["selected"] || (!ProctorDatabase.record?(klass["module"]) && @values.spoken_of?(klass["name"]))
  end

  def plain_instance(klass)
    mod = klass["module"]
    return unless mod

    name = klass["name"]
    list = @values.instances[name]
    return list.concat(ProctorFactories.codes(name)) if ProctorFactories.known?(name)

    if name == "Object" then list.push('"a"', "[1]", "{ a: 1 }", "1", "nil", "[{ a: 1 }]", "Object.new")
    elsif ProctorValues::CORE.key?(name) then list.concat(ProctorValues::CORE[name])
    elsif !mod.is_a?(Class) && (hosts = stored_hosts(mod)).any?
      list.concat(hosts.flat_map { |host| @values.records.instances(host).first(20) }.first(40))
    elsif !mod.is_a?(Class)
      list.concat(hosts_of(name, mod))
    elsif ProctorDatabase.active? && ProctorDatabase.record?(mod) && mod.table_exists?
      return @values.postpone(name, mod) unless @values.spoken_of?(name) || klass["methods"].any? { |method| method["selected"] }

      list.concat(@values.records.instances(mod))
    elsif ProctorFormValues.form?(mod)
      list.concat(forms_of(klass, mod))
    elsif klass["members"]&.any?
      list.concat(record_instances(klass, mod))
    elsif mod.respond_to?(:new) && mod.instance_method(:initialize).arity.then { |arity| arity.zero? || arity == -1 }
      list << "#{name}.new"
    elsif mod.respond_to?(:instance)
      list << "#{name}.instance"
    end
    constructor = klass["methods"].any? { |method| method["name"] == "initialize" }
    inherited(klass, mod, list) unless constructor
  end

  # Objects that validate themselves, with stand-ins for what they work with.
  def forms_of(klass, mod)
    collaborators = (klass["attributes"] || {}).to_h { |name, usage| [name, @values.for_param({ "name" => name, "usage" => usage }, klass["name"]).grep(/\Ainstance_double/)] }
    collaborators.select! { |name, codes| codes.any? && mod.method_defined?("#{name}=") }
    ProctorFormValues.new(@values.literals).forms(mod, collaborators)
  rescue StandardError, ScriptError
    ["#{klass['name']}.new"]
  end

  # Stored classes that include a module: its methods need their columns and callbacks.
  def stored_hosts(mod) = ProctorDatabase.active? ? ProctorDatabase.records.select { |record| record.include?(mod) }.first(2) : []

  # A constructor that comes from elsewhere: the parameters are known, their use is not.
  def inherited(klass, mod, list)
    return unless mod.is_a?(Class) && mod.respond_to?(:new) && list.empty?

    params = mod.instance_method(:initialize).parameters
    count = params.count { |kind, _| kind == :req }
    keys = params.select { |kind, _| kind == :keyreq }.map { |_, name| "#{name}: \"a\"" }
    ['"a"', "1", "{}", "nil", "[]"].each { |value| list << "#{klass['name']}.new(#{([value] * count + keys).join(', ')})" }
  end

  def documented
    names = @job["classes"].map { |klass| klass["name"] }
    work([[:documented, nil]], 4) do |_task, out|
      @execute.watch
      @job["pool"]["calls"].first(150).each do |code|
        owner = ProctorExplore::KIND.bind_call(@execute.value_of(code)).name
        out.puts(JSON.generate("type" => "instance", "class" => owner, "code" => code)) if names.include?(owner)
      end
    end
  end

  def complete?(method)
    from, to = method["probes"]
    (from...to).all? { |id| @own[(id << 1) + 1] && (method["plain"].include?(id) || @own[id << 1]) }
  end

  # The file of a method: its spec is to show what is in it, whatever others show of it.
  def file_of(id) = (@files ||= @job["classes"].flat_map { |klass| klass["methods"] }.to_h { |method| [method["id"], method["probes"][0] / STRIDE] })[id]

  def count(one)
    return if one["noise"]

    file = file_of(one["method"])
    one["seen"].each do |key|
      @covered[key] = true
      @own[key] = true if (key >> 1) / STRIDE == file
    end
  end

  # What need not be looked for any more by calls of a method of this file.
  def known_in(file) = @covered.select { |key, _| @own[key] || (key >> 1) / STRIDE != file }

  def receivers(method, klass)
    name = klass["name"]
    return [name] if method["name"] == "initialize" || method["scope"] == "class" || method["module_function"]

    return ["requests_to(#{name})"] if method["params"].any? { |param| param["codes"] } || (klass["requests"] && action?(klass["module"], method["name"]))

    @values.focus(name)
    list = @values.instances[name].first(110) | (klass["variants"] ||= variants(klass))
    subclasses = @values.instances.keys.select { |other| constant(other)&.then { |mod| mod.is_a?(Class) && klass["module"] && mod < klass["module"] } }
    list += subclasses.flat_map { |other| @values.instances[other].first(3) }.first(10)
    list += subclasses.flat_map { |other| @values.instances[other].first(1) }.first(3).map { |code| "#{code} #{KEPT_BLOCKS.first}" } if keeps_block?(klass)
    unless klass["module"].is_a?(Class)
      bare, suitable = list.partition { |code| code.match?(/\A(?:Class|Struct)\.new(?:\(:a, :b\))? \{ include/) }
      list = suitable + bare.drop(1) + bare.first(1)
    end
    list.uniq
  end

  def explore(methods, round)
    allowed = allowance(round, @round == 2 ? methods.length : @constructors.length + @class_methods.length + @instance_methods.length)
    work(methods, 240, nil, @round == 2 ? REPEATED : EXPLORED) do |(method, klass), out|
      @execute.watch
      known = @round == 2 ? @cases.select { |one| one["method"] == method["id"] }.map { |one| ProctorStandIns.inlined(attempt_of(one)) } : []
      ProctorExplore.new(@execute, @values, known_in(file_of(method["id"])), out).method(method, klass, receivers(method, klass), allowed, known)
    end
  end

  # What each of so many methods may take.
  def allowance(round, count)
    tries = (CALLS / [count, 1].max).clamp([LEAST, @job["tries"]].min, @job["tries"])
    { "tries" => tries * round, "steps" => (EFFORT / [count, 1].max).clamp(SHARE.begin, SHARE.end), "seconds" => 45 }
  end

  # With objects in more states, what is still open is tried again.
  def again
    2.times do
      return if spent > @job["seconds"]

      @round = 2
      grow
      open = (@constructors + @class_methods + @instance_methods).reject { |method, _| complete?(method) && !met_open?(method) }
      known = @covered.length + @own.length
      before = @cases.length
      open.map(&:last).uniq.each { |klass| klass["changing"] = klass["module"].is_a?(Class) ? changing_calls(klass) : [] }
      explore(open, 1)
      settle(@cases.drop(before))
      # A little more is not worth a third look at everything.
      return if @covered.length + @own.length < known * ENOUGH_MORE
    end
  end

  # Whether calls of a method stood before a branch that nothing has taken: its own may be complete, its helpers' not.
  def met_open?(method)
    known = known_in(file_of(method["id"]))
    @cases.any? do |one|
      one["method"] == method["id"] && one["seen"].any? { |key| !@places[key >> 1] && !known[key ^ 1] && !ProctorRecords.rule?(key >> 1) }
    end
  end

  def attempt_of(one)
    @methods ||= @job["classes"].flat_map { |klass| klass["methods"] }.to_h { |method| [method["id"], method] }
    ProctorCase.new(method: @methods[one["method"]], receiver: one["receiver"], args: one["args"], keys: one["keys"], block: one["block"],
                    names: one["names"], stubs: one["stubs"], locals: one["locals"], before: one["before"])
  end

  def take(line)
    case line["type"]
    when "case" then take_case(line)
    when "instance" then add_instance(line["class"], line["code"], 12)
    when "state" then add_instance(line["class"], line["code"], 110)
    when "explored" then @explored[line["method"]] = line
    when "mutant", "trouble" then say(line)
    end
  end

  def take_case(line)
    key = line.values_at("method", "receiver", "args", "keys", "block", "stubs", "locals", "before")
    return if (@known_cases ||= {})[key]

    @known_cases[key] = true
    line["number"] = (@numbers = @numbers.to_i + 1) - 1
    count(line)
    @cases << line
    shape = [line["instance"], line["shape"]]
    count = (@shapes ||= Hash.new(0))[shape] += 1
    add_instance(line["instance"], line["instance_code"], 30) if line["instance"] && line["outcome"] == "return" && count <= 4
    @values.setting(line["method"], line["prelude"]) if line["prelude"]
    owner = line["method"][/\A[\w:]+/]
    add_instance(owner, line["changed"], 60) if line["changed"] && new_state?(line)
  end

  # A few states by each method, one or two for each way it went: one that changes much must not crowd out the others.
  def new_state?(line)
    counts = (@changes ||= Hash.new { |hash, key| hash[key] = Hash.new(0) })[line["method"]]
    (counts[line["seen"].sort] += 1) <= 2 && (counts[:all] += 1) <= 10
  end

  def add_instance(owner, code, limit)
    @known ||= @job["classes"].to_h { |klass| [klass["name"], true] }
    return unless @known[owner] && code

    list = @values.instances[owner]
    list << code if list.length < limit && !list.include?(code)
  end

  # Says what there is: should time run out later, this much is known.
  def publish
    @published ||= {}
    @cases.reject { |one| @published[one["number"]] }.each do |one|
      @published[one["number"]] = true
      say(one.slice("type", "number", "method", "receiver", "args", "keys", "block", "setup", "seen", "observations", "noise", "cost", "stable", "outcome", "keeps"))
    end
  end

  def finish
    publish
    @explored.each_value { |line| say(line) }
    say_unreached
    say("type" => "done", "seconds" => spent)
  end
end

if $PROGRAM_NAME == __FILE__
  job, result = ARGV
  ARGV.clear
  ProctorObserve.new(JSON.parse(File.read(job)), result).run
end
