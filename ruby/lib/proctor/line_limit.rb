# frozen_string_literal: true

require_relative "native"
require_relative "plain"

module Proctor
  # Makes a message fit one line of the protocol. Long texts are cut first, then long lists; each says
  # how long it was. What names the message and its example is never cut, so that a result always
  # reaches the host, whatever the test put into it.
  module LineLimit
    TEXTS = [1 << 20, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 1 << 10, 1 << 8].freeze
    ENTRIES = [10_000, 1_000, 100, 10].freeze
    KEPT = %w[type event_type reply_to id key repeat attempt status code].to_h { |name| [name, true] }.freeze

    module_function

    # JSON of at most `limit` bytes.
    def json(message, limit)
      line = encode(message)
      return line if line.bytesize <= limit

      message = Plain.value(message)
      shorter(message, limit) || encode(bare(message, line.bytesize))
    end

    def encode(message)
      Native.json(message)
    rescue StandardError # a value that is not plain, or a text that is not valid UTF-8
      Native.json(Plain.value(message))
    end

    def shorter(message, limit)
      [*TEXTS.map { |most| [most, nil] }, *ENTRIES.map { |most| [TEXTS.last, most] }].each do |text, entries|
        line = Native.json(cut(message, text, entries))
        return line if line.bytesize <= limit
      end
      nil
    end

    def cut(value, text, entries)
      case value
      when String then Plain.limited(value, text)
      when Array then cut_list(value, text, entries)
      when Hash then cut_hash(value, text, entries)
      when Integer then value.bit_length > text * 3 ? Plain.limited(value.to_s, text) : value
      else value
      end
    end

    def cut_list(list, text, entries)
      kept = entries ? list.first(entries) : list
      result = kept.map { |entry| cut(entry, text, entries) }
      kept.size < list.size ? result << "… (#{list.size} entries in all)" : result
    end

    def cut_hash(hash, text, entries)
      kept = entries && hash.size > entries ? hash.select.with_index { |(key, _), place| KEPT[key] || place < entries } : hash
      result = kept.to_h { |key, entry| [Plain.limited(key, text), KEPT[key] && !entry.is_a?(Hash) ? entry : cut(entry, text, entries)] }
      result["…"] = "#{hash.size} entries in all" if kept.size < hash.size
      result
    end

    # Deeply nested lists of lists can defeat every bound; then only the names are left.
    def bare(message, size)
      result = message.select { |name, value| KEPT[name] && !value.is_a?(Hash) }
      payload = message["payload"]
      note = "a message of #{size} bytes was too large and is left out but for its names"
      result["payload"] = payload.select { |name, _| KEPT[name] }.merge("message" => note) if payload.is_a?(Hash)
      result["message"] = note
      result["error"] = { "code" => "too_large", "message" => note } if result["reply_to"]
      result
    end
  end
end
