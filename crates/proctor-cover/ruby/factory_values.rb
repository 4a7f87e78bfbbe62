# frozen_string_literal: true

# Values for the attributes of a stored object: what its enums, validators, columns and names ask for, and its states.
# Needs `define`, which makes the factory of another class known.
module ProctorFactoryValues
  MOMENT = "Time.utc(2024, 2, 29, 12)"
  DAY = "Date.new(2024, 2, 29)"
  STAMPS = %w[created_at updated_at created_on updated_on].freeze

  private

  def plain_columns(type)
    keys = type.reflect_on_all_associations(:belongs_to).flat_map { |one| [one.foreign_key.to_s, one.foreign_type.to_s] }
    type.columns.reject { |column| (keys + STAMPS + [type.primary_key, type.inheritance_column, type.locking_column]).include?(column.name) }
  end

  # What must be given: columns that hold something and have no default, what validators demand, and what it belongs to.
  def needed(type)
    columns = plain_columns(type).select { |column| !column.null && column.default.nil? && column.default_function.nil? }.map(&:name)
    demanded = type.validators.select { |one| %i[presence acceptance].include?(one.kind) && one.options.slice(:if, :unless, :on).empty? }.flat_map(&:attributes).map(&:to_s)
    owners = type.reflect_on_all_associations(:belongs_to).select { |one| required?(type, one) }.map { |one| one.name.to_s }
    (owners + columns + demanded).uniq.reject { |name| given_by_default?(type, name) }.select { |name| settable?(type, name) }
  end

  def given_by_default?(type, name)
    !type.new.public_send(name).nil? && type.columns_hash.key?(name) && type.new.tap(&:valid?).errors[name].empty?
  rescue StandardError
    false
  end

  def required?(type, one)
    return false if one.polymorphic?

    column = type.columns_hash[one.foreign_key.to_s]
    !one.options.fetch(:optional, !type.belongs_to_required_by_default) || (column && !column.null)
  end

  def settable?(type, name) = type.method_defined?("#{name}=")

  # The association whose key a column is.
  def owner_of(type, column)
    type.reflect_on_all_associations(:belongs_to).find { |one| one.foreign_key.to_s == column }&.name&.to_s
  end

  # The value that is tried in this turn for an attribute; nil if there is none left.
  def candidate(type, name, turn)
    association = type.reflect_on_association(name.to_sym)
    return turn.zero? && settable?(type, name) ? associated(association) : nil if association
    return nil unless settable?(type, name)

    code = candidates(type, name)[turn]
    code && { "kind" => "value", "name" => name, "code" => code }
  end

  def associated(association)
    return nil if association.collection?

    type = association.polymorphic? ? possible_owner(association) : association.klass
    factory = type && define(type.name)
    factory && { "kind" => "association", "name" => association.name.to_s, "factory" => factory }
  rescue NameError
    nil
  end

  # A class that says it may be the owner, or else any that can be made.
  def possible_owner(association)
    others = ActiveRecord::Base.descendants.select { |one| one.name && one != association.active_record && !one.abstract_class? }.sort_by(&:name)
    said = others.select { |one| one.reflect_on_all_associations.any? { |other| other.options[:as].to_s == association.name.to_s } }
    (said + others).uniq.find { |one| define(one.name) }
  end

  def candidates(type, name)
    (@candidates ||= {})[[type, name]] ||= begin
      list = listed(type, name)
      list = bounded(type, name) + matching(type, name) + by_name(type, name) + typed(type, name) if list.empty?
      confirmed = name[/\A(\w+)_confirmation\z/, 1]
      list = candidates(type, confirmed) if confirmed
      (list.map { |code| sized(type, name, code) } + %w[true 1 10 100] + ['"a"']).uniq
    end
  end

  def rules(type, name, kind) = type.validators_on(name).select { |one| one.kind == kind }

  # Values that an enum or a list allows.
  def listed(type, name)
    enum = type.defined_enums[name]
    return enum.keys.map { |key| symbol(key) } if enum

    rules(type, name, :inclusion).flat_map { |one| allowed(one.options[:in] || one.options[:within]) }.filter_map { |value| plain(value) }
  end

  def symbol(word) = word.match?(/\A[a-z_]\w*\z/i) ? ":#{word}" : ":#{word.inspect}"

  def allowed(list)
    case list
    when Range then [list.begin, list.end].compact
    when Enumerable then list.first(12)
    else []
    end
  end

  def plain(value)
    case value
    when Symbol then value.to_s.inspect
    when String, Numeric, true, false then value.inspect
    end
  end

  # Numbers within the bounds that validators set; a round one is what a reader expects.
  def bounded(type, name)
    found = rules(type, name, :numericality)
    return [] if found.empty?

    low = found.filter_map { |one| number(one, :greater_than)&.+(1) || number(one, :greater_than_or_equal_to) }.max
    high = found.filter_map { |one| number(one, :less_than)&.-(1) || number(one, :less_than_or_equal_to) }.min
    fits = ->(value) { (low.nil? || value >= low) && (high.nil? || value <= high) }
    [*found.filter_map { |one| number(one, :equal_to) }, *[10, 1, 0, 100, 2, 3].select(&fits), low, high].compact.uniq.map(&:inspect)
  end

  def number(rule, key) = rule.options[key].is_a?(Numeric) ? rule.options[key] : nil

  # Texts that a pattern accepts, those that fit the name first.
  def matching(type, name)
    rules(type, name, :format).flat_map do |one|
      pattern = one.options[:with]
      next [] unless pattern.is_a?(Regexp)

      named = ProctorNames.values(name).grep(/\A"/).map { |code| code[1...-1] }.select { |text| pattern.match?(text) }
      (named + ProctorSample.for(pattern, Random.new(7), 8)).map(&:inspect)
    end
  end

  def by_name(type, name)
    kind = type.type_for_attribute(name).type
    ProctorNames.values(name).select { |code| code != '""' && suits?(kind, code) }
  end

  def suits?(kind, code)
    case kind
    when :string, :text, nil then code.start_with?('"')
    when :integer, :big_integer, :decimal, :float then code.match?(/\A[1-9]/)
    else false
    end
  end

  def typed(type, name)
    case type.type_for_attribute(name).type
    when :string, :text, nil then [name.tr("_", " ").capitalize.inspect]
    when :integer, :big_integer then %w[1]
    when :decimal, :float then %w[10]
    when :boolean then %w[false true]
    when :date then [DAY]
    when :datetime, :timestamp, :time then [MOMENT]
    when :json, :jsonb then ["{}"]
    when :binary then ['"a"']
    else []
    end
  end

  # A text of a length that validators and the column allow.
  def sized(type, name, code)
    return code unless code.match?(/\A"[\w @.-]*"\z/)

    text = code[1...-1]
    found = rules(type, name, :length)
    least = found.filter_map { |one| number(one, :minimum) || number(one, :is) }.max || 0
    most = (found.filter_map { |one| number(one, :maximum) || number(one, :is) } + [type.columns_hash[name]&.limit].grep(Integer)).min || 255
    text *= (least / [text.length, 1].max.to_f).ceil if text.length < least
    text[0, most].inspect
  end

  def unique?(type, name)
    rules(type, name, :uniqueness).any? || type.connection.indexes(type.table_name).any? { |index| index.unique && Array(index.columns) == [name] }
  end

  # Codes in which `n` makes a value different.
  def sequences(code)
    case code
    when /\A"([^"@]*)@([^"]*)"\z/ then ["\"#{$1}\#{n}@#{$2}\""]
    when /\A"([^"%]*?)(\d+)([^\d"%]*)"\z/ then ["\"#{$1}\#{n}#{$3}\"", "format(\"#{$1}%0#{$2.length}d#{$3}\", n)"]
    when /\A"(.*)"\z/ then ["\"#{$1} \#{n}\"", "\"#{$1}\#{n}\"", "\"#{$1[0...-1]}\#{n}\""]
    when /\A\d+\z/ then ["n", "n + #{code.to_i - 1}"]
    else []
    end
  end

  # States that the columns themselves know: words of enums, switches, moments at which something happened.
  def own_states(type)
    plain = type.new
    plain_columns(type).flat_map do |column|
      name = column.name
      if type.defined_enums.key?(name) then other_words(type, plain, name)
      elsif type.type_for_attribute(name).type == :boolean then [switched(plain, name)]
      elsif name.end_with?("_at", "_on") && column.null then [{ "attribute" => name, "value" => "present", "trait" => name.sub(/_(?:at|on)\z/, "") }]
      else []
      end
    end
  end

  # Words of an enum. FactoryBot may know them by itself; a reader of the file does not.
  def other_words(type, plain, name)
    words = type.defined_enums[name].keys - [plain.public_send(name)]
    words.grep(/\A[a-z_]\w*\z/).map { |word| { "attribute" => name, "value" => word, "trait" => word, "named" => true } }
  end

  def switched(plain, name)
    on = plain.public_send(name) != true
    { "attribute" => name, "value" => on.to_s, "trait" => on ? name : "not_#{name}" }
  end

  # Code for the attribute in a state; nil where it cannot be set.
  def state_code(type, state)
    name, value = state.values_at("attribute", "value")
    return nil unless settable?(type, name) && type.attribute_names.include?(name)

    case value
    when "nil", "true", "false" then value
    when "present" then type.defined_enums.key?(name) ? nil : (listed(type, name) + typed(type, name)).first
    when "empty", "blank" then %i[string text].include?(type.type_for_attribute(name).type) ? '""' : nil
    else word_code(type, name, value)
    end
  end

  def word_code(type, name, value)
    return type.defined_enums[name].key?(value) ? symbol(value) : nil if type.defined_enums.key?(name)
    return value if value.match?(/\A-?\d+(?:\.\d+)?\z/)

    %i[string text].include?(type.type_for_attribute(name).type) ? value.inspect : nil
  end
end
