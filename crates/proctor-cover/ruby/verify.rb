# frozen_string_literal: true

# Runs spec files as their users will: the `rspec` program in a process of its own, with the project's `.rspec` and nothing
# loaded besides, again and again in other orders, on other days, in other time zones, all files together or one alone.
# Examples that fail only after certain others are victims: who disturbs them is looked for by halving what ran before.
# Usage: ruby verify.rb JOB RESULT
require "json"
require "rbconfig"

class ProctorVerify
  # Victims whose disturber is looked for; seconds that a run may take.
  VICTIMS = 6
  SECONDS = 90

  def initialize(job)
    @job = job
  end

  def answer
    @outcomes = runs(@job["runs"])
    failed = @outcomes.flat_map { |one| one["examples"].select { |example| example["status"] == "failed" }.map { |example| [one, example] } }
    disturbed = @job["halve"] ? disturbances(failed) : []
    { "errors" => @outcomes.map { |one| one["error"] }, "passed" => count("passed"), "pending" => count("pending"),
      "failed" => failed.map { |_, example| place(example) }.uniq, "disturbed" => disturbed, "reasons" => reasons(failed) }
  end

  private

  def count(status) = @outcomes.map { |one| one["examples"].count { |example| example["status"] == status } }.min

  def place(example) = example.values_at("file", "line")

  # [[place, why], ...]: the first failure of each place, with what was special about that run.
  def reasons(failed)
    failed.uniq { |_, example| place(example) }.map { |one, example| [place(example), "#{example['message']} (#{circumstances(one['run'])})"] }
  end

  def circumstances(run)
    alone = run["specs"].length == 1 && @job["runs"].any? { |other| other["specs"].length > 1 }
    parts = ["plain rspec", "seed #{run['seed']}"]
    parts << "the file alone" if alone
    parts << "the clock moved by #{run['shift']} seconds, #{run['environment'].map { |pair| pair.join('=') }.join(' ')}" if run["shift"] != 0
    parts.join(", ")
  end

  # [[place of a victim, place of who disturbs it], ...] for examples that hold alone.
  def disturbances(failed)
    victims = failed.uniq { |_, example| example["id"] }.select { |one, example| elsewhere_passed?(one, example) }.first(VICTIMS)
    alone = runs(victims.map { |one, example| only(one["run"], [example]) })
    victims = victims.zip(alone).select { |(_, example), outcome| status_in(outcome, example) == "passed" }.map(&:first)
    victims.each_with_object([]) do |(one, victim), found|
      disturber = known_disturber(one, victim, found) || halved(one, before(one, victim), victim)
      found << [place(victim), place(disturber)] if disturber
    end
  end

  # Who disturbed one often disturbs others too.
  def known_disturber(one, victim, found)
    known = found.map(&:last).uniq
    before(one, victim).find { |example| known.include?(place(example)) && fails_after?(one, [example], victim) }
  end

  def elsewhere_passed?(run, example)
    @outcomes.any? { |other| !other.equal?(run) && status_in(other, example) == "passed" } || @outcomes.length == 1
  end

  def status_in(outcome, example) = outcome["examples"].find { |other| other["id"] == example["id"] }&.fetch("status")

  # Examples in the order in which they ran, up to the victim.
  def before(one, victim) = one["examples"].take_while { |example| example["id"] != victim["id"] }

  # The one among these after which the victim fails. The order of a seed is the same for any part of the examples.
  def halved(one, suspects, victim)
    return nil unless fails_after?(one, suspects, victim)

    while suspects.length > 1
      halves = suspects.each_slice((suspects.length / 2.0).ceil).to_a
      suspects = halves.find { |half| fails_after?(one, half, victim) }
      return nil unless suspects
    end
    suspects.first
  end

  def fails_after?(one, suspects, victim)
    return false if suspects.empty?

    status_in(runs([only(one["run"], suspects + [victim])]).first, victim) == "failed"
  end

  def only(run, examples) = run.merge("specs" => examples.map { |example| example["id"] })

  # Several runs at once, answers in their order.
  def runs(list)
    answers = Array.new(list.length)
    waiting = list.each_with_index.to_a
    running = {}
    until waiting.empty? && running.empty?
      while running.length < @job["jobs"] && (run, index = waiting.shift)
        out = File.join(@job["folder"], "verify-#{Process.pid}-#{index}.json")
        running[start(run, out)] = [run, index, out, now + SECONDS]
      end
      reap(running, answers)
    end
    answers
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def reap(running, answers)
    # Each by its number: the project may have children of its own, and threads that wait for them.
    pid, = running.keys.lazy.filter_map { |one| Process.wait2(one, Process::WNOHANG) }.first
    if pid
      run, index, out = running.delete(pid)
      answers[index] = read(run, out)
    else
      running.each { |one, (_, _, _, deadline)| Process.kill(:KILL, one) if now > deadline }
      sleep(0.003)
    end
  end

  # Nothing of ours is loaded but a formatter that needs nothing itself, and the moved clock where it is moved.
  def start(run, out)
    clock = run["shift"].zero? ? [] : ["-r", File.join(__dir__, "shifted_clock.rb")]
    arguments = ["--require", File.join(__dir__, "plain_formatter.rb"), "--format", "ProctorPlainFormatter", "--out", out,
                 "--order", "random:#{run['seed']}", *run["specs"]]
    variables = run["environment"].merge("PROCTOR_CLOCK_SHIFT" => (run["shift"].to_s unless run["shift"].zero?))
    Process.spawn(variables, RbConfig.ruby, *clock, *program, *arguments, in: File::NULL, %i[out err] => "#{out}.log")
  end

  # The `rspec` program where there is one; what it does, where RSpec can only be loaded.
  def program
    @program ||= begin
      found = ENV["PATH"].to_s.split(File::PATH_SEPARATOR).any? { |folder| File.executable?(File.join(folder, "rspec")) }
      found ? ["-S", "rspec"] : ["-e", '$PROGRAM_NAME = "rspec"; require "rspec/core"; RSpec::Core::Runner.invoke', "--"]
    end
  end

  # Lines of the formatter: `example`, `message` and `end`, with fields between tabs.
  def read(run, out)
    lines = File.readlines(out, chomp: true, encoding: "UTF-8").map { |line| line.split("\t") }
    ending = lines.find { |kind,| kind == "end" }
    return unreadable(run, out) unless ending

    messages = lines.filter_map { |kind, text| text.undump if kind == "message" }
    examples = lines.select { |kind,| kind == "example" }.map do |_, status, id, file, line, message|
      { "id" => id.undump, "file" => file.undump.delete_prefix("./"), "line" => line.to_i, "status" => status, "message" => message.undump }
    end
    error = messages.empty? ? "an error outside of examples" : messages.join("\n").strip if ending[1].to_i.positive?
    { "run" => run, "error" => error, "examples" => examples }
  rescue SystemCallError, RuntimeError, ArgumentError
    unreadable(run, out)
  ensure
    [out, "#{out}.log"].each { |path| File.delete(path) if File.exist?(path) }
  end

  def unreadable(run, out)
    { "run" => run, "error" => "rspec gave no report, or takes too long: #{log_of(out)}", "examples" => [] }
  end

  def log_of(out)
    File.read("#{out}.log", 4_000).to_s.lines.map(&:strip).reject(&:empty?).first(5).join(" / ")
  rescue SystemCallError
    ""
  end
end

if $PROGRAM_NAME == __FILE__
  job = JSON.parse(File.read(ARGV[0]))
  Dir.chdir(job["root"])
  File.write(ARGV[1], JSON.generate(ProctorVerify.new(job).answer))
end
