# frozen_string_literal: true

require_relative "../../fit"
require_relative "example_description"

module Proctor
  module Runner
    module RspecFramework
      # Every example of the loaded world, and the selected ones in the order plain `rspec` would run
      # them. Built once, before the first fork; workers look examples up by key.
      class Manifest
        # `groups` goes from the outermost group to the innermost. `hooks_from` is the index of the
        # first group with context hooks, nil when there is none.
        Entry = Struct.new(:example, :key, :key_json, :groups, :hooks_from, :unit)

        BATCH = 250
        BATCH_BYTES = 1 << 20
        # Of one example alone; below the limit of a line, so that a path that is long but distinct stays whole.
        EXAMPLE_BYTES = 6 << 20

        attr_reader :entries, :total, :units

        # Ordinals are counted here, before RSpec filters anything.
        def initialize(world)
          @world = world
          @chains = {}.compare_by_identity
          @entries = []
          @units = []
          @by_key = {}
          examples = world.all_examples
          @total = examples.size
          @ordinals = count_ordinals(examples)
        end

        def select
          @world.ordered_example_groups.each { |group| walk(group, [], nil, nil) }
        end

        # Into how many pieces the work can be cut.
        def pieces
          @units.size + @entries.count { |entry| entry.unit.nil? }
        end

        def [](key)
          @by_key[key]
        end

        # Yields finished lines of the protocol, each with some of the examples: no more than a line can hold,
        # however long their descriptions are.
        def each_batch
          batch = []
          bytes = 0
          @entries.each do |entry|
            text = Fit.json(ExampleDescription.new(self, entry).to_h, EXAMPLE_BYTES)
            if batch.size == BATCH || (bytes + text.bytesize > BATCH_BYTES && !batch.empty?)
              yield(examples_line(batch))
              batch = []
              bytes = 0
            end
            batch << text
            bytes += text.bytesize
          end
          yield(examples_line(batch)) unless batch.empty?
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

        # Changes when any key or their order does: workers that load on their own must agree.
        def digest
          Manifest.digest_of(@entries.map(&:key).join("\n"))
        end

        # FNV-1a over eight bytes at a time.
        def self.digest_of(text)
          packed = text.b
          packed << "\0" * (-packed.bytesize % 8)
          format("%016x", packed.unpack("Q<*").inject(0xcbf29ce484222325) do |hash, word|
            ((hash ^ word) * 0x100000001b3) & 0xffffffffffffffff
          end)
        end

        private

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
          strategy.order(group.filtered_examples).each { |example| add(example, groups, hooks_from, unit) }
          strategy.order(group.children).each { |child| walk(child, groups, unit, hooks_from) }
        end

        def add(example, groups, hooks_from, unit)
          key = unique(Plain.text(example.id))
          entry = Entry.new(example, key, json(key).freeze, groups, hooks_from, unit)
          @by_key[key] = entry
          @entries << entry
        end

        PLAIN_KEY = /\A[ !#-\[\]-~]*\z/

        def json(key)
          PLAIN_KEY.match?(key) ? "\"#{key}\"" : Native.json(key)
        end

        # RSpec's ids are unique in practice; should two be equal, both must still be runnable.
        def unique(id)
          return id unless @by_key.key?(id)

          number = 2
          number += 1 while @by_key.key?("#{id}~#{number}")
          "#{id}~#{number}"
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

        def examples_line(batch)
          %({"type":"examples","examples":[#{batch.join(",")}]})
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
