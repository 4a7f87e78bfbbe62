# frozen_string_literal: true

require_relative "forked_worker"
require_relative "observer_process"

module Proctor
  module Runner
    # The process of the project's observers, forked from the loaded project. It is no worker: it has no slot, its environment
    # is that of the parent, and no `after_fork` hook runs in it.
    class ForkedObservers < ForkedWorker
      private

      def serve(channel)
        trap("INT") {}
        ActiveRecord.after_fork
        process = ObserverProcess.new(channel)
        channel.start(process) { host_gone }
        process.main
      end

      def environment
        {}
      end

      def title
        "observers"
      end
    end
  end
end
