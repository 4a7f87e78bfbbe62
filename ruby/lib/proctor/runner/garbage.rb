# frozen_string_literal: true

require_relative "../native"

module Proctor
  module Runner
    # Collects the garbage of loading once, before the first fork.
    #
    # A collection that is due soon would otherwise be made by every worker for itself. It ages the objects that are still young,
    # and with that writes to them: each worker gets a copy of its own of nearly the whole heap.
    module Garbage
      # So many young objects make it worth while. A small suite is done before a worker collects at all.
      YOUNG = 100_000

      STATISTICS = GC.method(:stat)
      COLLECT = GC.method(:start)
      DISABLE = GC.method(:disable)
      ENABLE = GC.method(:enable)

      module_function

      # Says whether it has collected. A project that has switched collections off is left alone.
      def collect_before_fork(at_least: YOUNG)
        return false if young < at_least || switched_off?

        COLLECT.call
        true
      end

      def young
        statistics = STATISTICS.call
        statistics.fetch(:heap_live_slots, 0) - statistics.fetch(:old_objects, 0)
      end

      # Ruby tells it only when the setting is changed.
      def switched_off?
        was_off = DISABLE.call
        ENABLE.call unless was_off
        was_off
      end
    end
  end
end
