# frozen_string_literal: true

# A temperature in degrees Celsius.
class Temperature
  include Comparable

  ABSOLUTE_ZERO = -273.15

  attr_reader :degrees

  def initialize(degrees)
    raise ArgumentError, "colder than absolute zero" if degrees < ABSOLUTE_ZERO

    @degrees = degrees
  end

  def self.from_fahrenheit(fahrenheit)
    new(((fahrenheit - 32) * 5.0 / 9).round(2))
  end

  def <=>(other)
    degrees <=> other.degrees
  end

  def +(other)
    Temperature.new(degrees + other.degrees)
  end

  def freezing?
    degrees <= 0
  end

  def comfort
    if degrees < 10
      :cold
    elsif degrees <= 25
      :pleasant
    else
      :hot
    end
  end

  def to_s
    "#{degrees} °C"
  end
end
