# frozen_string_literal: true

require_relative "../channel"
require_relative "../fork_hooks"
require_relative "boot"
require_relative "loading"

module Proctor
  module Runner
    # A worker that loads the suite itself, for projects that cannot be forked. It answers `list` and
    # `run` in one process, and the older `run_specs` where the framework has it.
    class Standalone
      CAPABILITIES = %w[list run unrun cancel dump marks leaks].freeze

      def initialize(settings, framework:, bundler_problem: nil)
        @framework = framework
        @slot = (ENV["WORKER_INDEX"] || 0).to_i
        Boot.worker_environment(@slot).each { |name, value| ENV[name] ||= value }
        @channel = Channel.new(Transport.open(settings), name: "proctor-#{framework.name}-worker", capabilities: capabilities,
                                                         hello: { slot: @slot, generation: 0 })
        @loading = Loading.new(@channel, framework, bundler_problem)
        @early = Thread::Queue.new
      end

      # Until the project is loaded there is no worker: requests wait for the main thread.
      def main
        trap("INT") {}
        @channel.start(self) { host_gone }
        load_first(@early.pop) until @worker
        @worker.main
      end

      def notified(message)
        @worker&.notified(message)
      end

      def handle(action, message)
        worker = @worker
        case action
        when "list" then later(worker, message)
        when "run_specs" then runs_specs? ? later(worker, message) : not_loaded(action)
        when "__shutdown__" then worker ? worker.handle(action, message) : leave(message["id"])
        else worker ? worker.handle(action, message) : not_loaded(action)
        end
      end

      private

      def capabilities
        runs_specs? ? CAPABILITIES + ["run_specs"] : CAPABILITIES
      end

      def runs_specs?
        @framework.respond_to?(:run_specs)
      end

      def later(worker, message)
        worker ? worker.do_later { serve(message) } : @early.push(message)
        nil
      end

      def load_first(message)
        message["action"] == "list" ? list(message) : run_specs(message)
      rescue StandardError, ScriptError => error
        @channel.refuse(message["id"], "failed", "#{error.class}: #{error.message}")
      end

      alias serve load_first

      def list(message)
        first = @worker.nil?
        @loading.list(message) { become_worker }
        # After the answer: what a hook reports before it would belong to no worker yet.
        @worker&.run_after_fork(@slot) if first
      end

      # The files named by the ids are loaded by the first request.
      def run_specs(message)
        runs = @framework.run_specs(message.fetch("example_ids"))
        unless @loading.attempted?
          @loading.load_quietly(runs.files) { become_worker }
          @worker&.run_after_fork(@slot)
        end
        runs.call(@channel, @loading, @worker, message["id"])
      end

      def become_worker
        require_relative "worker"
        @framework.trap_interrupt
        worker = Worker.new(@channel, alone: true)
        ProjectCoverage.begin_worker(@slot, 0)
        worker.adopt(@loading.loader, @loading.seeds)
        worker.accept_present_processes
        @worker = worker
        # Independent workers must have loaded the same examples.
        { digest: @loading.loader.manifest.digest }
      end

      def not_loaded(action)
        known = %w[run unrun cancel].include?(action)
        { error: { code: known ? "bad_request" : "unknown_action",
                   message: known ? "nothing is loaded: send list first" : "no action #{action}" } }
      end

      def leave(id)
        @channel.reply(id, { status: "shutting_down" })
        Native::EXIT_NOW.call(0)
      end

      # We may share a process group with the host, so only our own children are ended.
      def host_gone
        Children.list.each { |pid| Children.kill(pid) } if defined?(Children)
      ensure
        Native::EXIT_NOW.call(1)
      end
    end
  end
end
