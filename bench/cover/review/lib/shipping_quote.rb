# frozen_string_literal: true

# The price of sending a package.
class ShippingQuote
  ZONES = { "DE" => :domestic, "AT" => :europe, "FR" => :europe, "US" => :world }.freeze
  BASE = { domestic: 490, europe: 1290, world: 2990 }.freeze

  Unknown = Class.new(StandardError)

  def initialize(country, weight_grams, express: false)
    @country = country
    @weight_grams = weight_grams
    @express = express
  end

  def zone
    ZONES.fetch(@country) { raise Unknown, "no service to #{@country}" }
  end

  def cents
    price = BASE.fetch(zone)
    price += ((@weight_grams - 1000) / 500.0).ceil * 150 if @weight_grams > 1000
    price *= 2 if @express
    price
  end

  def label
    "#{zone}#{' express' if @express}"
  end

  def free?(order_total)
    zone == :domestic && !@express && order_total >= 5_000
  end
end
