# frozen_string_literal: true

module Proctor
  # Opens the channel named by the environment and hides it from the project: the variables are
  # removed from ENV so that neither the code under test nor its children can speak for us.
  module Transport
    Pair = Struct.new(:input, :output)

    VARIABLES = %w[RPC_SOCKET_FD RPC_SOCKET_PATH RPC_TOKEN].freeze

    module_function

    # The settings, taken out of the environment.
    def take_settings(env = ENV)
      VARIABLES.to_h { |name| [name, env.delete(name)] }.compact
    end

    # A process that got a descriptor uses it, even when a socket path is set as well: a preloading
    # parent holds the path only to hand it to the workers it forks.
    def open(settings)
      if settings["RPC_SOCKET_FD"]
        inherited(Integer(settings["RPC_SOCKET_FD"]))
      elsif settings["RPC_SOCKET_PATH"]
        connected(settings)
      else
        standard
      end
    end

    # Two objects on one descriptor: reading and writing go on at the same time, in two threads.
    def inherited(number)
      input = IO.for_fd(number, "rb")
      input.close_on_exec = true
      Pair.new(input, IO.for_fd(number, "wb", autoclose: false))
    end

    def connected(settings)
      socket = connect(settings, "rpc", slot: (ENV["WORKER_INDEX"] || 0).to_i, generation: 0)
      Pair.new(socket, socket)
    end

    # Standard output is the channel; what the project prints goes to standard error instead.
    def standard
      input = $stdin.dup
      output = $stdout.dup
      [input, output].each { |io| io.close_on_exec = true }
      $stdout.reopen($stderr)
      $stdin.reopen(::File::NULL)
      Pair.new(input.binmode, output.binmode)
    end

    def connect(settings, stream, slot:, generation:)
      require "socket"
      socket = ::UNIXSocket.new(settings.fetch("RPC_SOCKET_PATH"))
      line = { type: "connect", token: settings["RPC_TOKEN"], stream: stream,
               slot: slot, generation: generation, pid: $$ }
      Native.write(socket, "#{Native.json(line)}\n")
      socket
    end
  end
end
