# frozen_string_literal: true

require_relative "../manifest"
require_relative "run_order"
require_relative "test_case"

module Proctor
  module Runner
    module MinitestFramework
      # Every test that Minitest knows, and the selected ones in the order in which it would run them.
      class Manifest < Runner::Manifest
        # `own_run`: its class changes how Minitest runs a whole class, so each test is run through the class.
        Entry = Struct.new(:test, :key, :key_json, :own_run, :unit)

        SORTED = %i[alpha sorted].freeze
        # How a class can change the run of all its tests (hooks around the class, for instance).
        CLASS_RUN = %i[run with_info_handler run_one_method].freeze

        attr_reader :total

        # Ordinals are counted in the order of definition, before anything is filtered or shuffled.
        def initialize(options)
          super()
          @options = options
          @tests = {}
          seen = Hash.new(0)
          @ordinals = Hash.new(1).compare_by_identity
          Manifest.classes.each do |test_class|
            test_class.runnable_methods.sort.each do |name|
              test = @tests[[test_class, name]] = TestCase.new(test_class, name)
              @ordinals[test] = seen[[test.file, test.path]] += 1
            end
          end
          @total = @tests.size
        end

        # The classes whose tests Minitest would run.
        def self.classes
          ::Minitest::Runnable.runnables.reject { |test_class| test_class.runnable_methods.empty? }
        end

        def select(paths)
          wanted = paths.select(@tests.values).to_h { |test| [test, true] }.compare_by_identity
          RunOrder.of_this_suite(@options).each do |test_class, names|
            unit = new_unit(test_class)
            own_run = own_run?(test_class)
            names.each do |name|
              test = @tests[[test_class, name]]
              next unless test && wanted[test] && asked_for?(test)

              add(test.name) { |key, json| Entry.new(test, key, json, own_run, unit) }
            end
          end
        end

        # Tests that Minitest knows now and that were not there when the suite was listed. An anonymous class that a test
        # makes for itself is not meant to run.
        def late_tests
          Manifest.classes.flat_map do |test_class|
            names = test_class.runnable_methods.reject { |name| @tests.key?([test_class, name]) }
            test_class.name ? names.map { |name| TestCase.new(test_class, name) } : []
          end
        end

        private

        def description(entry)
          test = entry.test
          limit = 16 * 1024
          { key: entry.key, file: Plain.text(test.file), path: test.path.map { |part| Plain.text(part) },
            location: Plain.text("#{test.file}:#{test.line}"), line: test.line,
            description: Plain.limited(test.description, limit), full_description: Plain.limited(test.full_description, limit),
            tags: {}, unit: entry.unit, ordinal: @ordinals[test] }
        end

        # Minitest's own `--name` and `--exclude`.
        def asked_for?(test)
          @filter ||= pattern(@options[:filter] || "/./")
          @exclude ||= pattern(@options[:exclude])
          names = [test.method_name, "#{test.test_class}##{test.method_name}"]
          names.any? { |name| @filter === name } && names.none? { |name| @exclude === name }
        end

        def pattern(text)
          text.is_a?(String) && text =~ %r{/(.*)/} ? Regexp.new(Regexp.last_match(1)) : text
        end

        # Tests whose order was fixed on purpose stay together, in that order.
        def new_unit(test_class)
          return unless SORTED.include?(test_class.test_order)

          @units << { id: @units.size + 1, reason: "order", path: [Plain.text(test_class.name.to_s)] }
          @units.size
        end

        def own_run?(test_class)
          known = [::Minitest::Runnable.singleton_class, ::Minitest::Parallel::Test::ClassMethods]
          CLASS_RUN.any? { |name| !known.include?(test_class.method(name).owner) }
        end
      end
    end
  end
end
