# frozen_string_literal: true

require "securerandom"
require "tmpdir"
require_relative "peer"

# Plays the controller: starts a parent, accepts the connections of its workers.
class Host
  EXE = File.expand_path("../../exe", __dir__)

  # A forked worker with its three connections.
  Forked = Struct.new(:pid, :slot, :generation, :rpc, :stdout, :stderr) do
    def request(...)
      rpc.request(...)
    end
  end

  # Raw bytes of standard output or standard error.
  class Bytes
    def initialize(io)
      @bytes = String.new(encoding: Encoding::BINARY)
      @thread = Thread.new do
        loop { @bytes << io.readpartial(65_536) }
      rescue EOFError, IOError, SystemCallError
        nil
      end
    end

    def text
      @bytes.dup.force_encoding(Encoding::UTF_8)
    end

    def finish(timeout = 5)
      @thread.join(timeout)
      text
    end
  end

  attr_reader :parent, :pid, :stdout, :stderr, :token

  def self.open(root, **options)
    host = new(root, **options)
    yield host
  ensure
    host&.stop
  end

  def initialize(root, program: "proctor-rspec-parent", arguments: [], env: {})
    @folder = Dir.mktmpdir("proctor-host")
    @token = SecureRandom.hex(8)
    @server = UNIXServer.new("#{@folder}/s")
    @accepted = Hash.new { |hash, key| hash[key] = {} }
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @acceptor = Thread.new { accept }
    start(root, [program, *arguments], env)
  end

  def list(*args, **fields)
    @parent.request("list", timeout: 60, args: args, **fields)
  end

  def examples
    @parent.notifications.select { |message| message["type"] == "examples" }.flat_map { |message| message["examples"] }
  end

  def fork(slot = 0, generation: 0, env: {}, **fields)
    reply = @parent.request("fork", slot: slot, generation: generation, env: env, **fields)
    raise reply["error"]["message"] if reply["error"]

    streams = connections(reply["pid"], 3 - fields.fetch(:streams, {}).size)
    Forked.new(reply["pid"], slot, generation, *streams.values_at("rpc", "stdout", "stderr"))
  end

  def exited(pid, timeout: 10)
    @parent.wait_for("the end of #{pid}", timeout: timeout) do |messages|
      messages.find { |message| message["type"] == "exited" && message["pid"] == pid }
    end
  end

  def wait(timeout: 10)
    Timeout.timeout(timeout) { Process.wait2(@pid)[1] }
  ensure
    @pid = nil
  end

  def stop
    @parent.close
    if @pid
      Process.kill(:KILL, @pid)
      Process.wait(@pid)
    end
    @server.close
    @acceptor.kill
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  ensure
    FileUtils.remove_entry(@folder) if File.exist?(@folder)
  end

  private

  def start(root, (program, *arguments), env)
    ours, theirs = UNIXSocket.pair
    out_read, out_write = IO.pipe
    err_read, err_write = IO.pipe
    settings = { "RPC_SOCKET_FD" => theirs.fileno.to_s, "RPC_SOCKET_PATH" => "#{@folder}/s",
                 "RPC_TOKEN" => @token, "RUBYOPT" => nil, "SPEC_OPTS" => nil }.merge(env)
    @pid = Process.spawn(settings, RbConfig.ruby, "#{EXE}/#{program}", *arguments, chdir: root, in: :close,
                                   out: out_write, err: err_write, theirs => theirs)
    [theirs, out_write, err_write].each(&:close)
    @stdout = Bytes.new(out_read)
    @stderr = Bytes.new(err_read)
    @parent = Peer.new(ours)
  end

  def accept
    loop do
      socket = @server.accept
      line = JSON.parse(socket.gets)
      raise "wrong token" unless line["token"] == @token

      stream = line["stream"] == "rpc" ? Peer.new(socket, connect_line: line) : Bytes.new(socket)
      @lock.synchronize do
        @accepted[line["pid"]][line["stream"]] = stream
        @changed.broadcast
      end
    end
  rescue IOError, SystemCallError
    nil
  end

  def connections(pid, count)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
    @lock.synchronize do
      until @accepted[pid].size == count
        rest = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        raise "worker #{pid} did not connect: #{stderr.text}" if rest <= 0

        @changed.wait(@lock, rest)
      end
      @accepted.delete(pid)
    end
  end
end
