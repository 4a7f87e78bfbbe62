# frozen_string_literal: true

require_relative "defined_tests"
require_relative "test_paths"

module Proctor
  module Runner
    module MinitestFramework
      # One test method of one class: its names and where it stands.
      class TestCase
        # `it "adds"` becomes the method `test_0001_adds`; the number changes when tests are added above it.
        SPEC_METHOD = /\Atest_\d{4,}_/

        attr_reader :test_class, :method_name, :file, :line

        def initialize(test_class, method_name)
          @test_class = test_class
          @method_name = method_name
          @file, @line = place
        end

        # As Minitest names it on its command line.
        def name
          "#{class_name}##{method_name}"
        end

        # Descriptions of the groups, outermost first, and its own.
        def path
          @path ||= groups + [description]
        end

        def description
          spec? ? method_name.sub(SPEC_METHOD, "") : method_name
        end

        def full_description
          spec? ? path.join(" ") : name
        end

        private

        def class_name
          test_class.name || "(anonymous class)"
        end

        def spec?
          described?(test_class)
        end

        # Whether `describe` has made this class.
        def described?(candidate)
          candidate.instance_variable_defined?(:@desc)
        end

        # Minitest joins the descriptions of nested groups by `::`.
        def groups
          chain = test_class.ancestors.grep(Class).take_while { |each| described?(each) }.map { |each| each.name.to_s }.reverse
          return [class_name] if chain.empty?

          chain.each_with_index.map { |own, depth| depth.zero? ? own : own.delete_prefix("#{chain[depth - 1]}::") }
        end

        # An inherited test counts for the file of its class, where that is known.
        def place
          method = test_class.instance_method(method_name)
          own = method.owner.equal?(test_class)
          path, line = (class_place unless own) || DefinedTests.place_of(test_class, method_name) ||
                       method.source_location || ["(unknown)", 0]
          [TestPaths.relative(path), line]
        end

        def class_place
          return unless test_class.name && Object.const_get(test_class.name).equal?(test_class)

          found = Object.const_source_location(test_class.name)
          found unless found.nil? || found.empty?
        rescue NameError
          nil
        end
      end
    end
  end
end
