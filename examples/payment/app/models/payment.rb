# frozen_string_literal: true

Payment = Struct.new(:id, :status, :amount, :user, :attempts)
