# frozen_string_literal: true

# Money that moved.
class Transaction
  attr_reader :amount
  attr_accessor :state

  def initialize(amount, state = :settled)
    @amount = amount
    @state = state
  end

  def refundable?
    state == :settled && amount.positive?
  end
end
