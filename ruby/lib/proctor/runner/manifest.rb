# frozen_string_literal: true

module Proctor
  module Runner
    # Every example of the loaded world, and the selected ones in the order plain `rspec` would run
    # them. Built once, before the first fork; workers look examples up by key.
    class Manifest
      # `groups` goes from the outermost group to the innermost. `hooks_from` is the index of the
      # first group with context hooks, nil when there is none.
      Entry = Struct.new(:example, :key, :key_json, :groups, :hooks_from, :unit)

      BATCH = 250
      INTERNAL_KEYS = (RSpec::Core::Metadata::RESERVED_KEYS + %i[extra_failure_lines]).to_h { |key| [key, true] }.freeze

      attr_reader :entries, :total, :units

      # Ordinals are counted here, before RSpec filters anything.
      def initialize(world)
        @world = world
        @chains = {}.compare_by_identity
        @paths = {}.compare_by_identity
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

      # Yields arrays of plain hashes.
      def each_batch
        @entries.each_slice(BATCH) { |slice| yield(slice.map { |entry| describe(entry) }) }
      end

      # Changes when any key or their order does: workers that load on their own must agree.
      def digest
        packed = @entries.map(&:key).join("\n")
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

      def describe(entry)
        example = entry.example
        metadata = example.metadata
        result = { key: entry.key, file: file_of(example), path: path_of(example),
                   location: Plain.text(metadata[:location]), line: metadata[:line_number],
                   description: Plain.text(example.description),
                   full_description: Plain.text(example.full_description),
                   tags: tags(metadata), unit: entry.unit, ordinal: @ordinals[example] || 1 }
        result[:skip] = flag(metadata[:skip]) if metadata[:skip]
        result[:pending] = flag(metadata[:pending]) if metadata[:pending]
        result[:scenario] = metadata[:proctor_scenario].to_wire if metadata[:proctor_scenario]
        shared = metadata[:shared_group_inclusion_backtrace].last
        result[:shared] = shared_group(shared) if shared
        result
      end

      def flag(value)
        value.is_a?(String) ? Plain.text(value) : true
      end

      def shared_group(frame)
        { name: Plain.text(frame.shared_group_name.to_s),
          location: Plain.text(frame.inclusion_location.to_s[/\A.+?:\d+/].to_s) }
      end

      def tags(metadata)
        found = {}
        metadata.each do |key, value| # nothing is made for the many keys that are RSpec's own
          next if INTERNAL_KEYS[key]

          case value
          when true, false, nil, Integer, Float, String, Symbol
            found[Plain.text(key.to_s)] = Plain.value(value)
          end
        end
        found
      end

      def file_of(example)
        Plain.text(example.metadata[:rerun_file_path] || example.metadata[:file_path])
      end

      def path_of(example)
        @paths[example] ||= begin
          own = example.metadata[:description].to_s
          chain = chain_of(example.example_group)
          own.empty? ? chain : chain + [Plain.text(own)]
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
