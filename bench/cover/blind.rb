# frozen_string_literal: true

# The peer: calls every public method of a file with values of random types, and writes what came out as a spec. It knows nothing of
# the code. Every call is made in a child, five to a method; the seed is fixed.
#   ruby blind.rb ROOT FILE LINES SPEC      LINES is the JSON of loading.rb
require "json"
require "timeout"
require "zlib"

ROOT, FILE, LINES, SPEC = ARGV
VALUES = ["nil", "true", "false", "0", "1", "-1", "42", "2.5", '""', '"a"', '"hello world"', ":a", "[]", '[1, "a"]', "{}", "{ a: 1 }"].freeze
Dir.chdir(ROOT)
JSON.parse(LINES).each { |line| eval(line, TOPLEVEL_BINDING) } # rubocop:disable Security/Eval
RANDOM = Random.new(Zlib.crc32(FILE))
PATH = File.realpath(FILE)

def here?(method)
  place = method.source_location&.first
  place && File.exist?(place) && File.realpath(place) == PATH
end

def arguments(method)
  method.parameters.filter_map do |kind, name|
    case kind
    when :req then VALUES.sample(random: RANDOM)
    when :opt then RANDOM.rand < 0.5 ? VALUES.sample(random: RANDOM) : nil
    when :keyreq then "#{name}: #{VALUES.sample(random: RANDOM)}"
    end
  end.join(", ")
end

def literal?(value)
  case value
  when nil, true, false, Integer, Symbol, String then true
  when Float then value.finite?
  when Array then value.all? { |one| literal?(one) }
  when Hash then value.all? { |pair| literal?(pair) }
  else false
  end
end

# The expectation for a call, made in a child.
def observe(call)
  reader, writer = IO.pipe
  pid = fork do
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    $stdin.reopen(File::NULL)
    writer.write(Timeout.timeout(2) { expectation(call) }.to_s)
    writer.close
    Process.exit!(0)
  rescue Exception # rubocop:disable Lint/RescueException
    Process.exit!(1)
  end
  writer.close
  text = reader.read
  Process.wait(pid)
  text.empty? ? nil : text.force_encoding("UTF-8")
end

def expectation(call)
  value = eval(call, TOPLEVEL_BINDING) # rubocop:disable Security/Eval
  return "expect(#{call}).to eq(#{value.inspect})" if literal?(value)

  value.class.name && "expect(#{call}).to be_a(#{value.class.name})"
rescue StandardError => e
  "expect { #{call} }.to raise_error(#{e.class.name})"
end

modules = ObjectSpace.each_object(Module).select { |one| one.name && (Object.const_get(one.name).equal?(one) rescue false) }.sort_by(&:name)
calls = modules.flat_map do |one|
  own = (one.singleton_methods(false).sort.map { |name| [one.method(name), one.name] } rescue [])
  made = one.is_a?(Class) ? (one.public_instance_methods(false).sort.map { |name| [one.instance_method(name), "#{one.name}.new"] } rescue []) : []
  (own + made).select { |method, _| here?(method) && method.name.match?(/\A[a-z_]\w*[?!]?\z/i) }.flat_map do |method, receiver|
    Array.new(5) do
      object = receiver.end_with?(".new") ? "#{receiver}(#{arguments(one.instance_method(:initialize))})" : receiver
      "#{object}.#{method.name}(#{arguments(method)})"
    end
  end
end
examples = calls.uniq.filter_map { |call| observe(call) }
body = examples.each_with_index.map { |text, place| "  it(\"call #{place + 1}\") { #{text} }\n" }.join
File.write(SPEC, "#{JSON.parse(LINES).join("\n")}\n\nRSpec.describe \"blind calls\" do\n#{body}end\n")
