# frozen_string_literal: true

# Reserves a seat of a show for a guest and tells the guest about it.
class ReserveSeat
  class SoldOut < StandardError; end

  Result = Struct.new(:status, :seat, keyword_init: true)

  def initialize(shows:, payments:, mailer:)
    @shows = shows
    @payments = payments
    @mailer = mailer
  end

  def call(show_id, guest_email)
    return Result.new(status: :invalid) if guest_email.nil? || guest_email.empty?

    show = @shows.find(show_id)
    return Result.new(status: :unknown_show) if show.nil?

    seat = show.next_free_seat
    raise SoldOut, "no seat is left" if seat.nil?

    receipt = @payments.charge(show.price_cents, guest_email)
    return Result.new(status: :declined) unless receipt.paid?

    @mailer.deliver_ticket(guest_email, seat)
    Result.new(status: :reserved, seat: seat)
  end
end
