# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # Finds examples that are defined while the suite runs, and tells those that plain `rspec` would run from those that it
      # would not.
      #
      # RSpec walks through arrays that grow: its list of groups, and the children of a group. A new group is run if the array it
      # was added to is still being walked through, and if that array is no sorted copy:
      #
      # | the new group belongs to | it is run |
      # |---|---|
      # | no other group | if the global order is `defined`, unless an `after(:suite)` hook has defined it |
      # | a group whose own examples or `before(:context)` hooks run | always |
      # | a group around the one that runs | if the order of that group is `defined` |
      # | a group that is not open, or whose `after(:context)` hooks run | never |
      #
      # A new example of a group that was loaded is run only if that group had none and its `before(:context)` hook makes it.
      #
      # Examples of a sandbox (RSpec's own specs replace the world) and of groups that no world knows are not meant to run.
      class LateExamples
        # What runs: `phase` is "example" or that of a hook, `group` the one it belongs to, `open` all that are open.
        Moment = Struct.new(:phase, :group, :open)

        # What was found: the new groups that would be run, outermost only, each with those around it; new examples of groups that
        # were loaded; and what would not be run.
        Found = Struct.new(:groups, :examples, :lost)

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
          @known = {}.compare_by_identity
          world.all_example_groups.each { |group| @known[group] = true }
        end

        def add(example)
          @added.push(example) if RSpec.world.equal?(@world)
        end

        # Whether anything was defined since the last `take`.
        def any?
          !@added.empty?
        end

        # What was defined since the last call; nil if there is nothing.
        def take(moment)
          return if @added.empty?

          found = Found.new([], [], [])
          Array.new(@added.size) { @added.pop }.each { |example| sort(example, moment, found) if meant_to_run?(example) }
          found.groups.uniq!
          found.groups.each { |chain| chain.last.descendants.each { |group| @known[group] = true } }
          found
        end

        private

        def sort(example, moment, found)
          chain = example.example_group.parent_groups.reverse
          outermost = chain.index { |group| !@known[group] }
          if outermost.nil?
            (added_in_time?(example, moment) ? found.examples : found.lost) << example
          elsif reached?(chain[outermost - 1], outermost, moment)
            found.groups << chain[0..outermost]
          else
            found.lost << example
          end
        end

        # Whether RSpec gets to a new child of `parent`; without one (`depth` 0), to a new top-level group.
        def reached?(parent, depth, moment)
          return moment.phase != "after_suite" && in_place?(RSpec.configuration.ordering_registry.fetch(:global)) if depth.zero?
          return false unless moment.open.any? { |group| group.equal?(parent) }
          return in_place?(parent.ordering_strategy) unless moment.group.equal?(parent)

          moment.phase != "after_context"
        end

        # RSpec had nothing to select from, so it kept the array itself.
        def added_in_time?(example, moment)
          group = example.example_group
          moment.phase == "before_context" && moment.group.equal?(group) && @world.filtered_examples[group].equal?(group.examples)
        end

        # Other orders make a copy.
        def in_place?(strategy)
          RSpec::Core::Ordering::Identity === strategy
        end

        def meant_to_run?(example)
          group = example.example_group
          known?(group) && group.examples.include?(example) && !@world.filter_manager.prune([example]).empty?
        end

        def known?(group)
          groups = group.parent_groups
          groups.each_cons(2).all? { |child, parent| parent.children.include?(child) } && @world.example_groups.include?(groups.last)
        end
      end
    end
  end
end
