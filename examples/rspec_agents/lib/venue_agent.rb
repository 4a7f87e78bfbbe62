# frozen_string_literal: true

# A small booking agent: it understands by rules, looks venues up in a table, and remembers what it was told. Put your own in
# its place; all that the specs need of it is `chat`.
class VenueAgent
  Venue = Struct.new(:id, :name, :city, :guests, :price)

  VENUES = [
    Venue.new("b1", "Spreespeicher", "Berlin", 60, 900),
    Venue.new("b2", "Kupferhof", "Berlin", 80, 1200),
    Venue.new("v1", "Donausaal", "Vienna", 100, 2400)
  ].freeze

  # Called by `agent VenueAgent`; the context knows the example, and what `super(...)` added.
  def self.build(context)
    new(discount: context[:discount] || 0)
  end

  attr_reader :bookings

  def initialize(discount: 0)
    @discount = discount
    @bookings = []
    forget
  end

  # The messages so far, as {role:, content:}; `on_tool_call` is told of every tool as it is used.
  def chat(messages, on_tool_call: nil)
    @on_tool_call = on_tool_call
    said = messages.last[:content]
    learn(said)
    return book if @offer && said.match?(/\b(yes|book it)\b/i)
    return "The price stays at €#{price(@offer)}." if @offer && said.match?(/discount|cheaper|half price/i)
    return "That is private; I can tell nobody about other bookings." if said.match?(/who else|other customers/i)

    missing || offer
  end

  # The example is over.
  def reset!
    forget
  end

  # Recorded with every answer.
  def metadata
    { version: "1.2" }
  end

  private

  def forget
    @city = @guests = @offer = nil
  end

  def learn(said)
    @city = said[/berlin|vienna/i]&.capitalize || @city
    @guests = said[/\d+/]&.to_i || @guests
  end

  def missing
    return "Which city is it to be?" unless @city
    return "#{@city}, noted. For how many people?" unless @guests
  end

  def offer
    found = tool(:search_venues, city: @city, guests: @guests) { |wish| search(wish) }
    @offer = VENUES.find { |venue| venue.id == found.first&.fetch(:id) }
    return "I am sorry, there is nothing for #{@guests} people in #{@city}." unless @offer

    "I can offer #{@offer.name} for €#{price(@offer)}. Shall I book it?"
  end

  def book
    booking = tool(:book_venue, venue_id: @offer.id, guests: @guests) { { reference: "R-#{@bookings.size + 1}", total: price(@offer) } }
    @bookings << booking
    "Booked: #{@offer.name}. Your reference is #{booking[:reference]}."
  end

  def search(wish)
    fitting = VENUES.select { |venue| venue.city == wish[:city] && venue.guests >= wish[:guests] }
    fitting.map { |venue| { id: venue.id, name: venue.name, price: price(venue) } }
  end

  def price(venue)
    venue.price - @discount
  end

  def tool(name, **arguments)
    result = yield(arguments)
    @on_tool_call&.call(name: name, arguments: arguments, result: result)
    result
  end
end
