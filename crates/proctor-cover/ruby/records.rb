# frozen_string_literal: true

require "zlib"

# What is seen of stored objects (ActiveRecord): their attributes without what no example can rely on, the errors of their
# validation, the rows that a call adds or removes. Mixed into what executes calls; needs `@render` and `@binding`.
module ProctorRecords
  # Numbers of what a validation says, above those of a file's probes.
  RULES = 90_000
  VOLATILE = ProctorRecordValues::VOLATILE
  # Attributes of one object that an example names.
  NAMED = 5

  module_function

  def record?(value) = ProctorDatabase.active? && ActiveRecord::Base === value

  def relation?(value) = ProctorDatabase.active? && ActiveRecord::Relation === value

  # Attributes that mean something, with their values; keys that the database chooses are left out.
  def attributes(record)
    keys = record.class.reflect_on_all_associations(:belongs_to).map { |one| one.foreign_key.to_s }
    record.attributes.reject { |name, _| name == record.class.primary_key || keys.include?(name) || VOLATILE.include?(name) }
  end

  # The probe that a message of a validation stands for.
  def rule_key(base, attribute, error) = ((base + RULES + Zlib.crc32("#{attribute}:#{error}") % 9_000) << 1) + 1

  def rule?(probe) = probe % 100_000 >= RULES

  # `line item`, `2 line items`
  def counted(record, count)
    word = record.model_name.human.downcase
    count == 1 ? "#{word.match?(/\A[aeiou]/) ? 'an' : 'a'} #{word}" : "#{count} #{word.pluralize}"
  end

  # What a call adds to tables and removes from them.
  def row_changes(before)
    after = ProctorDatabase.counts
    after.filter_map do |record, count|
      difference = count - (before[record] || count)
      next if difference.zero?

      words = difference.positive? ? "creates #{counted(record, difference)}" : "removes #{counted(record, -difference)}"
      { "kind" => "change", "matcher" => "change(#{record.name}, :count).by(#{difference})", "words" => words }
    end
  end

  # What validation says of an object, one expectation for each attribute.
  def errors_of(record)
    record.errors.attribute_names.filter_map do |name|
      messages = record.errors[name]
      text = messages.length <= 4 && messages.all?(String) ? messages.map(&:inspect).join(", ") : next
      words = record.errors.details[name].each_with_index.map { |detail, place| error_words(record, name, detail, messages[place].to_s) }.uniq.join(" and ")
      { "kind" => "record", "matcher" => "RECEIVER.errors[:#{name}]).to eq([#{text}]", "words" => words }
    end
  end

  # What an error says of a value, after "a name".
  FLAWS = { too_long: "that is too long", too_short: "that is too short", wrong_length: "of the wrong length", taken: "that is taken", not_a_number: "that is not a number",
            not_an_integer: "that is not an integer", invalid: "that is invalid", inclusion: "that is not in the list", exclusion: "that is reserved", confirmation: "that is confirmed wrongly",
            odd: "that is not odd", even: "that is not even", other_than: "that is excluded" }.freeze
  # Words that titles do without.
  MODAL = /\b(?:must|should|can|could|will|would|may|might|cannot|can't|shall)\b/i.freeze

  def error_words(record, name, detail, message)
    own = record.class.human_attribute_name(name).downcase
    what = "#{own.match?(/\A[aeiou]/) ? 'an' : 'a'} #{own}"
    error = detail[:error]
    return "requires #{what}" if %i[blank empty required].include?(error)
    return "requires #{own} to be accepted" if error == :accepted
    return "rejects #{what} #{FLAWS[error]}" if FLAWS.key?(error)
    return "rejects #{what} that is not #{error.to_s.tr('_', ' ')} #{detail[:count]}" if detail.key?(:count) && error.is_a?(Symbol)
    return "adds an error to #{name == :base ? 'the record' : own}" if message.match?(MODAL)

    name == :base ? "reports: #{message[0].to_s.downcase}#{message[1..]}" : "reports that #{own} #{message}"
  end

  # What kind of rows a question about a table answers with: none, some of them, all of them, one.
  def answer_kind(value, rows)
    return :one if record?(value)
    return value.nil? ? :nothing : nil unless relation?(value) || (value.is_a?(Array) && value.first.then { |one| record?(one) })

    count = value.to_a.length
    return :none if count.zero?

    count < rows ? :some : :all
  rescue StandardError
    nil
  end

  # {attribute => value} as the table has it; nil for what is not stored.
  def in_table(record)
    found = record.persisted? && record.class.unscoped.find_by(record.class.primary_key => record.id)
    found ? attributes(found) : nil
  rescue StandardError
    nil
  end
end
