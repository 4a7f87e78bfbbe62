# frozen_string_literal: true

require "json"

module Proctor
  # The few methods of the standard library that the protocol depends on, captured before any code
  # of the project is loaded. Tests stub `Time.now`, `IO#write`, `JSON.generate`, replace `File` or
  # freeze the clock; a method object taken earlier does not notice.
  #
  # Nothing here keeps state.
  module Native
    CLOCK = Process.method(:clock_gettime)
    MONOTONIC = Process::CLOCK_MONOTONIC
    WAIT = Process::Status.method(:wait)
    NO_HANG = Process::WNOHANG
    KILL = Process.method(:kill)
    EXIT_NOW = Process.method(:exit!)
    SRAND = Kernel.method(:srand)
    SLEEP = Kernel.method(:sleep)
    SYSCALL = Kernel.method(:syscall)

    IO_WRITE = IO.instance_method(:write)
    IO_FLUSH = IO.instance_method(:flush)
    IO_GETS = IO.instance_method(:gets)
    SELECT = IO.method(:select)
    READ_FILE = File.method(:binread)
    LIST_DIRECTORY = Dir.method(:children)
    NEW_THREAD = Thread.method(:new)
    LIST_THREADS = Thread.method(:list)

    GENERATE = JSON::State.instance_method(:generate)
    NEW_STATE = JSON::State.method(:new)
    NEW_PARSER = JSON::Parser.method(:new)
    PARSE = JSON::Parser.instance_method(:parse)

    module_function

    def monotonic
      CLOCK.call(MONOTONIC)
    end

    def nanoseconds
      CLOCK.call(MONOTONIC, :nanosecond)
    end

    # A thread that says nothing when it fails, in a group where code that looks at its own threads does not find it.
    def background(name, &work)
      thread = NEW_THREAD.call(&work)
      thread.name = name
      thread.report_on_exception = false
      ThreadGroup.new.add(thread)
      thread
    end

    def write(io, bytes)
      IO_WRITE.bind_call(io, bytes)
    end

    # `value` may hold only plain hashes, arrays, strings, numbers, booleans and nil (see Plain):
    # for those the generator calls no method that a project could have replaced.
    def json(value)
      GENERATE.bind_call(NEW_STATE.call, value)
    end

    def parse(text)
      PARSE.bind_call(NEW_PARSER.call(text))
    end
  end
end
