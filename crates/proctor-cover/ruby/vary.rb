# frozen_string_literal: true

# Small changes of code that stands for a value. Needs `@random` and `@values`.
module ProctorVary
  # Names of stand-ins come first: they are no texts.
  TOKEN = /#{ProctorFactories::CALL}:\w+|instance_double\("\w+"|http_response\([\w:]+, "\d+"|"(?:[^"\\]|\\.)*"|(?<![\w.:"])-?\d+(?:\.\d+)?(?![\w.])|(?<![\w:]):[a-z_]\w*/.freeze
  OPENED = /\A(?:instance_double|http_response|#{ProctorFactories::CALL})/.freeze
  # Of what a value may grow to, in what there is to read.
  LONGEST = 300

  private

  def pick(list)
    return nil if list.nil? || list.empty?

    list[(list.length * (@random.rand**2)).floor]
  end

  def change(code, list)
    changed =
      case @random.rand(6)
      when 0, 1 then pick(list) || code
      when 2 then @values.generic[@random.rand(@values.generic.length)]
      when 3 then swap(code)
      else deform(code, list)
      end
    ProctorCode.size(changed) > LONGEST ? code : changed
  end

  # Another literal of the same kind somewhere in the code.
  def swap(code)
    places = []
    code.scan(TOKEN) { places << $~.offset(0) unless $~[0].match?(OPENED) }
    return code if places.empty?

    from, to = places[@random.rand(places.length)]
    code[0...from] + other_token(code[from...to]) + code[to..]
  end

  def other_token(token)
    return nearby(token) if token.match?(/\A-?\d/) && @random.rand < 0.5

    kind = token[0] == '"' ? '"' : token[0] == ":" ? ":" : nil
    return text(token, @values.literals) if kind == '"' && @random.rand < 0.4

    pool = kind ? @values.literals.select { |code| code.start_with?(kind) } : @values.literals.grep(/\A-?\d/) + %w[0 1 2 100 -1 10000]
    pool += ['""', '"a"'] if kind == '"'
    pool.empty? ? token : pool[@random.rand(pool.length)]
  end

  def nearby(token)
    number = token.include?(".") ? token.to_f : token.to_i
    (number + [-1, 1, 2, -2].sample(random: @random)).to_s
  end

  def deform(code, list)
    case code
    when /\A-?\d+\z/ then [code.to_i + [-1, 1, 10, -10, 100].sample(random: @random), code.to_i * 2, -code.to_i].sample(random: @random).to_s
    when /\A"/ then text(code, list)
    when /\A\[(.+)\]\z/m then ["[#{$1}, #{pick(@values.generic)}]", "[#{$1}, #{$1}]", "[[#{$1}]]", "[#{pick(list) || 'nil'}, #{$1}]"].sample(random: @random)
    when /\A\{ (.+) \}\z/m then "{ #{$1}, #{key(list)}: #{pick(@values.generic)} }"
    else pick(list) || code
    end
  end

  # A key that some other value of the same parameter has.
  def key(list)
    names = list.to_a.flat_map { |code| code.scan(/[{,] ([a-z_]\w*): /).flatten }
    (names + %w[a b name]).uniq.sample(random: @random)
  end

  def text(code, list)
    own = eval(code) # rubocop:disable Security/Eval
    other = list.to_a.select { |item| item.start_with?('"') }
    other = other.empty? ? "a" : eval(other[@random.rand(other.length)]) # rubocop:disable Security/Eval
    changed = spliced(own, other, @random.rand(own.length + 1))
    changed.length < 160 ? changed.inspect : code
  rescue StandardError, SyntaxError
    code
  end

  def spliced(own, other, place)
    case @random.rand(9)
    when 0 then own + other
    when 1 then own.dup.insert(place, other)
    when 2 then own.length > 1 ? own[0...place] + own[place + 1..].to_s : own
    when 3 then own + [" ", "\n", "-", "1", "A", ":", "/", ",", "(", ")", "\"", "'", "=", "#", ".", "é"].sample(random: @random)
    when 4 then "#{own} #{other}"
    when 5 then "#{own}\n#{other}"
    when 6 then own * 2
    when 7 then own[0...place].to_s
    else other + own
    end
  end
end
