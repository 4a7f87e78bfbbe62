# frozen_string_literal: true

require "json"
require "net/http"

# Asks a service for exchange rates.
class ExchangeRates
  class Unavailable < StandardError; end

  def initialize(host = "rates.example.com")
    @host = host
  end

  def rate(from, to)
    return 1.0 if from == to

    response = Net::HTTP.get_response(URI("https://#{@host}/latest?base=#{from}"))
    case response
    when Net::HTTPSuccess
      JSON.parse(response.body).fetch("rates")[to]
    when Net::HTTPNotFound
      nil
    else
      raise Unavailable, "the service answered #{response.code}"
    end
  rescue Timeout::Error
    raise Unavailable, "the service did not answer"
  end
end
