# frozen_string_literal: true

# A small controller: loads a suite, forks workers, hands out one unit at a time, survives crashes.
class SuiteRun
  Crash = Struct.new(:key, :ending)

  attr_reader :list, :examples, :finished, :outside, :crashes, :order, :outputs, :logs, :events, :host_stdout, :raw

  def initialize(root, args = [], workers: 1, env: {}, limit: 30, marks: "m4rk", worker_env: {})
    @root = root
    @args = args
    @workers = workers
    @env = env
    @limit = limit
    @marks = marks
    @worker_env = worker_env
    @finished = []
    @outside = []
    @crashes = []
    @order = Hash.new { |hash, slot| hash[slot] = [] }
    @outputs = { "stdout" => Hash.new(""), "stderr" => Hash.new("") }
    @logs = []
    @events = []
    @raw = +""
  end

  def call
    Host.open(@root, env: @env) do |host|
      @host = host
      @list = host.list(*@args)
      @examples = host.examples
      run_all if @list["error"].nil? && @list["errors"].empty?
      host.parent.request("__shutdown__")
      host.wait
      @host_stdout = host.stdout.finish
    end
    self
  end

  def results
    finished.to_h do |event|
      [event["key"], [event["status"], event["pending_message"], PlainRSpec.exception(@root, event["exception"])]]
    end
  end

  def result(text)
    key = examples.find { |example| example["full_description"].end_with?(text) }&.fetch("key")
    finished.find { |event| event["key"] == key }
  end

  def output(stream, text)
    key = examples.find { |example| example["full_description"].end_with?(text) }.fetch("key")
    @outputs[stream][key]
  end

  private

  def run_all
    @queue = @examples.chunk_while { |one, other| one["unit"] && one["unit"] == other["unit"] }
                      .map { |unit| unit.map { |example| example["key"] } }
    @lock = Mutex.new
    Array.new(@workers) { |slot| Thread.new { work(slot) } }.each(&:join)
  end

  def work(slot)
    generation = 0
    while (unit = @lock.synchronize { @queue.shift })
      worker ||= @host.fork(slot, generation: generation, env: @worker_env)
      next if run_unit(worker, unit)

      worker = nil
      generation += 1
    end
    leave(worker) if worker
  end

  # False when the worker died.
  def run_unit(worker, unit)
    reply = worker.request("run", units: [unit.map { |key| { key: key, repeat: 1, attempt: 1 } }], marks: @marks)
    raise reply["error"]["message"] if reply["error"]

    worker.rpc.wait_for("the end of #{unit.first}", timeout: @limit) do |messages|
      done = messages.count { |message| message["event_type"] == "ExampleFinished" && unit.include?(message["payload"]["key"]) }
      done == unit.size
    end
    true
  rescue Peer::Closed, Peer::Late
    Process.kill(:KILL, -worker.pid) unless worker.rpc.closed?
    bury(worker, unit)
    false
  end

  def bury(worker, unit)
    ending = @host.exited(worker.pid).slice("exit_status", "signal")
    worker.rpc.wait_closed
    collect(worker)
    started = worker.rpc.events("ExampleStarted").map { |payload| payload["key"] }
    done = worker.rpc.events("ExampleFinished").map { |payload| payload["key"] }
    victim = (started - done).first || (unit - done).first
    rest = unit - done - [victim]
    @lock.synchronize do
      @crashes << Crash.new(victim, ending)
      @queue.unshift(rest) if rest.any?
    end
  end

  def leave(worker)
    worker.request("__shutdown__")
    @host.exited(worker.pid)
    worker.rpc.wait_closed
    collect(worker)
  end

  def collect(worker)
    @lock.synchronize do
      @finished.concat(worker.rpc.events("ExampleFinished"))
      @outside.concat(worker.rpc.events("ErrorOutsideExample"))
      @order[worker.slot].concat(worker.rpc.events("ExampleStarted").map { |payload| payload["key"] })
      @logs.concat(worker.rpc.notifications.select { |message| message["type"] == "log" })
      @events.concat(worker.rpc.events)
      @raw << worker.stdout.finish
      { "stdout" => worker.stdout, "stderr" => worker.stderr }.each { |name, bytes| split(name, bytes.finish) }
    end
  end

  # `mark key<tab>repeat<tab>attempt` opens, `mark` alone closes; whatever stands between belongs to the key.
  def split(name, text)
    text.split(/#{@marks}(?= |\n)/).drop(1).each do |part|
      next unless part.start_with?(" ")

      mark, output = part[1..].split("\n", 2)
      key = mark.split("\t").first
      @outputs[name][key] += output.to_s
    end
  end
end
