# frozen_string_literal: true

# Charges pending payments through the gateway, and gives money back.
class PaymentProcessor
  # Attempts after which somebody should look.
  MANY = 3
  public_constant :MANY

  # Processes a payment and says how it ended.
  # @param [Payment] payment
  def process(payment)
    user = payment.user

    # What is finished already is not charged again.
    case payment.status
    when :pending
      payment.attempts += 1
    when :completed
      return { status: :completed }
    when :failed
      return { status: :failed, error: "payment failed" }
    end
    return { status: :declined } unless PaymentGateway.charge(payment.amount)

    Webhook.payment_processed(payment.id)
    PaymentMailer.confirmation(user).deliver_later
    { status: :processed }
  end
  def refund(transaction)
    return { status: :ineligible } unless transaction.refundable?

    transaction.state = :refunded
    { status: :refunded, amount: transaction.amount }
  end
end
