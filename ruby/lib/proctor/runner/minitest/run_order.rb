# frozen_string_literal: true

require "delegate"

module Proctor
  module Runner
    module MinitestFramework
      # The order in which Minitest would run the classes and their tests. Versions of Minitest 5 shuffle in different ways,
      # so Minitest itself is asked: `Minitest.__run` runs stand-ins of the classes, which note when they would have run.
      module RunOrder
        # Stands in for a test class.
        class StandIn < SimpleDelegator
          def initialize(test_class, order)
            super(test_class)
            @order = order
          end

          def run(*)
            test_class = __getobj__
            @order << [test_class, test_class.runnable_methods]
            true
          end
        end

        # Pairs of class and names of tests. The seed is that of the options, as in `Minitest.run`.
        def self.of_this_suite(options)
          order = []
          classes = ::Minitest::Runnable.runnables
          stand_ins = classes.map { |test_class| StandIn.new(test_class, order) }
          ::Minitest::Runnable.class_variable_set(:@@runnables, stand_ins)
          Native::SRAND.call(options[:seed])
          ::Minitest.__run(nil, options)
          order
        ensure
          ::Minitest::Runnable.class_variable_set(:@@runnables, classes)
        end
      end
    end
  end
end
