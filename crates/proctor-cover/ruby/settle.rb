# frozen_string_literal: true

# Which cases hold. Calls that leave something behind for others are found first, so that they go and not those who see it;
# then every case is executed again in other processes, orders, at other times and under other names.
module ProctorSettle
  # Cases looked at in one process; kinds of changes that are judged; cases that judge them.
  SLICE = 60
  GROUPS = 40
  WITNESSES = 500

  private

  def settle(all = @cases)
    changes = census(all)
    clean, others = all.select { |one| changes[one["number"]] }.partition { |one| changes[one["number"]] == [] }
    all.each { |one| one["touched"] = @touched[one["number"]] || [] }
    clean, setting = clean.partition { |one| one["touched"].empty? }
    confirm(clean)
    others = harmless(others, clean) { |one| changes[one["number"]] }
    confirm(others)
    confirm(setting)
    put_back(setting, clean)
    kept = clean + others + setting
    gone = all - kept.select { |one| one["stable"].any? }
    gone.each { |one| (@withdrawn ||= {})[one["method"]] = true unless one["noise"] }
    @cases -= gone
    recount
  end

  # Who changes settings puts them back in its spec, unless it is a memory that nobody notices.
  def put_back(cases, witnesses)
    quiet = harmless(cases.reject { |one| one["before"] || one["method"].end_with?("=") || one["touched"].include?(ProctorKeep::ENVIRONMENT) }, witnesses) { |one| ["kept", *one["touched"].map { |lines| lines[1] }] }
    (cases - quiet).each { |one| one["keeps"] = one["touched"] }
  end

  # What dropped cases reached is open again.
  def recount
    @covered = {}
    @own = {}
    @cases.each { |one| count(one) }
  end

  # What each case changes of what all share: {number => places}. The rest goes on in a process without the change; a case
  # that ends its process is not in the answer.
  def census(all)
    changes = {}
    open = all.each_slice(SLICE).to_a
    until open.empty?
      lines = work(open.map { |slice| [slice, nil] }, 120) { |(slice, _), out| look_at(slice, out) }
      lines.each { |line| looked(line, changes) if line["type"] == "looked" }
      open = open.map { |slice| rest_of(slice, changes) }.reject(&:empty?)
    end
    changes.compact
  end

  def looked(line, changes)
    changes[line["case"]] = line["changed"]
    (@touched ||= {})[line["case"]] = line["touched"] || []
  end

  def rest_of(slice, changes)
    known = slice.rindex { |one| changes.key?(one["number"]) }
    changes[slice.first["number"]] = nil unless known
    slice.drop((known || 0) + 1)
  end

  def look_at(slice, out)
    @execute.watch
    shared = ProctorShared.new(@job["classes"].map { |klass| klass["name"] })
    # Changes that the first call and the first inspection cause by themselves do not count.
    @execute.value_of("nil")
    shared.look
    before = shared.look
    slice.each do |one|
      result = @execute.run(attempt_of(one))
      changed = ProctorShared.changes(before, shared.look)
      out.puts(JSON.generate("type" => "looked", "case" => one["number"], "changed" => changed.sort, "touched" => result.touched))
      break unless changed.empty?
    end
  end

  # Something that is only remembered for later changes nothing for others: who makes the same change goes first, then
  # all others, then they again. Those stay whose change nobody notices.
  def harmless(cases, clean, &change)
    groups = cases.group_by(&change)
    @judged ||= {}
    fresh = groups.reject { |places, _| @judged.key?(places) }.first(GROUPS)
    witnesses = clean.select { |one| one["stable"].any? }
    witnesses = witnesses.each_slice((witnesses.length / WITNESSES.to_f).ceil.clamp(1, 1_000)).map(&:first)
    work(fresh.map { |group| [group, nil] }, 120) do |((places, members), _), out|
      out.puts(JSON.generate("type" => "judged", "places" => places, "harmless" => unnoticed?(members, witnesses)))
    end.each { |line| @judged[line["places"]] = line["harmless"] if line["type"] == "judged" }
    groups.select { |places, _| @judged[places] }.values.flatten(1)
  end

  def unnoticed?(members, witnesses)
    @execute.watch
    @execute.keep.off = true
    members = members.first(WITNESSES)
    members.each { |one| @execute.run(attempt_of(one)) }
    witnesses.all? { |one| holds?(one, one["stable"]) } && members.reverse.all? { |one| holds?(one, one["observations"].each_index) }
  end

  def holds?(one, wanted)
    result = @execute.run(attempt_of(one))
    wanted.all? { |index| same?(result, one["observations"][index]) }
  end

  # Every case again, in a fresh process and in other orders: what differs is not kept.
  def confirm(all)
    all.each { |one| one["stable"] = one["observations"].each_index.to_a }
    [all, all.reverse, all.shuffle(random: Random.new(3))].each_with_index do |cases, round|
      confirmed = {}
      work(cases.each_slice(150).map { |slice| [slice, nil] }, 120) do |(slice, _), out|
        elsewhere(round) { slice.each { |one| out.puts(JSON.generate("type" => "confirmed", "case" => one["number"], "same" => same_in(one))) } }
      end.each { |line| confirmed[line["case"]] = line["same"] }
      all.each { |one| one["stable"] &= confirmed[one["number"]] || [] }
    end
  end

  def elsewhere(round)
    @execute.watch
    srand(round)
    $PROGRAM_NAME = "round#{round}"
    ARGV.replace(["--round", round.to_s])
    ProctorClock.shift = round * 9_000_003
    ProctorScope.folder += "-#{round}"
    yield
  end

  def same_in(one)
    result = @execute.run(attempt_of(one))
    one["observations"].each_index.select { |index| same?(result, one["observations"][index]) }
  end

  def same?(result, expected)
    result.observations.any? { |one| one["kind"] == expected["kind"] && one["matcher"] == expected["matcher"] && one["index"] == expected["index"] }
  end
end
