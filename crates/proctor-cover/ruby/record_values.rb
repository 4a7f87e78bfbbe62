# frozen_string_literal: true

require_relative "names"
require_relative "sample"

# Attributes with which stored objects (ActiveRecord) are valid, as Ruby code: from columns, enums, validators and associations,
# checked by making the object. Then objects that differ in one attribute, that have others belonging to them, or that are invalid.
class ProctorRecordValues
  # How deep objects that others belong to are made.
  DEPTH = 4
  # Attempts to satisfy a class; values tried for one attribute.
  ROUNDS = 12
  EACH = 24
  DATES = ["Date.new(2024, 2, 29)", "Date.new(2001, 1, 1)", "Date.new(2150, 1, 1)"].freeze
  TIMES = ["Time.utc(2024, 2, 29, 12)", "Time.utc(2001, 1, 1)", "Time.utc(2150, 1, 1)"].freeze
  # Texts that many patterns accept.
  KNOWN = ["user@example.com", "https://example.com", "example.com", "name", "Name", "AB12", "2024-02-29"].freeze
  VOLATILE = %w[created_at updated_at created_on updated_on lock_version].freeze

  # Why objects of a class cannot be stored: {class name => reason}.
  attr_reader :failures

  def initialize(literals)
    @literals = literals
    @made = {}
    # How many others were above when nothing was found.
    @failed = {}
    @failures = {}
    @place = ProctorScope.new.place
  end

  # Code of a stored object; another `turn` differs in what must be unique. Nil if none could be made.
  def stored(record, turn = 0) = written(record, "create!", valid(record, turn))

  # The same, not stored.
  def built(record, turn = 0) = written(record, "new", valid(record, turn))

  # Objects worth trying, the plainest first.
  def instances(record)
    base = valid(record, 0)
    return ["#{record.name}.new"] unless base

    changed = variants(record, base)
    codes = [built(record), stored(record)]
    codes.concat(changed.first(60).map { |one| written(record, "create!", one) })
    codes.concat(with_children(record).first(20))
    codes.concat(changed.first(12).map { |one| written(record, "new", one) })
    codes.concat(invalid(record, base).map { |one| written(record, "new", one) })
    codes.compact.uniq
  end

  # Columns of a class whose default is this value.
  def holding(name, value)
    record = ProctorDatabase.records.find { |one| one.name == name }
    return [] unless record

    own_columns(record).select { |column| same?(record.column_defaults[column], value) }
  end

  # Rows that may be there before a call: one of each kind, then two.
  def rows(record)
    base = valid(record, 0)
    return [] unless base

    other = valid(record, 1)
    single = [base, *variants(record, base).first(12)].map { |one| written(record, "create!", one) }
    pairs = other ? variants(record, other).first(4).unshift(other).map { |one| "#{single.first}; #{written(record, 'create!', one)}" } : []
    (single.first(1) + pairs.first(1) + single.drop(1) + pairs.drop(1)).uniq
  end

  # Stored objects that differ from all others in what must be unique: they may be there beside them.
  def beside(record)
    base = valid(record, 1)
    return [] unless base

    chosen = [base, *differing(record).first(20).map { |name, code| base.merge(name => code) }].uniq
    chosen.select { |one| one == base || trouble_with(record, one).empty? }.map { |one| written(record, "create!", one) }
  end

  # {attribute => code} that makes a valid object; nil if none was found.
  def valid(record, turn, above = [])
    key = [record, turn]
    return @made[key] if @made[key]
    # What failed far below others may have failed because it was far below.
    return nil if above.length >= DEPTH || above.include?(record) || above.length >= @failed.fetch(key, DEPTH)

    @made[key] = satisfied(record, turn, above + [record])
    @failed[key] = above.length unless @made[key]
    @made[key]
  end

  private

  def same?(one, other) = one == other && (one.nil? || one.is_a?(String) == other.is_a?(String))

  def written(record, verb, attributes)
    return nil unless attributes

    list = attributes.map { |name, code| "#{name}: #{code}" }.join(", ")
    "#{record.name}.#{verb}#{"(#{list})" unless list.empty?}"
  end

  def satisfied(record, turn, above)
    chosen = {}
    ROUNDS.times do
      trouble = trouble_with(record, chosen)
      return distinct(record, chosen, turn, above) if trouble.empty?

      fixed = trouble.count { |name| choose(record, name, chosen, turn, above) }
      break if fixed.zero?
    end
    @failures[record.name] = "no valid attributes were found (#{@reason})"
    nil
  end

  # Attributes that are wrong, or that the table refuses to be without.
  def trouble_with(record, chosen)
    attempt do
      made = build(written(record, "new", chosen))
      unless made.valid?
        @reason = made.errors.full_messages.first
        next made.errors.attribute_names.map(&:to_s)
      end

      made.save!
      []
    end
  rescue ActiveRecord::NotNullViolation => e
    @reason = e.message.lines.first.strip
    [e.message[/\.(\w+)\s*\z/, 1] || e.message[/constraint failed: \w+\.(\w+)/, 1]].compact
  rescue StandardError, ScriptError => e
    @reason = "#{e.class}: #{e.message.lines.first.to_s.strip}"
    missing = chosen.empty? ? needed(record) | belongs(record) : []
    missing.empty? ? ["base"] : missing
  end

  # What it belongs to: a callback may ask it before any rule does.
  def belongs(record) = record.reflect_on_all_associations(:belongs_to).map { |one| one.name.to_s }

  # Columns that must hold something.
  def needed(record)
    record.columns.reject { |column| column.null || column.default || column.name == record.primary_key || VOLATILE.include?(column.name) }.map { |column| owner_of(record, column.name) || column.name }
  end

  # Runs with a transaction of its own that is taken back.
  def attempt
    result = nil
    ProctorDatabase.forget_request
    ActiveRecord::Base.transaction(requires_new: true, joinable: false) do
      result = yield
      raise ActiveRecord::Rollback
    end
    result
  end

  def build(code) = @place.eval("# frozen_string_literal: true\n#{code}")

  # The first value with which the attribute is not wrong any more; says whether there is one.
  def choose(record, name, chosen, turn, above)
    return choose_part(record, name, chosen, turn, above) if name.include?(".")

    name = owner_of(record, name) || writable(record, name)
    candidates(record, name, turn, above).first(EACH).each do |code|
      next if chosen[name] == code

      wrong = trouble_with(record, chosen.merge(name => code))
      next if wrong.include?(name) || wrong.include?("base")

      chosen[name] = code
      return true
    end
    made_first(record, name, chosen, turn, above) || with_owners(record, name, chosen, turn, above)
  end

  # Something asks for what the object belongs to, though no rule does: it belongs to all that it could belong to.
  def with_owners(record, name, chosen, turn, above)
    owners = belongs(record) - chosen.keys - [name]
    codes = owners.to_h { |owner| [owner, candidates(record, owner, turn, above).find { |code| code.include?(".create!") }] }.compact
    return false if codes.empty?

    candidates(record, name, turn, above).first(3).each do |code|
      full = codes.merge(chosen, name => code)
      wrong = trouble_with(record, full)
      next if wrong.include?(name) || wrong.include?("base")

      chosen.replace(full)
      return true
    end
    false
  end

  # An object that must be there before the others that are made: they may find it.
  def made_first(record, name, chosen, turn, above)
    return false if chosen.empty? || record.reflect_on_association(name).nil?

    candidates(record, name, turn, above).first(EACH).each do |code|
      first = { name => code }.merge(chosen.except(name))
      wrong = trouble_with(record, first)
      next if wrong.include?(name) || wrong.include?("base")

      chosen.replace(first)
      return true
    end
    false
  end

  # What is wrong with an associated object (`address.city`): one is made with that attribute.
  def choose_part(record, name, chosen, turn, above)
    association, attribute = name.split(".", 2)
    one = record.reflect_on_association(association)
    return false if one.nil? || one.collection? || one.polymorphic? || !attribute.match?(/\A[a-z_]\w*\z/)

    candidates(one.klass, attribute, turn, above + [record]).first(EACH).each do |value|
      value = another(value, turn) || value if turn.positive?
      code = "#{one.klass.name}.new(#{attribute}: #{value})"
      wrong = trouble_with(record, chosen.merge(association => code))
      next if wrong.include?(name) || wrong.include?("base")

      chosen[association] = code
      return true
    end
    false
  end

  # An error about `role` may be one of `roles`.
  def writable(record, name)
    return name if record.column_names.include?(name)

    [name, name.pluralize, name.singularize].find { |other| record.method_defined?("#{other}=") && record.instance_method("#{other}=").arity.abs == 1 } || name
  end

  # The association whose key a column is.
  def owner_of(record, column)
    record.reflect_on_all_associations(:belongs_to).find { |one| one.foreign_key.to_s == column.to_s }&.name&.to_s
  end

  # What must be unique is changed in another turn.
  def distinct(record, chosen, turn, above)
    return chosen if turn.zero?

    changed = chosen.to_h do |name, code|
      association = record.reflect_on_association(name)
      next [name, code] if association || !unique?(record, name)

      [name, candidates(record, name, 0, above).flat_map { |one| [another(one, turn)] }.compact.find { |one| one != code && fits?(record, chosen, name, one) } || code]
    end
    trouble_with(record, changed).empty? ? changed : chosen
  end

  def fits?(record, chosen, name, code) = trouble_with(record, chosen.merge(name => code)).empty?

  def unique?(record, name)
    validators(record, name).any? { |one| one.kind == :uniqueness } ||
      record.connection.indexes(record.table_name).any? { |index| index.unique && Array(index.columns).include?(name) }
  end

  def another(code, turn)
    case code
    when /\A"(.*)@(.*)"\z/ then "\"#{$1}#{turn + 1}@#{$2}\""
    when /\A"(.*)"\z/ then "\"#{$1}#{turn + 1}\""
    when /\A\d+\z/ then (code.to_i + turn).to_s
    end
  end

  def candidates(record, name, turn, above)
    association = record.reflect_on_association(name)
    return parents(association, turn, above) if association

    list = listed(record, name)
    list = bounded(record, name) + matching(record, name) + by_name(record, name) + typed(record, name) if list.empty?
    list = list.map { |code| sized(record, name, code) } + ["true", '"a"', "1"]
    list.compact.uniq
  end

  # Objects that one of this class belongs to.
  def parents(association, turn, above)
    return [] if association.polymorphic? && !(type = some_record(association, above))

    # A class that others descend from may not be meant to be stored itself.
    targets = association.polymorphic? ? [type] : [association.klass, *association.klass.descendants.select(&:name).sort_by(&:name).first(3)]
    # Another one of the same kind may be there already: then what must be unique differs.
    turns = turn.zero? && !association.collection? ? [0, 1] : [turn]
    codes = turns.product(targets).filter_map { |place, target| (attributes = valid(target, place, above)) && written(target, association.collection? ? "new" : "create!", attributes) }.uniq
    association.collection? ? codes.map { |code| "[#{code}]" } : codes
  rescue NameError
    []
  end

  # One of those that say so of themselves (`has_many :comments, as: :commented`), else any.
  def some_record(association, above)
    named, others = ProctorDatabase.records.partition { |one| one.reflect_on_all_associations.any? { |other| other.options[:as] == association.name } }
    (named + others).find { |one| !above.include?(one) && valid(one, 0, above) }
  end

  def validators(record, name) = record.validators_on(name)

  # Values that an enum or a list allows.
  def listed(record, name)
    enum = record.defined_enums[name.to_s]
    return enum.keys.map { |key| key.match?(/\A[a-z_]\w*\z/i) ? ":#{key}" : key.inspect } if enum

    rules = validators(record, name).select { |one| one.kind == :inclusion }
    values = rules.flat_map { |one| allowed(given_list(record, one.options[:in] || one.options[:within])) }
    values.map { |value| value.is_a?(Symbol) ? value.to_s.inspect : plain(value) }.compact
  end

  # A list may be found out for each object.
  def given_list(record, list)
    return record.new.send(list) if list.is_a?(Symbol)
    return list unless list.respond_to?(:call)

    list.arity.zero? || list.arity == -1 ? list.call : list.call(record.new)
  rescue StandardError, ScriptError
    []
  end

  def allowed(list)
    case list
    when Range then [list.begin, list.end].compact
    when Enumerable then list.first(8)
    else []
    end
  end

  def plain(value) = value.is_a?(String) || value.is_a?(Numeric) || [true, false, nil].include?(value) ? value.inspect : nil

  # Numbers within the bounds of validators.
  def bounded(record, name)
    rules = validators(record, name).select { |one| one.kind == :numericality }
    return [] if rules.empty?

    low = rules.filter_map { |one| number(one.options[:greater_than])&.+(1) || number(one.options[:greater_than_or_equal_to]) }.max
    high = rules.filter_map { |one| number(one.options[:less_than])&.-(1) || number(one.options[:less_than_or_equal_to]) }.min
    same = rules.filter_map { |one| number(one.options[:equal_to]) }
    # A round number is what a reader expects.
    [*same, *[10, 1, 0, 100].select { |value| (low.nil? || value >= low) && (high.nil? || value <= high) }, low, high].compact.map(&:inspect)
  end

  def number(value) = value.is_a?(Numeric) ? value : nil

  # Texts that a pattern accepts.
  def matching(record, name)
    rules = validators(record, name).select { |one| one.kind == :format }
    rules.flat_map do |one|
      pattern = one.options[:with]
      next [] unless pattern.is_a?(Regexp)

      # What a reader knows comes before what only the pattern knows.
      ((ProctorNames.values(name).grep(/\A"/).map { |code| code[1...-1] } + KNOWN).select { |text| pattern.match?(text) } + ProctorSample.for(pattern, Random.new(7), 6)).map(&:inspect)
    end
  end

  def by_name(record, name)
    type = record.type_for_attribute(name).type
    ProctorNames.values(name).select { |code| code != '""' && (type.nil? || suits?(type, code)) }
  end

  def suits?(type, code)
    case type
    when :string, :text then code.start_with?('"')
    when :integer, :decimal, :float, :big_integer then code.match?(/\A-?\d/)
    else false
    end
  end

  def typed(record, name)
    case record.type_for_attribute(name).type
    when :string, :text, nil, :binary then [name.to_s.tr("_", " ").capitalize.inspect]
    when :integer, :big_integer then %w[1 10]
    when :decimal, :float then %w[10 1.5]
    when :boolean then %w[true false]
    when :date then DATES
    when :datetime, :time, :timestamp then TIMES
    when :json, :jsonb then ["{}"]
    else []
    end
  end

  # A text of a length that validators and the column allow.
  def sized(record, name, code)
    return code unless code.is_a?(String) && code.match?(/\A"[\w @.-]*"\z/)

    text = code[1...-1]
    rules = validators(record, name).select { |one| one.kind == :length }
    least = rules.filter_map { |one| number(one.options[:minimum] || one.options[:is]) }.max || 0
    most = (rules.filter_map { |one| number(one.options[:maximum] || one.options[:is]) } + [record.columns_hash[name.to_s]&.limit].grep(Integer)).min || 255
    text = (text * (least / [text.length, 1].max + 1))[0, least] if text.length < least
    text[0, most].inspect
  end

  # The same object with one attribute changed: other words of enums, the opposite, nothing, other numbers and days.
  def variants(record, base)
    found = differing(record).map { |name, code| base.merge(name => code) }
    full = everything(record, base)
    found.unshift(full) if full
    owners(record, base).each { |one| found << one }
    found.uniq.select { |one| one != base && trouble_with(record, one).empty? }
  end

  # Every attribute said, so that each can be changed by what it is compared with.
  def everything(record, base)
    full = own_columns(record).to_h { |name| [name, base[name] || candidates(record, name, 0, [record]).first] }.compact
    full = base.merge(full)
    trouble_with(record, full).empty? ? full : nil
  end

  def differing(record)
    lists = own_columns(record).map do |name|
      values = listed(record, name)
      values = other_values(record, name) if values.empty?
      values.first(12).map { |code| [name, code] }
    end
    # Words of a list are what code asks for most; then one of each by turns.
    words, lists = lists.partition { |list| list.any? && listed(record, list.first.first).any? }
    words.flat_map { |list| list.first(8) } + (0...lists.map(&:length).max.to_i).flat_map { |place| lists.filter_map { |list| list[place] } }
  end

  def other_values(record, name)
    column = record.columns_hash[name]
    case record.type_for_attribute(name).type
    when :boolean then %w[true false]
    when :integer, :big_integer then %w[1 0 100 -1 100_000]
    when :decimal, :float then %w[10 0 100 -1 0.5 100_000]
    when :date then DATES
    when :datetime, :timestamp then TIMES
    else typed(record, name) + by_name(record, name) + (column&.null ? ["nil"] : []) + ['""']
    end
  end

  # Columns that somebody would set.
  def own_columns(record)
    keys = record.reflect_on_all_associations(:belongs_to).flat_map { |one| [one.foreign_key.to_s, one.foreign_type.to_s] }
    record.column_names - keys - VOLATILE - [record.primary_key, record.inheritance_column] - counters(record)
  end

  def counters(_record) = []

  # The same for another kind of object that it belongs to.
  def owners(record, base)
    record.reflect_on_all_associations(:belongs_to).reject(&:polymorphic?).flat_map do |one|
      target = one.klass
      inner = valid(target, 0)
      next [] if inner.nil? || target == record

      given = base.key?(one.name.to_s) ? [] : [base.merge(one.name.to_s => written(target, "create!", inner))]
      given + differing(target).first(10).select { |name, code| fits?(target, inner, name, code) }.map { |name, code| base.merge(one.name.to_s => written(target, "create!", inner.merge(name => code))) }
    rescue NameError
      []
    end
  end

  # A stored object with others that belong to it.
  def with_children(record)
    record.reflect_on_all_associations(:has_many).reject { |one| one.through_reflection || one.options[:as] }.first(4).flat_map do |one|
      child = one.klass
      attributes = valid(child, 0)
      inverse = child.reflect_on_all_associations(:belongs_to).find { |other| other.foreign_key.to_s == one.foreign_key.to_s }&.name.to_s
      next [] unless attributes

      own = attributes.reject { |name, _| name == inverse }
      others = [own, *variants_of_child(child, own)].first(10)
      calls = others.map { |chosen| call(one.name, chosen) }
      second = (valid(child, 1) || attributes).reject { |name, _| name == inverse }
      [*calls.first(1), "#{calls.first}; #{call(one.name, second)}", *calls.drop(1), *others.drop(1).first(8).map { |chosen| "#{call(one.name, chosen)}; #{call(one.name, chosen.merge(second.reject { |name, _| second[name] == own[name] }))}" }].map { |text| "#{stored(record)}#{ProctorStandIns::CHANGED}#{text} }" }
    rescue NameError
      []
    end
  end

  def variants_of_child(child, own) = differing(child).first(10).map { |name, code| own.merge(name => code) }

  def call(association, attributes)
    list = attributes.map { |name, code| "#{name}: #{code}" }.join(", ")
    "it.#{association}.create!#{"(#{list})" unless list.empty?}"
  end

  # Objects that break one rule each.
  def invalid(record, base)
    found = record.validators.flat_map do |rule|
      rule.attributes.flat_map { |name| breaking(rule, name.to_s).map { |code| base.merge((owner_of(record, name) || name).to_s => code) } }
    rescue NoMethodError
      []
    end
    found += own_columns(record).map { |name| base.merge(name => "nil") }
    found.uniq.select { |one| broken?(record, one) }.first(30)
  end

  def broken?(record, attributes)
    attempt { !build(written(record, "new", attributes)).valid? }
  rescue StandardError, ScriptError
    false
  end

  def breaking(rule, _name)
    case rule.kind
    when :presence then ["nil", '""']
    when :length
      longest = number(rule.options[:maximum] || rule.options[:is])
      shortest = number(rule.options[:minimum] || rule.options[:is])
      [("\"a\" * #{longest + 1}" if longest), ("\"#{'a' * [shortest - 1, 0].max}\"" if shortest && shortest < 40)].compact
    when :numericality
      limits = rule.options.values_at(:greater_than, :less_than).grep(Integer).map(&:to_s)
      low = rule.options[:greater_than_or_equal_to]
      high = rule.options[:less_than_or_equal_to]
      limits << (low - 1).to_s if low.is_a?(Integer)
      limits << (high + 1).to_s if high.is_a?(Integer)
      [*limits, ('1.5' if rule.options[:only_integer]), '"many"'].compact
    when :inclusion then ['"unknown"', "-1"]
    when :format then ['"not valid"', '"???"']
    when :acceptance then ["false"]
    else ["nil"]
    end
  end
end
