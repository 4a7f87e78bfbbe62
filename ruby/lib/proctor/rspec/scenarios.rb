# frozen_string_literal: true

module Proctor
  module Specs
    # Rows of scenario sets: reading them, and defining examples for them.
    module Scenarios
      REQUIRED = %w[name goal].freeze

      module_function

      def load(set, file, rows, spec_file)
        raise UsageError, "scenario_set #{set.inspect} takes either `from:` or `scenarios:`" unless file.nil? ^ rows.nil?

        rows = read(find(file, spec_file)) if file
        raise UsageError, "scenario_set #{set.inspect}: the scenarios are not a list" unless rows.is_a?(Array)

        rows.each_with_index.map { |row, index| scenario(row, file || "scenario_set #{set.inspect}", index) }
      end

      # The examples that the block defines belong to the row.
      def define(group, row, block)
        before = group.descendants.flat_map(&:examples)
        group.instance_exec(row, &block)
        (group.descendants.flat_map(&:examples) - before).each { |example| example.metadata[:proctor_scenario] = row }
      end

      # As seen from the spec file, else from the current folder.
      def find(file, spec_file)
        beside = File.expand_path(file, File.dirname(spec_file))
        return beside if File.file?(beside)
        return file if File.file?(file)

        raise UsageError, "scenario file #{file} was found neither beside #{spec_file} nor in #{Dir.pwd}"
      end

      def read(file)
        text = File.read(file, encoding: "UTF-8")
        return JSON.parse(text) unless file.end_with?(".yaml", ".yml")

        require "yaml"
        YAML.safe_load(text)
      rescue JSON::ParserError, Psych::SyntaxError => error
        raise UsageError, "scenario file #{file} cannot be read: #{error.message}"
      end

      def scenario(row, source, index)
        raise UsageError, "#{source}: scenario #{index + 1} is no object" unless row.is_a?(Hash)

        row = row.transform_keys(&:to_s)
        REQUIRED.each do |key|
          next if row[key].is_a?(String) && !row[key].empty?

          raise UsageError, "#{source}: scenario #{index + 1} needs `#{key}`, a text"
        end
        Scenario.new(row, index: index)
      end
    end
  end
end
