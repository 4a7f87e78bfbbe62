# frozen_string_literal: true

# Letters to customers.
class PaymentMailer
  Letter = Struct.new(:to) do
    def deliver_later = true
  end

  def self.confirmation(user)
    Letter.new(user)
  end
end
