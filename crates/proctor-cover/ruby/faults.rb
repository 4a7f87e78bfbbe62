# frozen_string_literal: true

# Puts small faults into the methods and sees which calls notice; for faults that none notices, looks for one that does.
module ProctorFaults
  # What calls on all faults may take together, and on each; how many calls at most, and how many that notice are enough.
  FAULTS_EFFORT = 10_000_000
  FAULT_SHARE = (12_000..250_000).freeze
  CASES = 110
  ENOUGH = 4
  # Faults that are chased, what that may take, and similar calls made for the faults of one method.
  CHASED = 300
  CHASE_EFFORT = 8_000_000
  CHASE_SHARE = (20_000..1_500_000).freeze
  SIMILAR = 110
  # Literals of faults that are tried in calls.
  LITERALS = 16
  # So many calls that notice a fault are enough to choose from.
  DIFFERING = 4

  private

  def mutate(mutants, cases = @cases)
    by_entry = cases_by_entry(cases)
    tasks = mutants.reject { |mutant| by_entry[mutant["entry"]].empty? }.map { |mutant| [mutant, nil] }
    work(tasks, 40, spent + @job["mutation_seconds"], ProctorObserve::CHASED_BY) do |(mutant, _), out|
      @execute.watch
      next out.puts(JSON.generate("type" => "mutant", "mutant" => mutant["id"], "invalid" => true)) unless install(mutant)

      out.puts(JSON.generate("type" => "mutant", "mutant" => mutant["id"], "kills" => kills(by_entry[mutant["entry"]], mutant["entry"])))
    end.each { |line| noticed(line) if line["type"] == "mutant" }
  end

  def noticed(line)
    @noticed ||= {}
    file = (@mutant_files ||= @job["mutants"].to_h { |mutant| [mutant["id"], mutant["entry"] / ProctorObserve::STRIDE] })[line["mutant"]]
    good = (line["kills"] || []).any? { |number, _| !@by_number[number]["noise"] && file_of(@by_number[number]["method"]) == file }
    @noticed[line["mutant"]] ||= good || line["invalid"]
  end

  def cases_by_entry(cases = @cases)
    @by_number = @cases.to_h { |one| [one["number"], one] }
    found = Hash.new { |hash, key| hash[key] = [] }
    entries = @job["mutants"].map { |mutant| mutant["entry"] }.uniq
    cases.each do |one|
      seen = one["seen"].to_h { |key| [key, true] }
      entries.each { |entry| found[entry] << one if seen[(entry << 1) + 1] }
    end
    found
  end

  def install(mutant)
    eval(mutant["code"], TOPLEVEL_BINDING, File.join(@root, mutant["file"]), mutant["line"]) # rubocop:disable Security/Eval
    true
  rescue Exception # rubocop:disable Lint/RescueException
    false
  end

  # Calls of the method itself come first, then those of its file, simple ones before others.
  def by_closeness(cases, entry)
    cases.sort_by do |one|
      from, to = attempt_of(one).method["probes"]
      [entry.between?(from, to - 1) ? 0 : near?(one, entry) ? 1 : 2, one["cost"], one["number"]]
    end
  end

  def near?(one, entry) = file_of(one["method"]) == entry / ProctorObserve::STRIDE

  def kills(cases, entry)
    found = []
    slow = 0
    noticing = 0
    left = (FAULTS_EFFORT / [@job["mutants"].length, 1].max).clamp(FAULT_SHARE.begin, FAULT_SHARE.end)
    by_closeness(cases, entry).first(CASES).each do |one|
      result = @execute.run(attempt_of(one))
      left -= result.steps
      slow += 1 if result.kind == :blocked
      different = one["stable"].reject { |index| same?(result, one["observations"][index]) }
      found.concat(different.map { |index| [one["number"], index] })
      # One elsewhere counts half: the spec of the file itself is to notice.
      noticing += near?(one, entry) ? 1 : 0.5 if different.any? && !one["noise"]
      break if slow > 1 || noticing >= ENOUGH || left.negative?
    end
    found
  end

  # Calls like those that reach a fault, on the code as it is (once for all faults of a method), then on the faulty one:
  # what differs is a new case.
  def chase
    @noticed ||= {}
    by_entry = cases_by_entry
    open = @job["mutants"].select { |mutant| !@noticed[mutant["id"]] && by_entry[mutant["entry"]].any? { |one| !one["noise"] } }.first(CHASED)
    likes = likes_of(open.group_by { |mutant| mutant["entry"] }, by_entry)
    found = work(open.map { |mutant| [mutant, nil] }, 60, spent + @job["mutation_seconds"], ProctorObserve::CHASED_BY) do |(mutant, _), out|
      @execute.watch
      differing(mutant, likes[mutant["entry"]] || []).each { |line| out.puts(JSON.generate(line.merge("type" => "differs", "mutant" => mutant["id"]))) }
    end
    fresh = adopt(found.select { |line| line["type"] == "differs" })
    mutate(open.select { |mutant| found.any? { |line| line["mutant"] == mutant["id"] } }, fresh)
  end

  # {entry => similar calls, with what they do}. What stands where the faults are is tried in them.
  def likes_of(open, by_entry)
    @chase = (CHASE_EFFORT / [open.length, 1].max).clamp(CHASE_SHARE.begin, CHASE_SHARE.end)
    lines = work(open.to_a, 60, spent + @job["mutation_seconds"], ProctorObserve::CHASED_BY) do |(entry, mutants), out|
      @execute.watch
      similar(by_entry[entry].reject { |one| one["noise"] }, literals_in(mutants)).each { |attempt, result| out.puts(JSON.generate(wire(entry, attempt, result))) }
    end
    lines.select { |line| line["type"] == "like" }.group_by { |line| line["entry"] }
  end

  LITERAL = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\#]|\\.)*)"|(?<![\w.])(\d+)(?![\w.])/.freeze

  # Texts and numbers in what faults replace.
  def literals_in(mutants)
    mutants.flat_map { |mutant| mutant["original"].scan(LITERAL).map { |one, two, number| number ? number.to_i : one || two } }.uniq.reject { |item| item == "" }.first(LITERALS)
  end

  # The digest means the same in all our children.
  def wire(entry, attempt, result)
    { "type" => "like", "entry" => entry, "digest" => result.digest, "method" => attempt.method["id"], "receiver" => attempt.receiver, "args" => attempt.args,
      "keys" => attempt.keys, "block" => attempt.block, "names" => attempt.names, "stubs" => attempt.stubs, "locals" => attempt.locals, "before" => attempt.before }
  end

  # The simplest of these calls that do something else on a faulty version.
  def differing(mutant, likes)
    return [] if likes.empty? || !install(mutant)

    slow = 0
    found = []
    likes.each do |line|
      again = @execute.run(attempt_of(line))
      slow += 1 if again.kind == :blocked
      found << line if again.kind != :blocked && again.digest != line["digest"]
      break if slow > 2 || found.length >= DIFFERING
    end
    found.min_by(2) { |line| attempt_of(line).cost }
  end

  # Similar calls of the few methods through which a fault is reached most simply.
  def similar(cases, literals)
    groups = cases.group_by { |one| one["method"] }.values.min_by(2) { |list| list.map { |one| one["cost"] }.min }
    groups.flat_map do |list|
      method = attempt_of(list.first).method
      klass = owner_of(method)
      simple = list.sort_by { |one| [one["cost"], one["number"]] }.first(4)
      deep = list.sort_by { |one| [-one["seen"].length, one["cost"], one["number"]] }.first(4)
      chosen = (simple | deep).map { |one| attempt_of(one) }
      explorer = ProctorExplore.new(@execute, @values, @covered, nil)
      explorer.like(chosen, method, klass, receivers(method, klass), literals, "tries" => SIMILAR, "steps" => @chase / 2, "seconds" => 30)
    end
  end

  def owner_of(method)
    (@owners ||= @job["classes"].flat_map { |klass| klass["methods"].map { |one| [one["id"], klass] } }.to_h)[method["id"]]
  end

  # New cases are observed and confirmed like all others.
  def adopt(lines)
    before = @cases.length
    work(lines.uniq { |line| line.values_at("method", "receiver", "args", "keys", "block", "stubs", "locals", "before") }.each_slice(40).map { |slice| [slice, nil] }, 60) do |(slice, _), out|
      @execute.watch
      slice.each { |line| ProctorExplore.new(@execute, @values, @covered, out).adopt(attempt_of(line), attempt_of(line).method) }
    end
    fresh = @cases.drop(before)
    settle(fresh)
    fresh & @cases
  end
end
