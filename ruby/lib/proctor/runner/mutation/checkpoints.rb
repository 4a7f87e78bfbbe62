# frozen_string_literal: true

module Proctor
  module Runner
    class Mutation
      # Copies of the process from just before a watched file is loaded for the first time. From such a checkpoint the suite is
      # loaded with another text of the file, without loading again what came before it.
      #
      # A checkpoint is a fork that waits inside the `require` of the file. On request it forks a process that goes on loading from there and
      # becomes a worker. Requests come through a pipe from the process that loads the suite; numbers of processes and their ends go
      # back through another. Where a fork would share something with its parent (threads, sockets, connections of a database), none is made.
      class Checkpoints
        # One for each file, as long as there are few.
        LIMIT = 16

        One = Struct.new(:input, :output, :replies)

        # By file: the number of the last checkpoint before it was loaded.
        attr_reader :by_file

        # `continue` is called in a process that is to go on loading, with the request that asked for it.
        def initialize(files, &continue)
          @files = files.to_h { |path| [path, true] }
          @continue = continue
          @list = []
          @by_file = {}
        end

        # Loading begins; nothing is copied before or after. `channel` belongs to this process, not to its copies.
        def open(channel)
          @channel = channel
          @main = Thread.current
          @descriptors = sockets
        end

        def close
          @channel = nil
        end

        # The file is about to be compiled.
        def before_load(file)
          return unless @channel && @files.delete(file) && Thread.current.equal?(@main)

          add if @list.size < LIMIT && copyable?
          @by_file[file] = @list.size - 1 unless @list.empty?
        end

        # Has a checkpoint make a process. Returns its number; `on_start` and `on_exit` are called on another thread.
        def fork(request, on_start:, on_exit:)
          one = @list.fetch(request.fetch("checkpoint"))
          follow(one, on_start, on_exit) unless one.replies
          Native.write(one.input, "#{Native.json(request)}\n")
          one.replies.pop || raise(IOError, "the copy from before the file was loaded has ended")
        end

        private

        def add
          requests, input = IO.pipe
          output, replies = IO.pipe
          [STDOUT, STDERR].each(&:flush)
          if Process.fork
            [requests, replies].each(&:close)
            @list << One.new(input, output)
          else
            [input, output].each(&:close)
            wait(requests, replies)
          end
        end

        # Native.json wants plain values, which a request is.
        def wait(requests, replies)
          @channel.abandon
          @list.each { |one| [one.input, one.output].each(&:close) }
          while (line = Native::IO_GETS.bind_call(requests))
            request = Native.parse(line)
            pid = Process.fork
            return go_on(request, [requests, replies]) unless pid

            serve(request, pid, replies)
          end
          Native::EXIT_NOW.call(0)
        end

        def go_on(request, pipes)
          pipes.each(&:close)
          @channel = nil
          @continue.call(request)
        end

        def serve(request, pid, replies)
          about = { pid: pid, slot: request["slot"], generation: request["generation"] }
          Native.write(replies, "#{Native.json(about)}\n")
          Native.background("proctor-waiter") do
            status = Native::WAIT.call(pid)
            ending = status.signaled? ? { signal: status.termsig } : { exit_status: status.exitstatus }
            Native.write(replies, "#{Native.json(about.merge(ending))}\n")
          end
        end

        def follow(one, on_start, on_exit)
          one.replies = Thread::Queue.new
          Native.background("proctor-checkpoint") do
            while (line = Native::IO_GETS.bind_call(one.output))
              told = Native.parse(line)
              next on_exit.call(told) if told.size > 3

              on_start.call(told["pid"])
              one.replies.push(told["pid"])
            end
            one.replies.close
          end
        end

        def copyable?
          ForkSafety.reasons(ForkSafety.threads(@channel)).empty? && !ActiveRecord.usable? && sockets == @descriptors
        end

        # Descriptors that are open sockets; nil where the system does not show them.
        def sockets
          Native::LIST_DIRECTORY.call("/proc/self/fd").select do |number|
            File.readlink("/proc/self/fd/#{number}").start_with?("socket:")
          rescue SystemCallError
            false
          end.sort
        rescue SystemCallError
          nil
        end
      end
    end
  end
end
