# frozen_string_literal: true

# Puts small faults into the methods and sees which calls notice; for faults that none notices, looks for one that does.
module ProctorFaults
  # What calls on all faults may take together, and on each; how many calls at most, and how many that notice are enough.
  FAULTS_EFFORT = 10_000_000
  FAULT_SHARE = (12_000..250_000).freeze
  CASES = 110
  ENOUGH = 8
  # Faults that are chased, what that may take, and similar calls made for each.
  CHASED = 300
  CHASE_EFFORT = 10_000_000
  CHASE_SHARE = (20_000..200_000).freeze
  SIMILAR = 110

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
    good = (line["kills"] || []).any? { |number, _| !@by_number[number]["noise"] }
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

  # Calls of the method itself come first, simple ones before others.
  def by_closeness(cases, entry)
    cases.sort_by do |one|
      from, to = attempt_of(one).method["probes"]
      [entry.between?(from, to - 1) ? 0 : 1, one["cost"], one["number"]]
    end
  end

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
      noticing += 1 if different.any? && !one["noise"]
      break if slow > 1 || noticing >= ENOUGH || left.negative?
    end
    found
  end

  # Calls like those that reach a fault, first on the code as it is, then on the faulty one: what differs is a new case.
  def chase
    by_entry = cases_by_entry
    open = @job["mutants"].select { |mutant| !@noticed[mutant["id"]] && by_entry[mutant["entry"]].any? { |one| !one["noise"] } }.first(CHASED)
    @chase = (CHASE_EFFORT / [open.length, 1].max).clamp(CHASE_SHARE.begin, CHASE_SHARE.end)
    found = work(open.map { |mutant| [mutant, nil] }, 60, spent + @job["mutation_seconds"], ProctorObserve::CHASED_BY) do |(mutant, _), out|
      @execute.watch
      differing(mutant, by_entry[mutant["entry"]]).each { |attempt| out.puts(JSON.generate(wire(mutant, attempt))) }
    end
    fresh = adopt(found.select { |line| line["type"] == "like" })
    mutate(open.select { |mutant| found.any? { |line| line["mutant"] == mutant["id"] } }, fresh)
  end

  def wire(mutant, attempt)
    { "type" => "like", "mutant" => mutant["id"], "method" => attempt.method["id"], "receiver" => attempt.receiver, "args" => attempt.args,
      "keys" => attempt.keys, "block" => attempt.block, "names" => attempt.names, "stubs" => attempt.stubs, "locals" => attempt.locals, "before" => attempt.before }
  end

  def differing(mutant, cases)
    tried = similar(cases.reject { |one| one["noise"] })
    return [] if tried.empty? || !install(mutant)

    other = tried.select do |attempt, result|
      again = @execute.run(attempt)
      again.kind != :blocked && again.digest != result.digest
    end
    other.map(&:first).min_by(2, &:cost)
  end

  # Similar calls of the few methods through which a fault is reached most simply.
  def similar(cases)
    groups = cases.group_by { |one| one["method"] }.values.min_by(2) { |list| list.map { |one| one["cost"] }.min }
    groups.flat_map do |list|
      method = attempt_of(list.first).method
      klass = owner_of(method)
      simple = list.sort_by { |one| [one["cost"], one["number"]] }.first(4)
      deep = list.sort_by { |one| [-one["seen"].length, one["cost"], one["number"]] }.first(4)
      chosen = (simple | deep).map { |one| attempt_of(one) }
      explorer = ProctorExplore.new(@execute, @values, @covered, nil)
      explorer.like(chosen, method, klass, receivers(method, klass), "tries" => SIMILAR, "steps" => @chase / 2, "seconds" => 30)
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
