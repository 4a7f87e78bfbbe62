# frozen_string_literal: true

# Values that an object of the example has, so that the example names the object instead of the value.
# Needs `@binding`, `@locals` and `@render`.
module ProctorRecordSights
  # A text that is long enough to be known again.
  LONG = 5

  private

  # Code for a value that an object of the example has: its identifier, or a text that is another one every time.
  def of_record(value)
    return value.map { |item| of_record(item) || @render.code(item) }.then { |codes| "[#{codes.join(', ')}]" if codes.all? } if Array === value && value.length == 1 && String === value.first
    return nil unless ProctorDatabase.active? && (Integer === value || ProctorRecords.record?(value) || (String === value && value.length >= LONG))

    reachable.each do |code, object|
      return code if ProctorRecords.record?(value) && value == object
      return "#{code}.id" if Integer === value && object.id == value

      column = String === value ? object.attributes.key(value) : nil
      return "#{code}.#{column}" if column
    end
    nil
  end

  # Objects of the example, and those that belong to them: {code => object}.
  def reachable
    own = (@locals || []).to_h { |name| [name, @binding.local_variable_get(name)] }.select { |_, object| ProctorRecords.record?(object) }
    own.flat_map do |name, object|
      others = object.class.reflect_on_all_associations(:belongs_to).filter_map { |one| (found = object.public_send(one.name)) && ["#{name}.#{one.name}", found] }
      [[name, object], *others]
    end.to_h
  rescue StandardError
    {}
  end
end
