# frozen_string_literal: true

# `require "rspec/agents"` of a suite that was written for the gem rspec-agents. Where that gem is installed, or another
# folder of the load path has a file of this name, that one is loaded and Proctor stays out of the way; otherwise Proctor
# answers to the gem's names. See docs/moving-from-rspec-agents.md.
module Proctor
  # Finds the real gem. It must not be shadowed: this file can stand before it in the load path.
  module RealRspecAgents
    module_function

    def file
      on_load_path || installed
    end

    def on_load_path
      $LOAD_PATH.map { |folder| File.join(File.expand_path(folder.to_s), "rspec/agents.rb") }
                .find { |path| File.file?(path) && !ours?(path) }
    end

    # With Bundler these are the gems of the bundle only.
    def installed
      return unless defined?(Gem::Specification)

      Gem::Specification.find_all_by_name("rspec-agents").each do |spec|
        path = spec.full_require_paths.map { |folder| File.join(folder, "rspec/agents.rb") }.find { |each| File.file?(each) }
        next unless path

        gem "rspec-agents"
        return path
      end
      nil
    end

    # This file, or the copy of another installation of the library.
    def ours?(path)
      File.file?(File.join(File.dirname(path), "../proctor/rspec_agents_compat.rb"))
    end
  end
end

if (real = Proctor::RealRspecAgents.file)
  require real
else
  require_relative "../proctor/rspec_agents_compat"
end
