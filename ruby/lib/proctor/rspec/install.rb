# frozen_string_literal: true

module Proctor
  # Puts the words into groups of `type: :agent`, and attends runs of plain `rspec`.
  module Specs
    LIBRARY = File.expand_path("../..", __dir__)

    module_function

    def install(configuration)
      configuration.extend(GroupWords, type: :agent)
      configuration.include(ExampleWords, type: :agent)
      configuration.prepend_before(:each, type: :agent) { |example| proctor_begin(example) }
      configuration.append_after(:each, type: :agent) { proctor_end }
      # Failures point at the spec.
      configuration.backtrace_exclusion_patterns << %r{\A#{Regexp.escape(LIBRARY)}/proctor/}
      configuration.before(:suite) { Specs.attend(::RSpec.configuration) }
    end

    # Before the first example. A host is started only where somebody needs one.
    def attend(configuration)
      observers = Proctor.observers
      if Host.worker?
        RunReporter.new(nil, observers).begin(configuration) if observers.any?
        return
      end

      destination = Proctor.configuration.destination
      return unless destination || conversations? || observers.any?

      line = destination || conversations? ? Host.begin(events: destination) : nil
      RunReporter.new(line, observers).begin(configuration)
    end

    def conversations?
      ::RSpec.world.all_examples.any? { |example| example.metadata[:type] == :agent }
    end

    install(::RSpec.configuration)
  end
end
