# frozen_string_literal: true

require "json"
require "socket"

# One connection seen from the host: sends requests, waits for replies, keeps notifications.
class Peer
  Closed = Class.new(StandardError)
  Late = Class.new(StandardError)

  attr_reader :notifications, :connect_line

  def initialize(io, connect_line: nil)
    @io = io
    @connect_line = connect_line
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @replies = {}
    @notifications = []
    @closed = false
    @next_id = 0
    @thread = Thread.new { read }
  end

  def post(action, **fields)
    id = @lock.synchronize { "r#{@next_id += 1}" }
    @io.write("#{JSON.generate({ id: id, action: action }.merge(fields))}\n")
    id
  rescue Errno::EPIPE
    raise Closed, "the peer closed the channel before #{action}"
  end

  # Sends a notification.
  def tell(type, **fields)
    @io.write("#{JSON.generate({ type: type }.merge(fields))}\n")
  end

  def request(action, timeout: 20, **fields)
    reply_to(post(action, **fields), timeout: timeout)
  end

  def reply_to(id, timeout: 20)
    wait(timeout, "a reply to #{id}") { @replies[id] || (raise Closed, "closed while waiting" if @closed) }
    @lock.synchronize { @replies.delete(id) }
  end

  # Waits until the block, given the notifications so far, returns something true; returns it.
  def wait_for(what = "a notification", timeout: 20)
    wait(timeout, what) { yield(@notifications) || (raise Closed, "closed while waiting for #{what}" if @closed) }
  end

  def wait_closed(timeout: 10)
    wait(timeout, "the end of the connection") { @closed }
  end

  def closed?
    @lock.synchronize { @closed }
  end

  def events(type = nil)
    list = @lock.synchronize { @notifications.dup }.select { |message| message["type"] == "event" }
    type ? list.select { |message| message["event_type"] == type }.map { |message| message["payload"] } : list
  end

  def on_message(&block)
    @on_message = block
  end

  def close
    @io.close
  rescue IOError
    nil
  end

  private

  def wait(timeout, what)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout
    @lock.synchronize do
      loop do
        found = yield
        return found if found

        rest = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        raise Late, "waited #{timeout} s for #{what}" if rest <= 0

        @changed.wait(@lock, rest)
      end
    end
  end

  def read
    while (line = @io.gets)
      message = JSON.parse(line)
      @lock.synchronize do
        message["reply_to"] ? @replies[message["reply_to"]] = message : @notifications << message
        @changed.broadcast
      end
      @on_message&.call(message)
    end
  rescue IOError, SystemCallError
    nil
  ensure
    @lock.synchronize do
      @closed = true
      @changed.broadcast
    end
    @on_message&.call(nil)
  end
end
