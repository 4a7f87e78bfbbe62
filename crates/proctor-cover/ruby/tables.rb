# frozen_string_literal: true

require_relative "names"

# Texts of tables (CSV) for code that reads them: with the headers that a class names, complete rows, rows that lack
# something, and none. Pure.
module ProctorTables
  # Headers of one table; texts for one parameter.
  HEADERS = 8
  TEXTS = 14
  # How usages name the calls that read a text.
  READERS = /\ACSV\.(?:parse|parse_line|new|parse!):0\z/.freeze
  HEADER = /\A[A-Za-z][A-Za-z0-9_ ]{0,30}\z/.freeze

  module_function

  def read?(usage) = Array(usage["flows"]).any? { |target| target.match?(READERS) }

  # Codes of texts. `lists` are lists of words that the class keeps, `words` other words of its source: all of them may be headers.
  def texts(lists, words)
    headers = (lists.flatten + words).grep(HEADER).uniq.first(HEADERS)
    return [] if headers.empty?

    full = headers.map { |name| cell(name) }
    second = full.map { |text| text.sub(/\A[^@\d]+/) { |word| "other-#{word}" } }
    found = [[full], [full, second], [full, full], []].map { |rows| written(headers, rows) }
    found.concat(headers.each_index.map { |place| written(headers, [full.each_with_index.map { |text, at| at == place ? "" : text }]) })
    found.concat(headers.first(3).map { |name| written(headers - [name], []) })
    found.uniq.first(TEXTS)
  end

  def cell(name)
    code = ProctorNames.values(name.downcase.tr(" ", "_")).find { |one| one != '""' }
    code ? code.delete('"') : name.downcase
  end

  def written(headers, rows) = [headers, *rows].map { |cells| "#{cells.join(',')}\n" }.join.inspect
end
