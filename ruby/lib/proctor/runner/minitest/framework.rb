# frozen_string_literal: true

module Proctor
  module Runner
    # Minitest, as the generic parts of the runner ask for it. Nothing of Minitest is loaded before `boot`.
    module MinitestFramework
      # Folders that `rake test` puts on the load path.
      LOAD_PATH = %w[lib test].freeze

      # Prepended to Minitest: a project that runs its tests while it is loaded would run them without anybody listening.
      module NoRunWhileLoading
        def run(*)
          MinitestFramework.loading? ? true : super
        end
      end

      class << self
        # Whether the project is being loaded.
        attr_accessor :loading
        alias loading? loading

        def name
          "minitest"
        end

        # Loads Minitest and keeps it from running anything when the process exits, also in processes that tests fork.
        # Returns nil, or the text of the problem.
        def boot(root, args)
          Dir.chdir(root) if root
          $PROGRAM_NAME = "minitest"
          ARGV.replace(args)
          $LOAD_PATH.unshift(*LOAD_PATH.map { |name| File.expand_path(name) }.select { |folder| File.directory?(folder) })
          require "minitest"
          return "minitest #{::Minitest::VERSION} is not supported: Proctor runs Minitest 5" unless ::Minitest::VERSION.start_with?("5.")

          ::Minitest.class_variable_set(:@@installed_at_exit, true)
          ::Minitest.singleton_class.prepend(NoRunWhileLoading)
          require_relative "loader"
          nil
        rescue LoadError => error
          "minitest could not be loaded: #{error.message} " \
          "(is it in the Gemfile? set PROCTOR_BUNDLER=0 to run without Bundler)"
        end

        # Loads the suite when it is called.
        def loader(args)
          Loader.new(args)
        end

        def warm_up
          require_relative "example_runner"
        end

        # Minitest leaves the signal to Ruby, which raises Interrupt.
        def trap_interrupt; end

        # What the project wants done after all tests.
        def before_exit
          ::Minitest.class_variable_get(:@@after_run).reverse_each(&:call)
        end
      end
    end
  end
end
