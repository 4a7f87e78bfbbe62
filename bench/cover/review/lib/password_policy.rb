# frozen_string_literal: true

# Says what is wrong with a password.
class PasswordPolicy
  MINIMUM = 10
  COMMON = %w[password letmein qwertyuiop].freeze

  def initialize(minimum: MINIMUM, forbidden: COMMON)
    @minimum = minimum
    @forbidden = forbidden
  end

  def problems(password, username)
    found = []
    found << :too_short if password.length < @minimum
    found << :no_digit unless password.match?(/\d/)
    found << :common if @forbidden.include?(password.downcase)
    found << :contains_name if !username.empty? && password.downcase.include?(username.downcase)
    found
  end

  def acceptable?(password, username)
    problems(password, username).empty?
  end
end
