# frozen_string_literal: true

require_relative "children"
require_relative "../fork_hooks"

module Proctor
  module Runner
    # Finds the processes that an example leaves behind, names them and ends them.
    #
    # Processes that were there before the example (started by a hook of the suite or of a group, or
    # while loading) are known and may live until their scope ends. PROCTOR_LEAKS chooses what
    # happens to the others: `kill` (default), `report` (they live until the worker ends), `off`.
    class LeakCheck
      GRACE_SECONDS = 0.02
      REAP_SECONDS = 1.0
      ROUNDS = 20
      # Started lazily by the first example that needs them, and shared by all later ones.
      SHARED = /chromedriver|geckodriver|msedgedriver|chrome|chromium|firefox|selenium|playwright|Xvfb/

      def initialize(policy = ENV["PROCTOR_LEAKS"])
        @policy = %w[report off].include?(policy) ? policy : "kill"
        @active = @policy != "off" && Children.supported?
        @known = {}
        Children.become_subreaper if @active
      end

      # The processes left behind since the last call, or nil.
      def after_example
        return unless @active
        return if @known.empty? && none?

        dismiss(unknown)
      end

      # Accepts all present children; returns the new ones, to be given to `scope_ended` later.
      def adopt
        return [] unless @active
        return [] if @known.empty? && none?

        unknown.each { |pid| @known[pid] = true }
      end

      # The scope that owned these processes is over: those still running were left behind.
      def scope_ended(pids)
        return if pids.empty?

        pids.each { |pid| @known.delete(pid) }
        dismiss(unknown)
      end

      # At the end of the process nothing may stay behind, whatever the policy was; shared processes
      # are no leak, but they go too, for no at_exit block will end them.
      def end_all
        return unless @active

        @policy = "kill"
        @known.clear
        left = dismiss(unknown)
        @known.clear
        shared = unknown
        end_processes(shared) unless shared.empty?
        left
      end

      private

      # Children that have ended without anybody waiting for them are reaped and forgotten.
      def none?
        answer = Children.poll
        answer = Children.poll while answer == :reaped
        answer == :none
      end

      def unknown
        present = Children.list
        @known.keep_if { |pid, _| present.include?(pid) }
        present.reject { |pid| @known.key?(pid) }
      end

      def dismiss(pids)
        running = still_running(pids)
        return if running.empty?

        named = running.to_h { |pid| [pid, Children.name(pid)] }
        shared, left = named.partition { |_, command| shared?(command) }
        shared.each { |pid, _| @known[pid] = true }
        return if left.empty?

        @policy == "kill" ? end_processes(left.map(&:first)) : left.each { |pid, _| @known[pid] = true }
        left.map { |pid, command| { pid: pid, command: command } }
      end

      # A process on its way out, or not quite through its exec, gets a moment. The list is read
      # again each time: one that ends may leave its own children to us (daemons do).
      def still_running(pids)
        deadline = Native.monotonic + GRACE_SECONDS
        loop do
          running, ended = pids.partition { |pid| !Children.ended?(pid) }
          ended.each { |pid| Children.reap(pid) }
          return running if pids.empty? || Native.monotonic > deadline

          Native::SLEEP.call(0.001) if ended.empty?
          pids = unknown
        end
      end

      def shared?(command)
        SHARED.match?(command) || Proctor.kept_processes.any? { |pattern| pattern === command }
      end

      # Killing one process may hand its own children to us; they go too. Bounded, because a process
      # in uninterruptible sleep does not die when told.
      def end_processes(pids)
        deadline = Native.monotonic + REAP_SECONDS
        ROUNDS.times do
          pids.each { |pid| Children.kill(pid) }
          wait_for(pids, deadline)
          pids = unknown
          break if pids.empty? || Native.monotonic > deadline
        end
      end

      def wait_for(pids, deadline)
        pids.each do |pid|
          until Children.reap(pid)
            break if Native.monotonic > deadline

            Native::SLEEP.call(0.0005)
          end
        end
      end
    end
  end
end
