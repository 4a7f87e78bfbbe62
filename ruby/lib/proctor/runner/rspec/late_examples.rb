# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # Finds examples that are defined while the suite runs. They were never listed, so nobody runs them; under plain
      # `rspec` it depends on the order of groups whether they run. Each is therefore an error of the run, whether it would
      # pass or fail.
      #
      # Examples of a sandbox (RSpec's own specs replace the world) and of groups that no world knows are not meant to run.
      class LateExamples
        NAMED = 5

        # Prepended to RSpec's Example: it is made in one place only.
        module Watch
          def initialize(*arguments, &block)
            super
            LateExamples.current&.add(self)
          end
        end

        class << self
          attr_accessor :current
        end

        # From now on every new example is late.
        def self.watch(world)
          RSpec::Core::Example.prepend(Watch) unless RSpec::Core::Example.include?(Watch)
          self.current = new(world)
        end

        def initialize(world)
          @world = world
          @added = Thread::Queue.new
        end

        def add(example)
          @added.push(example) if RSpec.world.equal?(@world)
        end

        # What was defined since the last call, as the fields of an error; nil if there is nothing.
        def take(running)
          return if @added.empty?

          found = Array.new(@added.size) { @added.pop }.select { |example| would_run?(example) }
          found.empty? ? nil : error(found, running)
        end

        private

        def would_run?(example)
          group = example.example_group
          known?(group) && group.examples.include?(example) && !@world.filter_manager.prune([example]).empty?
        end

        def known?(group)
          groups = group.parent_groups
          groups.each_cons(2).all? { |child, parent| parent.children.include?(child) } && @world.example_groups.include?(groups.last)
        end

        def error(found, running)
          count = found.size == 1 ? "1 example was" : "#{found.size} examples were"
          named = found.first(NAMED).map { |example| "#{example.metadata[:location]} (#{example.full_description})" }
          named << "…" if found.size > NAMED
          whose = running ? ", by #{running.location} (#{running.full_description})," : ""
          text = "#{count} defined while the suite ran#{whose} and never ran: #{named.join(", ")}"
          { phase: "late_example", place: Plain.text(found.first.metadata[:location].to_s), message: Plain.limited(text, 16_384) }
        end
      end
    end
  end
end
