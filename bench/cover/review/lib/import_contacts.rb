# frozen_string_literal: true

require "csv"

# Reads contacts from a CSV text and keeps those that are usable.
class ImportContacts
  Outcome = Struct.new(:created, :skipped, :errors, keyword_init: true)

  # @param repository [#exists?, #create]
  # @param logger [Logger]
  def initialize(repository, logger: nil)
    @repository = repository
    @logger = logger
  end

  # @param csv [String] a text with the columns name and email
  def call(csv)
    outcome = Outcome.new(created: 0, skipped: 0, errors: [])
    CSV.parse(csv, headers: true).each.with_index(2) do |row, line|
      if row["email"].to_s !~ /\A[^@\s]+@[^@\s]+\z/
        outcome.errors << "line #{line}: invalid email"
      elsif @repository.exists?(email: row["email"])
        outcome.skipped += 1
      else
        @repository.create(name: row["name"], email: row["email"])
        outcome.created += 1
      end
    end
    @logger&.info("imported #{outcome.created}")
    outcome
  end
end
