# frozen_string_literal: true

require_relative "../line_limit"

module Proctor
  module Runner
    # The examples of the loaded project, in the order in which one worker would run them. Built once, before the first
    # fork; workers look examples up by key.
    #
    # A framework derives its own, which fills the list with `add` and tells in `description` what `list` says of an
    # entry. Every entry has a `key`, the same as JSON (`key_json`) and a `unit`.
    class Manifest
      BATCH = 250
      BATCH_BYTES = 1 << 20
      # Of one example alone; below the limit of a line, so that a path that is long but distinct stays whole.
      EXAMPLE_BYTES = 6 << 20

      # FNV-1a over eight bytes at a time.
      def self.digest_of(text)
        packed = text.b
        packed << "\0" * (-packed.bytesize % 8)
        format("%016x", packed.unpack("Q<*").inject(0xcbf29ce484222325) do |hash, word|
          ((hash ^ word) * 0x100000001b3) & 0xffffffffffffffff
        end)
      end

      attr_reader :entries, :units

      def initialize
        @entries = []
        @units = []
        @by_key = {}
      end

      # Into how many pieces the work can be cut.
      def pieces
        @units.size + @entries.count { |entry| entry.unit.nil? }
      end

      def [](key)
        @by_key[key]
      end

      # Yields finished lines of the protocol, each with some of the examples: no more than a line can hold,
      # however long their descriptions are.
      def each_batch(entries = @entries, type: "examples", &line)
        entries.each_slice(BATCH) do |slice|
          descriptions = slice.map { |entry| description(entry) }
          # Nearly always they fit together; one generator for all is much faster than one for each.
          texts = together(descriptions)
          texts ? line.call(examples_line(type, texts)) : one_by_one(descriptions, type, &line)
        end
      end

      # Changes when any key or their order does: workers that load on their own must agree.
      def digest
        Manifest.digest_of(@entries.map(&:key).join("\n"))
      end

      private

      # Adds the entry that the block makes of a unique key and the same as JSON.
      def add(id)
        key = unique(Plain.text(id))
        @entries << (@by_key[key] = yield(key, json(key).freeze))
      end

      PLAIN_KEY = /\A[ !#-\[\]-~]*\z/
      private_constant :PLAIN_KEY

      def json(key)
        PLAIN_KEY.match?(key) ? "\"#{key}\"" : Native.json(key)
      end

      # Ids of a framework are unique in practice; should two be equal, both must still be runnable.
      def unique(id)
        return id unless @by_key.key?(id)

        number = 2
        number += 1 while @by_key.key?("#{id}~#{number}")
        "#{id}~#{number}"
      end

      # The JSON of a list of descriptions; nil if it is too large, or one of them is not plain.
      def together(descriptions)
        list = Native.json(descriptions)
        list if list.bytesize <= BATCH_BYTES
      rescue StandardError
        nil
      end

      def one_by_one(descriptions, type)
        batch = []
        bytes = 0
        descriptions.each do |description|
          text = LineLimit.json(description, EXAMPLE_BYTES)
          if bytes + text.bytesize > BATCH_BYTES && !batch.empty?
            yield(examples_line(type, "[#{batch.join(",")}]"))
            batch = []
            bytes = 0
          end
          batch << text
          bytes += text.bytesize
        end
        yield(examples_line(type, "[#{batch.join(",")}]"))
      end

      # `list` is finished JSON.
      def examples_line(type, list)
        %({"type":"#{type}","examples":#{list}})
      end
    end
  end
end
