# frozen_string_literal: true

module Proctor
  module Runner
    module MinitestFramework
      # Watches the definition of tests while the project is loaded: where each stands, and which are defined twice in one
      # class. Of those Ruby keeps the second, and the first never runs.
      module DefinedTests
        # Prepended to the singleton class of Minitest::Test.
        module Watch
          def method_added(name)
            DefinedTests.added(self, name) if DefinedTests.watching && name.start_with?("test_")
            super
          end
        end

        MINITEST = "#{File.dirname(::Minitest.method(:process_args).source_location[0])}/minitest"

        @places = {}

        class << self
          attr_reader :watching

          # Runs the block; returns a sentence for each test that was replaced.
          def while_loading
            ::Minitest::Test.singleton_class.prepend(Watch)
            @replaced = []
            @watching = true
            yield
            @replaced
          ensure
            @watching = false
          end

          # The file and line of a test, nil if it was not defined while the project was loaded.
          def place_of(test_class, name)
            @places[[test_class, name.to_sym]]
          end

          def added(test_class, name)
            place = place_now(test_class, name)
            before = @places[[test_class, name]]
            @places[[test_class, name]] = place
            return if before.nil? || before == place

            @replaced << "#{Plain.text("#{test_class}##{name}")} is defined twice: the test at #{shown(before)} is replaced by " \
                         "the one at #{shown(place)} and never runs"
          end

          private

          # An `it` without a block gets one that stands in Minitest itself; then the place of the call counts.
          def place_now(test_class, name)
            place = test_class.instance_method(name).source_location
            return place unless place.nil? || place[0].start_with?(MINITEST)

            call = caller_locations.find { |each| !each.path.start_with?(MINITEST) && !Serializer.own?(each.path) }
            call ? [call.absolute_path || call.path, call.lineno] : place
          end

          def shown(place)
            place ? Plain.text("#{TestPaths.relative(place[0])}:#{place[1]}") : "(unknown)"
          end
        end
      end
    end
  end
end
