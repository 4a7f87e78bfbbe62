# frozen_string_literal: true

require "digest"
require_relative "plain" unless defined?(Proctor::Plain)

module Proctor
  # The id of an example that stays the same while its file and its descriptions do. The host computes the same ids, and tells
  # examples of equal descriptions apart.
  class StableExampleId
    LENGTH = 12

    def self.for(example)
      new(example.metadata).to_s
    end

    def initialize(metadata)
      @metadata = metadata
    end

    # For people: the file, then all descriptions.
    def to_s
      "#{file_path}::#{description_chain.join(" > ")}"
    end

    # For keys and file names.
    def to_hash
      Digest::SHA256.hexdigest(to_s)[0, LENGTH]
    end

    def file_path
      Plain.text((@metadata[:rerun_file_path] || @metadata[:file_path]).to_s)
    end

    # From the outermost group to the example; empty descriptions do not count.
    def description_chain
      chain = []
      described = @metadata
      while described
        chain.unshift(Plain.text(described[:description].to_s))
        # An example knows its group, a group the one around it.
        described = described[described.key?(:execution_result) ? :example_group : :parent_example_group]
      end
      chain.reject(&:empty?)
    end
  end
end
