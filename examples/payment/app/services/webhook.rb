# frozen_string_literal: true

# Tells other systems.
module Webhook
  def self.payment_processed(id)
    "processed #{id}"
  end
end
