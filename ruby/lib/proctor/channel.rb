# frozen_string_literal: true

require_relative "version"
require_relative "wire"
require_relative "transport"

module Proctor
  # One end of the protocol: a writer, and a thread that reads and hands each request to the owner.
  #
  # The owner answers `handle(action, message)` on the reading thread; it returns the reply as a
  # hash, or nil when it will reply later with `reply`. `hello` and `dump` are answered here, because
  # they must work while the main thread is busy with user code.
  class Channel
    # What the host asks for on behalf of a conversation; the line answers, not the owner.
    FOR_THE_LINE = %w[agent.chat agent.tool simulator.rules evaluate_block].freeze

    class << self
      # The channel of this process to the run it works for, if it is a worker.
      attr_accessor :current
    end

    attr_reader :writer
    # Who asks the host (see Host::Line); nobody, usually.
    attr_accessor :line
    # What is being run: an item of the work queue.
    attr_accessor :item

    def initialize(pair, name:, capabilities:, hello: {})
      @input = pair.input
      @name = name
      @capabilities = capabilities
      @hello = hello
      @writer = Wire::Writer.new(pair.output)
      @reader = Wire::Reader.new(@input) { |problem| log("warning", problem) }
      @starting = Thread::Mutex.new
    end

    # Starts reading. `on_end` is called on the reading thread when the host is gone.
    def start(owner, &on_end)
      @owner = owner
      @on_end = on_end
      @thread = Native::NEW_THREAD.call { read }
      @thread.name = "proctor-reader"
      @thread.report_on_exception = false
      # Code that looks at its own thread group must not find us there.
      ThreadGroup.new.add(@thread)
    end

    # A test may kill every thread it can see. What was not handled is still in the input, so reading simply goes on.
    # Several threads may notice at once; two readers would tear messages apart.
    def revive
      return if @thread.alive?

      @starting.synchronize { start(@owner, &@on_end) unless @thread.alive? }
    end

    def thread?(thread)
      thread.equal?(@thread)
    end

    def reply(id, fields)
      @writer.send_now({ reply_to: id }.merge(fields)) if id
    end

    # For a reply that informs: long texts in it may be cut.
    def reply_shortened(id, fields)
      @writer.send_line(LineLimit.json({ reply_to: id }.merge(fields), Wire::MAX_LINE)) if id
    end

    def refuse(id, code, text)
      reply(id, { error: { code: code, message: Plain.text(text) } })
    end

    def notify(message)
      @writer.send_now(message)
    end

    def log(level, text)
      notify({ type: "log", level: level, message: Plain.limited(text.to_s, 65_536) })
    end

    # For a forked child: let go of the parent's descriptor without a word.
    def abandon
      @input.close
    rescue IOError, SystemCallError
      nil
    end

    private

    def read
      @reader.each { |message| dispatch(message) }
      @line&.host_gone
      @on_end.call
    end

    def dispatch(message)
      return @line&.take(message) if message["reply_to"]

      id = message["id"]
      return notified(message) if id.nil?
      return if @line && FOR_THE_LINE.include?(message["action"]) && @line.take(message)
      return no_action(message, id) unless message["action"]

      answer = answer_to(message)
      reply(id, answer) if answer
    rescue KeyError => error
      refuse(id, "bad_request", error.message)
    rescue StandardError => error
      refuse(id, "failed", "#{error.class}: #{error.message}")
    end

    # Most notifications of the host mean nothing to most owners.
    def notified(message)
      @owner.notified(message) if @owner.respond_to?(:notified)
    end

    def no_action(message, id)
      refuse(id, "bad_request", "a request needs an action") unless message["type"]
    end

    def answer_to(message)
      case message["action"]
      when "hello" then hello(message)
      when "dump" then { threads: Channel.dump }
      else @owner.handle(message["action"], message)
      end
    end

    def hello(message)
      offered = Array(message.fetch("protocol", PROTOCOL))
      if offered.include?(PROTOCOL)
        return { protocol: PROTOCOL, name: @name, version: VERSION, pid: $$,
                 capabilities: @capabilities }.merge(@hello)
      end

      refuse(message["id"], "unsupported_protocol", "this worker speaks protocol #{PROTOCOL} only")
      Native::EXIT_NOW.call(1)
    end

    def self.dump
      Native::LIST_THREADS.call.map do |thread|
        name = thread == Thread.main ? "main" : (thread.name || thread.inspect)
        { name: Plain.text(name), status: thread.status.to_s,
          backtrace: (thread.backtrace || []).first(200).map { |line| Plain.text(line) } }
      end
    end
  end
end
