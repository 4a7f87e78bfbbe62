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
      settings = Proctor.configuration
      if Host.worker?
        Observation.leave_to_observer_process if settings.enable_events
        return
      end

      observed = settings.enable_events && !Observation.subscriptions.empty?
      return unless settings.destinations.any? || settings.destinations_elsewhere? || conversations? || observed

      line = begin_host(settings.destinations, observed) or return
      delivery = Observation.take_over(line)&.start if settings.enable_events
      RunReporter.new(line, delivery).begin(configuration)
    end

    # Without a host there are no events; examples that need one say so themselves.
    def begin_host(destinations, observed)
      Host.begin(events: destinations.empty? ? nil : destinations.join(","))
    rescue HostUnavailable => error
      lost = ["this run is not recorded", ("observers get no events" if observed),
              ("no events go to #{destinations.join(", ")}" unless destinations.empty?)].compact
      Observation.warn_user("#{error.message}; #{lost.join(", ")}")
      nil
    end

    def conversations?
      ::RSpec.world.all_examples.any? { |example| example.metadata[:type] == :agent }
    end

    install(::RSpec.configuration)
  end
end
