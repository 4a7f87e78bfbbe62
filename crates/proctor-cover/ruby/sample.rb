# frozen_string_literal: true

# Strings that match a regular expression: a small generator over its source, checked against the expression itself.
class ProctorSample
  def self.for(regexp, random, wanted = 24)
    shapes = {}
    80.times do |round|
      text = new(regexp.source, random, round, regexp.options & Regexp::EXTENDED != 0).generate
      next unless text && text.length < 200 && (match = regexp.match(text))

      # A few texts for each set of groups that take part.
      shape = match.captures.map(&:nil?)
      (shapes[shape] ||= []) << text unless shapes[shape]&.include?(text)
    end
    # The shortest of each set first, then the next ones.
    lists = shapes.values.map { |list| list.sort_by(&:length).first(3) }
    (0..2).flat_map { |place| lists.map { |list| list[place] } }.compact.first(wanted)
  rescue StandardError
    []
  end

  def initialize(source, random, round, extended)
    @source = source
    @random = random
    @round = round
    @extended = extended
    @place = 0
    @groups = []
  end

  def generate
    alternatives
  rescue StandardError
    nil
  end

  private

  def peek = @source[@place]

  def take
    @place += 1
    @source[@place - 1]
  end

  def alternatives
    options = [sequence]
    while peek == "|"
      take
      options << sequence
    end
    options[@round.zero? ? 0 : @random.rand(options.length)]
  end

  def sequence
    result = +""
    until peek.nil? || peek == "|" || peek == ")"
      start = @place
      piece = atom
      low, high = quantifier
      if low
        count = @round.zero? ? [low, [1, high].min].max : low + @random.rand([high - low, 3].min + 1)
        finish = @place
        if count.zero?
          piece = ""
        else
          (count - 1).times do
            @place = start
            piece += atom
          end
        end
        @place = finish
      end
      result << piece
    end
    result
  end

  def quantifier
    range =
      case peek
      when "*" then take && [0, 3]
      when "+" then take && [1, 4]
      when "?" then take && [0, 1]
      when "{" then braces
      end
    take if range && ["?", "+"].include?(peek)
    range
  end

  def braces
    match = /\G\{(\d*)(,?)(\d*)\}/.match(@source, @place)
    return nil unless match && match[0] != "{}"

    @place += match[0].length
    low = match[1].to_i
    high = match[2].empty? ? low : (match[3].empty? ? low + 3 : match[3].to_i)
    [low, high]
  end

  def atom
    letter = take
    case letter
    when "(" then group
    when "[" then members.then { |set| set.empty? ? "" : set[@random.rand(set.length)] }
    when "\\" then escape
    when "." then %w[a x 1].sample(random: @random)
    when "^", "$" then ""
    when "#" then @extended ? comment : letter
    when " ", "\n", "\t" then @extended ? "" : letter
    else letter
    end
  end

  def comment
    take until peek.nil? || peek == "\n"
    ""
  end

  def group
    if peek == "?"
      take
      case take
      when ":", ">" then nil
      when "=" then return close(alternatives) && ""
      when "!" then return close(alternatives) && ""
      when "#" then take until peek == ")" || peek.nil?
      when "<"
        if ["=", "!"].include?(peek)
          take
          return close(alternatives) && ""
        end
        take until peek == ">" || peek.nil?
        take
      else
        take until peek == ":" || peek == ")" || peek.nil?
        return close("") if peek == ")"

        take
      end
    end
    text = alternatives
    @groups << text
    close(text)
  end

  def close(text)
    take if peek == ")"
    text
  end

  CLASSES = {
    "d" => ("0".."9").to_a, "w" => %w[a b Z 0 _], "s" => [" ", "\t"], "h" => %w[0 9 a f],
    "D" => %w[a -], "W" => ["-", " "], "S" => %w[a 1], "H" => %w[x z]
  }.freeze

  def escape
    letter = take
    case letter
    when "A", "z", "Z", "b", "B", "G" then ""
    when "n" then "\n"
    when "t" then "\t"
    when "r" then "\r"
    when "e" then "\e"
    when "R" then "\n"
    when "p" then take && (take until peek == "}" || peek.nil?) || take && "a"
    when "u" then unicode
    when "x" then [(take + take).hex].pack("U")
    when "k" then take && (take until peek == ">" || peek.nil?) || take && @groups.last.to_s
    when "1".."9" then @groups[letter.to_i - 1].to_s
    else CLASSES.key?(letter) ? CLASSES[letter].sample(random: @random) : letter
    end
  end

  def unicode
    hex = peek == "{" ? @source[@place..][/\A\{(\h+)\}/, 1] : @source[@place, 4]
    @place += peek == "{" ? hex.length + 2 : 4
    [hex.hex].pack("U")
  end

  PRINTABLE = (" ".."~").to_a.freeze
  POSIX = { "alpha" => %w[a Z], "digit" => %w[0 7], "alnum" => %w[a 1], "space" => [" "], "upper" => %w[A], "lower" => %w[a],
            "punct" => %w[! .], "xdigit" => %w[a 1], "word" => %w[a _] }.freeze

  def members
    negated = peek == "^" && take
    set = []
    first = true
    until peek.nil? || (peek == "]" && !first)
      first = false
      set.concat(member)
      take if peek == "&"
      take if peek == "&"
    end
    take
    negated ? (%w[a b x 1 Z] + PRINTABLE) - set : set
  end

  def member
    if (match = /\G\[:\^?(\w+):\]/.match(@source, @place))
      @place += match[0].length
      return POSIX.fetch(match[1], %w[a])
    end
    letter = take
    return members if letter == "["

    if letter == "\\"
      return CLASSES[take] if CLASSES.key?(peek)

      letter = escape
      return [letter] if letter.length != 1
    end
    if peek == "-" && @source[@place + 1] && @source[@place + 1] != "]"
      take
      last = take
      last = escape if last == "\\"
      return (letter..last).first(100)
    end
    [letter]
  end
end
