# frozen_string_literal: true

require_relative "../manifest"
require_relative "example_description"

module Proctor
  module Runner
    module RspecFramework
      # Every example of the loaded world, and the selected ones in the order plain `rspec` would run them.
      class Manifest < Runner::Manifest
        # `groups` goes from the outermost group to the innermost. `hooks_from` is the index of the
        # first group with context hooks, nil when there is none.
        Entry = Struct.new(:example, :key, :key_json, :groups, :hooks_from, :unit)

        attr_reader :total

        # Ordinals are counted here, before RSpec filters anything.
        def initialize(world)
          super()
          @world = world
          @chains = {}.compare_by_identity
          examples = world.all_examples
          @total = examples.size
          @ordinals = count_ordinals(examples)
        end

        def select
          @world.ordered_example_groups.each { |group| walk(group, [], nil, nil) }
        end

        def ordinal(example)
          @ordinals[example] || 1
        end

        # The file of an example and the descriptions of its groups and its own, outermost first; empty ones do not count.
        def file_of(example)
          Plain.text(example.metadata[:rerun_file_path] || example.metadata[:file_path])
        end

        def path_of(example)
          own = example.metadata[:description].to_s
          chain = chain_of(example.example_group)
          own.empty? ? chain : chain + [Plain.text(own)]
        end

        # Adds a group that was defined while the suite ran, the last of the chain. `origin` tells its examples from those that
        # another worker defines at the same place. Returns their entries.
        def add_late_group(chain, origin)
          add_late(origin) { walk(chain.last, chain[0...-1], nil, first_with_hooks(chain[0...-1])) }
        end

        def add_late_example(example, origin)
          chain = example.example_group.parent_groups.reverse.freeze
          add_late(origin) { add_example(example, chain, first_with_hooks(chain), nil) }
        end

        private

        def add_late(origin)
          first = @entries.size
          @origin = origin
          yield
          @entries.drop(first).each { |entry| entry.unit = nil }
        ensure
          @origin = nil
        end

        def first_with_hooks(groups)
          groups.index { |group| context_hooks?(group) }
        end

        def description(entry)
          ExampleDescription.new(self, entry).to_h
        end

        # Only an example that is not the first of its file and path gets an ordinal. What the examples of
        # a group have in common is looked up once per group: hashing whole paths takes the time.
        def count_ordinals(examples)
          seen = {}
          by_group = {}.compare_by_identity
          examples.each_with_object({}.compare_by_identity) do |example, ordinals|
            name = Plain.text(example.metadata[:description].to_s)
            chain = chain_of(example.example_group)
            # Nameless, its path is that of its group, which a named example can have too.
            nameless = name.empty? && !chain.empty?
            names = nameless ? (seen[chain[0...-1]] ||= {}) : (by_group[chain] ||= (seen[chain] ||= {}))
            counts = names[file_of(example)] ||= Hash.new(0)
            number = (counts[nameless ? chain.last : name] += 1)
            ordinals[example] = number if number > 1
          end
        end

        def walk(group, parents, unit, hooks_from)
          return if group.descendant_filtered_examples.empty?

          groups = (parents + [group]).freeze
          hooks_from ||= parents.size if context_hooks?(group)
          unit ||= new_unit(group, hooks_from)
          strategy = group.ordering_strategy
          strategy.order(group.filtered_examples).each { |example| add_example(example, groups, hooks_from, unit) }
          strategy.order(group.children).each { |child| walk(child, groups, unit, hooks_from) }
        end

        def add_example(example, groups, hooks_from, unit)
          add(@origin ? "#{example.id}@#{@origin}" : example.id) { |key, json| Entry.new(example, key, json, groups, hooks_from, unit) }
        end

        # Examples must stay together when a context hook spans them, and when the group was taken out
        # of a random order on purpose.
        def new_unit(group, hooks_from)
          reason = if hooks_from then "context_hooks"
                   elsif fixed_order?(group) then "order"
                   end
          return unless reason

          @units << { id: @units.size + 1, reason: reason, path: chain_of(group),
                      file: Plain.text(group.metadata[:file_path]), line: group.metadata[:line_number] }
          @units.size
        end

        def fixed_order?(group)
          group.metadata[:order] == :defined &&
            !(RSpec::Core::Ordering::Identity === RSpec.configuration.ordering_registry.fetch(:global))
        end

        # RSpec runs no context hooks in a skipped group.
        def context_hooks?(group)
          return false if group.metadata[:skip]

          %i[before after].any? do |position|
            !group.hooks.__send__(:matching_hooks_for, position, :context, group).empty?
          end
        end

        # Descriptions of a group and those around it, outermost first; empty ones do not count.
        def chain_of(group)
          @chains[group] ||= begin
            outer = group.superclass < RSpec::Core::ExampleGroup ? chain_of(group.superclass) : []
            own = group.metadata[:description].to_s
            own.empty? ? outer : outer + [Plain.text(own)]
          end
        end
      end
    end
  end
end
