# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # One example as `list` tells it. Every text is bounded and says its length where it was cut, so that no example is
      # too large to be listed.
      class ExampleDescription
        INTERNAL_KEYS = (RSpec::Core::Metadata::RESERVED_KEYS + %i[extra_failure_lines]).to_h { |key| [key, true] }.freeze
        # The host makes the stable id from the path, so a part of it is cut only where nobody would write it by hand.
        PATH_BYTES = 64 * 1024
        TEXT_BYTES = 16 * 1024
        TAG_BYTES = 4 * 1024
        TAGS = 500
        SAFE_INTEGERS = (-(1 << 63)...(1 << 63)).freeze

        def initialize(manifest, entry)
          @manifest = manifest
          @entry = entry
          @example = entry.example
          @metadata = @example.metadata
        end

        def to_h
          result = { key: @entry.key, file: @manifest.file_of(@example), path: path,
                     location: Plain.text(@metadata[:location]), line: @metadata[:line_number],
                     description: text(@example.description), full_description: text(@example.full_description),
                     tags: tags, unit: @entry.unit, ordinal: @manifest.ordinal(@example) }
          result[:skip] = flag(@metadata[:skip]) if @metadata[:skip]
          result[:pending] = flag(@metadata[:pending]) if @metadata[:pending]
          result[:scenario] = @metadata[:proctor_scenario].to_wire if @metadata[:proctor_scenario]
          shared = @metadata[:shared_group_inclusion_backtrace].last
          result[:shared] = shared_group(shared) if shared
          result
        end

        private

        def text(string)
          Plain.limited(string, TEXT_BYTES)
        end

        # Two descriptions that differ behind the cut must still be two: each keeps a digest of the whole.
        def path
          @manifest.path_of(@example).map do |part|
            part.bytesize <= PATH_BYTES ? part : "#{Plain.limited(part, PATH_BYTES)} ##{Manifest.digest_of(part)}"
          end
        end

        def flag(value)
          value.is_a?(String) ? text(value) : true
        end

        def shared_group(frame)
          { name: text(frame.shared_group_name.to_s),
            location: Plain.limited(frame.inclusion_location.to_s[/\A.+?:\d+/].to_s, TAG_BYTES) }
        end

        def tags
          found = {}
          @metadata.each do |key, value| # nothing is made for the many keys that are RSpec's own
            next if INTERNAL_KEYS[key]

            case value
            when true, false, nil, Integer, Float, String, Symbol
              break if found.size == TAGS

              found[Plain.limited(key.to_s, TAG_BYTES)] = tag(value)
            end
          end
          found
        end

        # Integers beyond 64 bits travel as text: not every reader of JSON takes them.
        def tag(value)
          case value
          when Integer then SAFE_INTEGERS.cover?(value) ? value : Plain.limited(value.to_s, TAG_BYTES)
          when String then Plain.limited(value, TAG_BYTES)
          when Symbol then Plain.limited(value.name, TAG_BYTES)
          else Plain.value(value)
          end
        end
      end
    end
  end
end
