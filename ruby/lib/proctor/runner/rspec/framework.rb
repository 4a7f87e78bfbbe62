# frozen_string_literal: true

module Proctor
  module Runner
    # RSpec, as the generic parts of the runner ask for it. Nothing of RSpec is loaded before `boot`.
    #
    # A framework has `name`, `boot`, `loader`, `warm_up`, `trap_interrupt` and `before_exit`; `run_specs` is optional.
    # Its loader has `call`, `errors`, `reply`, `manifest`, `events` and `runner`.
    module RspecFramework
      module_function

      def name
        "rspec"
      end

      # Loads rspec-core from the right folder: it remembers the current folder while it is loaded.
      # Returns nil, or the text of the problem.
      def boot(root, args)
        Dir.chdir(root) if root
        $PROGRAM_NAME = "rspec"
        ARGV.replace(args)
        require "rspec/core"
        RSpec::Core::Runner.disable_autorun!
        require_relative "loader"
        nil
      rescue LoadError => error
        "rspec-core could not be loaded: #{error.message} " \
        "(is it in the Gemfile? set PROCTOR_BUNDLER=0 to run without Bundler)"
      end

      # Loads the suite when it is called.
      def loader(args)
        Loader.new(args)
      end

      # Of the spec files that are not loaded yet, only these will be. For a load that has begun.
      def load_only(files)
        configuration = RSpec.configuration
        return unless configuration.respond_to?(:load_file_handling_errors, true)

        wanted = files.to_h { |file| [File.expand_path(file), true] }
        configuration.define_singleton_method(:load_file_handling_errors) do |method, file|
          super(method, file) unless method == :load && !wanted[file]
        end
      end

      # RSpec loads matchers when they are first used, which would be once in every worker.
      def warm_up
        require_relative "example_runner"
        return unless defined?(RSpec::Matchers::BuiltIn)

        %i[Eq BeTruthy].each { |name| RSpec::Matchers::BuiltIn.const_get(name) }
      rescue NameError
        nil
      end

      def trap_interrupt
        RSpec::Core::Runner.trap_interrupt
      end

      # RSpec has nothing to do when the process ends: its own at_exit block is disabled.
      def before_exit; end

      # The older action `run_specs`.
      def run_specs(ids)
        problem = boot(nil, [])
        raise LoadError, problem if problem

        require_relative "run_specs"
        RunSpecs.new(ids)
      end
    end
  end
end
