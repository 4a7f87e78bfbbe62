# frozen_string_literal: true

# Durations such as "1h 30m" as numbers of seconds, and back.
module DurationText
  UNITS = { "d" => 86_400, "h" => 3600, "m" => 60, "s" => 1 }.freeze

  class Malformed < ArgumentError; end

  module_function

  # @param text [String]
  # @return [Integer]
  def parse(text)
    parts = text.strip.split
    raise Malformed, "nothing to parse" if parts.empty?

    parts.sum { |part| seconds(part) }
  end

  # @param seconds [Integer]
  # @return [String]
  def format(seconds)
    return "0s" if seconds.zero?

    UNITS.filter_map do |unit, size|
      count, seconds = seconds.divmod(size)
      "#{count}#{unit}" if count.positive?
    end.join(" ")
  end

  def seconds(part)
    match = /\A(\d+)([dhms])\z/.match(part)
    raise Malformed, "cannot read #{part}" unless match

    match[1].to_i * UNITS.fetch(match[2])
  end
end
