# frozen_string_literal: true

require "digest"
require_relative "recorded_exception"

module Proctor
  module Runner
    module RspecFramework
      # Gives the loaded examples the results of a recorded run. Examples that were defined while it ran are not loaded; for each there is
      # a stand-in, in a group that was loaded if it belongs to one.
      class ReplayedExamples
        # What RSpec has no word for is a failure, with one of these classes.
        CLASSES = { "crashed" => "Proctor::ExampleCrashed", "timed_out" => "Proctor::ExampleTimedOut",
                    "inconclusive" => "Proctor::ExampleInconclusive" }.freeze

        def initialize(manifest, run)
          @manifest = manifest
          @run = run
          @results = {}.compare_by_identity
          @late_groups = {}
        end

        def fill
          known = @manifest.entries.to_h { |entry| [stable_id(entry.example), entry.example] }
          @run.results.each do |result|
            example = known[result.id]
            next unless example || result.reported?

            apply(result, example || stand_in(result))
          end
          self
        end

        # The result of an example that RSpec would have reported; nil if it did not run.
        def result(example)
          @results[example]
        end

        private

        def stable_id(example)
          path = @manifest.path_of(example).reject(&:empty?).join(" > ")
          ordinal = @manifest.ordinal(example)
          text = "#{@manifest.file_of(example)}::#{path}#{" ##{ordinal}" if ordinal > 1}"
          Digest::SHA256.hexdigest(text)[0, 12]
        end

        def apply(result, example)
          return unless result.reported?

          @results[example] = result
          name(example, result) if example.metadata[:description].empty? && result.name
          execution = example.execution_result
          execution.started_at = time(result.started)
          execution.finished_at = time(result.finished)
          execution.run_time = result.finished.fetch("duration_ms", 0).to_f / 1000
          outcome(result, example, execution)
        end

        def outcome(result, example, execution)
          if result.passed? || (RSpec.configuration.dry_run? && result.pending? && result.finished["message"] == "dry run")
            execution.status = :passed
          elsif result.pending?
            pending(result, example, execution)
          else
            failed(result, example, execution)
          end
        end

        def pending(result, example, execution)
          execution.status = :pending
          execution.pending_message = result.finished["message"]
          execution.pending_exception = RecordedException.build(result.finished["pending_exception"])
          example.metadata[execution.pending_exception ? :pending : :skip] = result.finished["message"] || true
        end

        def failed(result, example, execution)
          details = result.finished["exception"]
          error = result.status == "failed" || result.status == "errored" ? RecordedException.build(details) : nil
          error ||= RecordedException.of_message(CLASSES.fetch(result.status, "Proctor::ExampleErrored"), result.finished["message"].to_s,
                                                 details ? Array(details["full_backtrace"] || details["backtrace"]) : [])
          execution.status = :failed
          execution.exception = error
          if details && details["fixed"]
            execution.pending_fixed = true
            execution.pending_message = result.finished["message"]
          end
          example.instance_variable_set(:@exception, error)
        end

        # A matcher gave it a name while it ran.
        def name(example, result)
          example.metadata[:description] = result.name
          example.metadata[:full_description] = result.finished["full_description"] || example.full_description + result.name
        end

        def time(event)
          text = event && event["time"]
          text ? ::Time.iso8601(text) : RSpec::Core::Time.now
        end

        def stand_in(result)
          path = Array(result.described("path"))
          place = File.expand_path(result.described("location") || result.described("file").to_s)
          # It registers itself with its group.
          RSpec::Core::Example.new(late_group(path[0...-1], place), path.last.to_s, { caller: ["#{place}:in `block'"] }, proc {})
        end

        # The group of a stand-in, at the end of the one around it, where it was defined.
        def late_group(path, place)
          @late_groups[path] ||= begin
            parent = path.size > 1 ? loaded_groups[path[0...-1]] || late_group(path[0...-1], place) : nil
            RSpec::Core::ExampleGroup.subclass(parent || RSpec::Core::ExampleGroup, path.last.to_s, [{ caller: ["#{place}:in `block'"] }],
                                               parent ? parent.children : RSpec.world.example_groups)
          end
        end

        def loaded_groups
          @loaded_groups ||= RSpec.world.all_example_groups.to_h do |group|
            [group.parent_groups.reverse.map { |each| each.metadata[:description].to_s }.reject(&:empty?), group]
          end
        end
      end
    end
  end
end
