# frozen_string_literal: true

# A parcel on its way from a shop to a customer.
class Parcel
  class WrongState < StandardError; end

  attr_reader :state, :attempts

  def initialize
    @state = :packed
    @attempts = 0
  end

  def ship
    require_state(:packed)
    @state = :shipped
  end

  def deliver(signed_by)
    require_state(:shipped)
    if signed_by.nil?
      @attempts += 1
      @state = :returned if @attempts >= 3
    else
      @state = :delivered
    end
    @state
  end

  def finished?
    %i[delivered returned].include?(@state)
  end

  private

  def require_state(expected)
    return if @state == expected

    raise WrongState, "the parcel is #{@state}, not #{expected}"
  end
end
