# frozen_string_literal: true

module Proctor
  # Turns arbitrary Ruby values into plain JSON-safe ones. Subclasses of String and Hash (such as
  # those of ActiveSupport) are copied into the core classes, because a JSON generator would call
  # their own `to_json`; anything unknown becomes its `to_s`.
  module Plain
    MAX_DEPTH = 20

    module_function

    def value(object, depth = 0)
      case object
      when nil, true, false, Integer then object
      when Float then object.finite? ? object : object.to_s
      when String then text(object)
      when Symbol then text(object.name)
      when Hash then hash(object, depth)
      when Array then array(object, depth)
      else other(object, depth)
      end
    end

    # A valid UTF-8 string of class String. Bytes of no known encoding are read as UTF-8.
    def text(string)
      string = String.new(string) unless string.instance_of?(String)
      if string.encoding == Encoding::UTF_8 || string.encoding == Encoding::US_ASCII
        return string if string.valid_encoding?
      elsif string.encoding != Encoding::BINARY
        return string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      end
      string.dup.force_encoding(Encoding::UTF_8).scrub
    rescue EncodingError
      string.dup.force_encoding(Encoding::UTF_8).scrub
    end

    # A text of about `limit` bytes at most; one that was cut says how long it was.
    def limited(string, limit)
      string = text(string)
      return string if string.bytesize <= limit

      "#{string.byteslice(0, limit).scrub("")}… (#{string.bytesize} bytes in all)"
    end

    def hash(object, depth)
      return "…" if depth >= MAX_DEPTH

      object.each_with_object({}) do |(key, entry), result|
        result[text(key.to_s)] = value(entry, depth + 1)
      end
    end

    def array(object, depth)
      return "…" if depth >= MAX_DEPTH

      object.map { |entry| value(entry, depth + 1) }
    end

    # Times become RFC 3339 in UTC; records (Struct, Data) become objects; the rest is shown as text.
    def other(object, depth)
      case object
      when ::Time then object.getutc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
      when Struct then hash(object.to_h, depth)
      when Module then text(object.name || object.to_s)
      else
        object.respond_to?(:to_h) && !object.is_a?(Enumerable) ? hash(object.to_h, depth) : text(object.to_s)
      end
    rescue StandardError
      "(#{object.class} that cannot be shown)"
    end
  end
end
