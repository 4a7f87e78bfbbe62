# frozen_string_literal: true

# Groups people by age and gives tickets their price.
class AgeGroup
  attr_reader :age

  def initialize(age)
    unless age.is_a?(Integer) && age.between?(0, 130)
      raise ArgumentError, "age must be between 0 and 130"
    end

    @age = age
  end

  def name
    case age
    when 0..2 then :infant
    when 3..17 then :child
    when 18..64 then :adult
    else :senior
    end
  end

  def ticket_price(full_price, member: false)
    price =
      case name
      when :infant then 0
      when :child, :senior then full_price / 2
      else full_price
      end
    member ? (price * 0.9).floor : price
  end

  def may_attend?(rating)
    return true if rating.nil? || rating == "G"

    rating == "R" ? age >= 17 : age >= 13
  end
end
