# frozen_string_literal: true

require_relative "../channel"
require_relative "../fork_hooks"
require_relative "boot"
require_relative "loading"

module Proctor
  module Runner
    # A worker that loads the suite itself, for projects that cannot be forked. It answers `list` and
    # `run` in one process, and the older `run_specs`.
    class Standalone
      CAPABILITIES = %w[list run unrun cancel dump marks leaks run_specs].freeze
      NAME = "proctor-rspec-worker"

      def initialize(settings, bundler_problem: nil)
        @slot = (ENV["WORKER_INDEX"] || 0).to_i
        Boot.worker_environment(@slot).each { |name, value| ENV[name] ||= value }
        @channel = Channel.new(Transport.open(settings), name: NAME, capabilities: CAPABILITIES,
                                                         hello: { slot: @slot, generation: 0 })
        @loading = Loading.new(@channel, bundler_problem)
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
        when "list", "run_specs" then later(worker, message)
        when "__shutdown__" then worker ? worker.handle(action, message) : leave(message["id"])
        else worker ? worker.handle(action, message) : not_loaded(action)
        end
      end

      private

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
        @loading.list(message) { become_worker }
      end

      # The files named by the ids are loaded by the first request.
      def run_specs(message)
        ids = message.fetch("example_ids")
        require_relative "rspec/run_specs" if Boot.rspec(nil, []).nil?
        @loading.load_quietly(RspecFramework::RunSpecs.files(ids)) { become_worker } unless @loading.attempted?
        RspecFramework::RunSpecs.new(@channel, @loading, @worker).call(message["id"], ids)
      end

      def become_worker
        require_relative "worker"
        RSpec::Core::Runner.trap_interrupt
        worker = Worker.new(@channel, alone: true)
        ProjectCoverage.begin_worker(@slot, 0)
        worker.adopt(@loading.loader, @loading.seeds)
        worker.accept_present_processes
        worker.run_after_fork(@slot)
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
