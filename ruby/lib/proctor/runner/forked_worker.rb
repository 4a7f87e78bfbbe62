# frozen_string_literal: true

require_relative "../channel"
require_relative "active_record"
require_relative "boot"

module Proctor
  module Runner
    # The first moments of a forked process: it leaves the parent's channel, opens its own three
    # connections, takes its place among the workers, and becomes a Worker.
    class ForkedWorker
      def initialize(parents_channel, settings, framework, loading, request)
        @parents_channel = parents_channel
        @settings = settings
        @framework = framework
        @loading = loading
        @slot = request.fetch("slot")
        @generation = request.fetch("generation", 0)
        @env = request.fetch("env", nil) || {}
        @streams = request.fetch("streams", nil) || {}
      end

      def main
        Process.setpgid(0, 0)
        @parents_channel.abandon
        take_environment
        serve(connect)
      rescue SystemCallError, KeyError => error
        warn("proctor: worker #{@slot} could not start: #{error.message}")
        Native::EXIT_NOW.call(75)
      end

      private

      def serve(channel)
        worker = Worker.new(channel)
        become_worker(worker, channel)
        worker.main
      end

      def take_environment
        environment.merge(@env).each do |name, value|
          Transport::VARIABLES.include?(name) ? @settings[name] = value : ENV[name] = value&.to_s
        end
        # Visible in `ps`; unlike $0 no code looks at it.
        Process.setproctitle("#{@framework.name} (proctor #{title})")
      end

      def environment
        Boot.worker_environment(@slot, @generation)
      end

      def title
        "worker #{@slot}"
      end

      def connect
        replace(STDOUT, "stdout")
        replace(STDERR, "stderr")
        # The last of the three: who sees this connection knows that the streams are open.
        rpc = Transport.connect(@settings, "rpc", slot: @slot, generation: @generation)
        Channel.new(Transport::Pair.new(rpc, rpc), name: "proctor-#{@framework.name}-worker",
                                                   capabilities: Worker::CAPABILITIES,
                                                   hello: { slot: @slot, generation: @generation })
      end

      # Through a plain IO: `reopen` on a socket object would turn STDOUT into one. A named pipe is
      # cheaper than a connection, and programs can open it by the name /dev/stdout.
      def replace(stream, name)
        source = if @streams[name]
                   ::File.open(@streams[name], ::File::WRONLY)
                 else
                   Transport.connect(@settings, name, slot: @slot, generation: @generation)
                 end
        sync = stream.sync
        stream.reopen(IO.for_fd(source.fileno, "w", autoclose: false))
        stream.sync = sync
        source.close
      end

      def become_worker(worker, channel)
        trap("INT", "DEFAULT")
        @framework.trap_interrupt
        worker.adopt(@loading.loader, @loading.seeds)
        channel.start(worker) { host_gone }
        ProjectCoverage.begin_worker(@slot, @generation)
        worker.run_after_fork(@slot)
      end

      # The whole group goes, and we with it.
      def host_gone
        Native::KILL.call(:KILL, -$$)
      ensure
        Native::EXIT_NOW.call(1)
      end
    end
  end
end
