# frozen_string_literal: true

require_relative "../channel"
require_relative "../fork_hooks"
require_relative "boot"
require_relative "loading"
require_relative "observer_process"

module Proctor
  module Runner
    # The process of the project's observers where nothing is forked: it loads the suite itself.
    class StandaloneObservers
      def initialize(settings, framework:, bundler_problem: nil)
        @channel = Channel.new(Transport.open(settings), name: "proctor-#{framework.name}-observers", capabilities: %w[list])
        @loading = Loading.new(@channel, framework, bundler_problem)
        @requests = Thread::Queue.new
      end

      def main
        trap("INT") {}
        @channel.start(self) { Native::EXIT_NOW.call(1) }
        @loading.list(@requests.pop) { {} }
        Native::EXIT_NOW.call(1) unless @loading.loaded?

        ObserverProcess.new(@channel).main
      end

      def handle(action, message)
        case action
        when "list" then @requests.push(message)
        when "__shutdown__" then return { status: "shutting_down" }
        else return { error: { code: "unknown_action", message: "no action #{action}" } }
        end
        nil
      end
    end
  end
end
