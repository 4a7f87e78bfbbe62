# frozen_string_literal: true

module Proctor
  module Specs
    # Where an example stands, as the host knows examples: by file, chain of descriptions, and which of several with the
    # same chain it is.
    module ExampleLocation
      module_function

      def of(example, item)
        metadata = example.metadata
        row = metadata[:proctor_scenario]
        { key: item ? item.key : Plain.text(example.id), repeat: item&.repeat || 1, attempt: item&.attempt || 1,
          file: file_of(metadata), line: metadata[:line_number], path: path_of(metadata),
          ordinal: ordinals[example], row: row&.to_wire }.compact
      end

      def file_of(metadata)
        Plain.text(metadata[:rerun_file_path] || metadata[:file_path])
      end

      def path_of(metadata)
        path = [metadata[:description]]
        group = metadata[:example_group]
        while group
          path.unshift(group[:description])
          group = group[:parent_example_group]
        end
        path.map { |own| Plain.text(own.to_s) }.reject(&:empty?)
      end

      # From 2 on, by example; counted in the order of definition, before anything is filtered.
      def ordinals
        world = ::RSpec.world
        return @ordinals if @world.equal?(world)

        seen = Hash.new(0)
        counted = world.all_examples.each_with_object({}.compare_by_identity) do |example, ordinals|
          number = (seen[[file_of(example.metadata), path_of(example.metadata)]] += 1)
          ordinals[example] = number if number > 1
        end
        @world = world
        @ordinals = counted
      end
    end
  end
end
