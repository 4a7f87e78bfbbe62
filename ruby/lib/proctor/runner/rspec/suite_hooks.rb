# frozen_string_literal: true

require_relative "scope"

module Proctor
  module Runner
    module RspecFramework
      # Runs before(:suite) hooks before the first example of this process and after(:suite) hooks at
      # its end. Errors reach the reporter, which also makes RSpec want to quit, as in plain `rspec`.
      class SuiteHooks
        def initialize(configuration, leaks, &around_hooks)
          @configuration = configuration
          @leaks = leaks
          @around_hooks = around_hooks
          @begun = false
        end

        def before
          return if @begun

          @begun = true
          run("before_suite", :before_suite_hook, "a `before(:suite)` hook", :@before_suite_hooks)
          Scope.set(:suite)
          @leaks.adopt
        end

        def after
          return unless @begun

          @begun = false
          run("after_suite", :after_suite_hook, "an `after(:suite)` hook", :@after_suite_hooks)
          Scope.set(:suite)
        end

        private

        def run(phase, scope, description, variable)
          hooks = @configuration.instance_variable_get(variable)
          return if hooks.empty? || @configuration.dry_run?

          @around_hooks.call(phase, nil) do
            Scope.set(scope)
            @configuration.__send__(:run_suite_hooks, description, hooks)
          end
        end
      end
    end
  end
end
