# frozen_string_literal: true

require_relative "late_examples"
require_relative "../work_queue"

module Proctor
  module Runner
    module RspecFramework
      # Examples that were defined while others ran and wait for their turn in this process: those of an open group until it is
      # left, all others until there is nothing else to do. The host is told of each before the example that defined it ends.
      class LateWork
        NAMED = 5

        def initialize(manifest, world)
          @manifest = manifest
          @found = LateExamples.watch(world)
          @origin = "#{ENV.fetch("PROCTOR_WORKER", "0")}.#{$$}"
          @below = {}.compare_by_identity
          @at_end = []
          @called_off = []
          # The reading thread calls off.
          @lock = Thread::Mutex.new
        end

        # Takes up what was defined since the last call: announces what will run, reports as an error what will not.
        def collect(events, phase, group, open)
          found = @found.take(LateExamples::Moment.new(phase, group, open))
          return unless found

          added = add(found)
          events.late_examples(@manifest.to_enum(:each_batch, added, type: "late_examples")) unless added.empty?
          found.lost unless found.lost.empty?
        end

        # The fields of an error that names examples nobody will run.
        def error(lost, running)
          count = lost.size == 1 ? "1 example was" : "#{lost.size} examples were"
          named = lost.first(NAMED).map { |example| "#{example.metadata[:location]} (#{example.full_description})" }
          named << "…" if lost.size > NAMED
          whose = running ? ", by #{running.location} (#{running.full_description})," : ""
          text = "#{count} defined while the suite ran#{whose} too late to be run: #{named.join(", ")}"
          { phase: "late_example", place: Plain.text(lost.first.metadata[:location].to_s), message: Plain.limited(text, 16_384) }
        end

        # Whether examples were defined since the last `collect`.
        def found?
          @found.any?
        end

        # Whether something waits for its turn. Asked after every example, so without the lock: only this thread adds, and what the
        # reading thread calls off meanwhile is not there when it is taken.
        def waiting?
          !@at_end.empty? || !@below.empty?
        end

        # The next item of a group that is about to be left.
        def next_below(group)
          return if @below.empty?

          @lock.synchronize do
            items = @below[group] or next
            item = items.shift
            @below.delete(group) if items.empty?
            item
          end
        end

        # The items of the next group that belongs to no other; empty if there is none.
        def next_at_end
          @lock.synchronize do
            group = @at_end.first&.entry&.groups&.first
            @at_end.shift(@at_end.take_while { |item| item.entry.groups.first.equal?(group) }.size)
          end
        end

        # The run was stopped before these had their turn. What is defined afterwards belongs to the last hooks, and is run.
        def call_off
          @lock.synchronize do
            @called_off.concat(@below.values.flatten, @at_end)
            @below.clear
            @at_end.clear
          end
        end

        def called_off
          @lock.synchronize { @called_off.shift(@called_off.size) }
        end

        private

        def add(found)
          found.examples.flat_map { |example| enqueue(example.example_group, @manifest.add_late_example(example, @origin)) } +
            found.groups.flat_map { |chain| enqueue(parent_of(chain), @manifest.add_late_group(chain, @origin)) }
        end

        def parent_of(chain)
          chain.size > 1 ? chain[-2] : nil
        end

        # Without a group around them they belong to the end.
        def enqueue(parent, entries)
          items = entries.map { |entry| Item.new(entry, 1, 1) }
          @lock.synchronize { parent ? (@below[parent] ||= []).concat(items) : @at_end.concat(items) }
          entries
        end
      end
    end
  end
end
