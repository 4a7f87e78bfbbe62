# frozen_string_literal: true

# Nothing may be required here before `Boot.bundler`: activating a default gem such as json first
# makes Bundler refuse a lock file that asks for another version of it.
module Proctor
  module Runner
    # Prepares a fresh Ruby process to look like one that the project's own test command started.
    module Boot
      LIBRARY = File.expand_path("../..", __dir__)

      module_function

      # The host has Ruby collect garbage less often, by variables that Ruby has read by now. Examples and their children get
      # the environment without them: before Bundler, which keeps a copy of it.
      def forget_gc_settings(env = ENV)
        env.delete("PROCTOR_RUBY_GC").to_s.split.each do |setting|
          name, value = setting.split("=", 2)
          env.delete(name) if env[name] == value
        end
      end

      # Sets Bundler up when the current folder (or BUNDLE_GEMFILE) has a Gemfile, as `bundle exec`
      # would. Returns nil, or the text of the problem; the process goes on either way so that the
      # host can be told over the protocol.
      def bundler(env = ENV)
        return if env["PROCTOR_BUNDLER"] == "0"
        return unless env["BUNDLE_GEMFILE"] || %w[Gemfile gems.rb].any? { |name| File.file?(name) }

        require "bundler"
        Bundler.setup
        nil
      rescue LoadError
        nil # no Bundler on this machine: run as without a Gemfile
      rescue StandardError => error
        "Bundler could not set up the project:\n#{error.message.strip}\n" \
        "#{mends?(error) ? "`bundle install` mends it" : "mend the Gemfile"}; " \
        "PROCTOR_BUNDLER=0 runs without Bundler"
      end

      # Whether the gems are missing, rather than the file being wrong.
      def mends?(error)
        names = %i[GemNotFound GitError PathError VersionConflict SolveFailure InstallError]
        names.any? { |name| Bundler.const_defined?(name) && Bundler.const_get(name) === error }
      end

      # At the end, and with hardly a file but `proctor/…`, so that it shadows nothing of the project.
      def load_path
        $LOAD_PATH.push(LIBRARY) unless $LOAD_PATH.include?(LIBRARY)
      end

      # The environment a worker of this slot works in; the names are those other runners use.
      def worker_environment(slot, generation = 0)
        { "WORKER_INDEX" => slot.to_s,
          "PROCTOR_WORKER" => slot.to_s,
          "PROCTOR_GENERATION" => generation.to_s,
          "TEST_ENV_NUMBER" => slot.zero? ? "" : (slot + 1).to_s }
      end

      # Other test frameworks run their tests when the process exits; ours must not.
      def disarm_other_frameworks
        Minitest.define_singleton_method(:run) { |*| true } if defined?(Minitest.run)
        Test::Unit::AutoRunner.need_auto_run = false if defined?(Test::Unit::AutoRunner)
      end
    end
  end
end
