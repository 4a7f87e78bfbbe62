# frozen_string_literal: true

# Ruby code as text: its size, its parts. Pure.
module ProctorCode
  TOKEN = /"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*[?!=]?|\d[\d_.]*|[^\s\w]/.freeze
  # What a name counts, however long it is.
  NAME = 4

  module_function

  # How much there is to read: a name counts the same whether it is long or short, a text by its length.
  def size(code)
    code.scan(TOKEN).sum do |token|
      case token[0]
      when '"' then token.match?(/\A"[A-Z]\w*"\z/) ? NAME : token.length
      when /[A-Za-z_]/ then %w[nil true false].include?(token) ? 1 : NAME
      when /\d/ then token.length
      else 1
      end
    end
  end

  # Where the bracket that is open at this place closes.
  def closing(code, place)
    each_outer(code, place) { |at, letter, depth| return at if depth.zero? && ")]}".include?(letter) }
    nil
  end

  # What stands between the commas of a list: [[from, to], ...], from this place to the closing bracket.
  def arguments(code, place)
    from = place
    parts = []
    each_outer(code, place) do |at, letter, depth|
      next unless depth.zero? || (depth == 1 && letter == ",")

      parts << [from, at] if at > from
      return parts if depth.zero?

      from = at + 1
      from += 1 while code[from] == " "
    end
    parts
  end

  KEY = /\A(?:("(?:[^"\\]|\\.)*"|:\w+[?!]?|\d+) =>|(\w+[?!]?): )/.freeze

  # Whether a table has the same key twice: Ruby warns, and a reader wonders.
  def duplicate_key?(code)
    place = -1
    while (place = code.index("{ ", place + 1))
      next unless code[place + 2]&.match?(/[":\w]/)

      keys = arguments(code, place + 2).filter_map { |from, to| code[from...to][KEY, 0] }
      return true if keys.uniq.length < keys.length
    end
    false
  end

  # Every letter outside of texts, with the depth after it; begins within one bracket.
  def each_outer(code, place)
    depth = 1
    text = false
    while place < code.length
      letter = code[place]
      if text
        place += 1 if letter == "\\"
        text = false if letter == '"'
      elsif letter == '"' then text = true
      else
        depth += 1 if "([{".include?(letter)
        depth -= 1 if ")]}".include?(letter)
        yield place, letter, depth
        return if depth.zero?
      end
      place += 1
    end
  end
end
