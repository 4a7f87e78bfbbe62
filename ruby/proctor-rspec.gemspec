# frozen_string_literal: true

require_relative "lib/proctor/version"

Gem::Specification.new do |spec|
  spec.name = "proctor-rspec"
  spec.version = Proctor::VERSION
  spec.summary = "The RSpec side of Proctor, the exam room for AI agents"
  spec.description = "Conversations with agents as RSpec examples (require \"proctor/rspec\"), and the workers " \
                     "that run a suite on behalf of the proctor binary, which embeds this library."
  spec.authors = ["The Proctor authors"]
  spec.license = "MIT OR Apache-2.0"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir["lib/**/*.rb", "exe/*", "README.md"]
  spec.bindir = "exe"
  spec.executables = %w[proctor-rspec-parent proctor-rspec-worker proctor-rspec-observers proctor-minitest-parent proctor-minitest-worker]
  spec.require_paths = ["lib"]
  spec.add_dependency "rspec-core", ">= 3.12", "< 4"
  spec.add_dependency "rspec-expectations", ">= 3.12", "< 4"
end
