# frozen_string_literal: true

# What a call asks of the database: how many queries it makes, and whether it validates an object. Which objects of a factory a
# call needs is decided by it. Without ActiveRecord nothing here does anything.
module ProctorQueries
  @count = 0
  @validated = false

  class << self
    # Queries of the call so far, and whether it validated an object.
    attr_reader :count, :validated

    # To be called once, when the database is there.
    def install
      return unless ProctorDatabase.active?

      ActiveSupport::Notifications.subscribe("sql.active_record") { |*, payload| @count += 1 unless aside?(payload) }
      ActiveRecord::Base.prepend(Validating)
    end

    def validating = @validated = true

    # Before the call itself.
    def count_from_here
      @count = 0
      @validated = false
    end

    private

    def aside?(payload) = payload[:cached] || %w[SCHEMA TRANSACTION].include?(payload[:name]) || payload[:sql].to_s.match?(/\A\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/i)
  end

  # Notices that an object is validated.
  module Validating
    private

    def run_validations!
      ProctorQueries.validating
      super
    end
  end
end
