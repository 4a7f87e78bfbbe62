# frozen_string_literal: true

# The faults of the benchmark: small changes of a Ruby file, one at a time, inside of its methods. The list is the benchmark's own
# and shares no code with Proctor.
#   ruby operators.rb FILE     prints every fault as JSON
require "json"
require "stringio"
require "zlib"
begin
  verbose, $VERBOSE = $VERBOSE, nil
  $stderr = StringIO.new
  require "parser/current"
ensure
  $stderr = STDERR
  $VERBOSE = verbose
end

# Changes of one file.
class Faults
  Fault = Struct.new(:operator, :from, :to, :text, :line)

  SWAPPED = {
    :< => "<=", :<= => "<", :> => ">=", :>= => ">", :== => "!=", :!= => "==",
    :+ => "-", :- => "+", :* => "/", :/ => "*", :% => "*", :** => "*", :<< => "+", :=~ => "!~"
  }.freeze
  COMPARISONS = %i[< <= > >= == != =~].freeze

  attr_reader :source

  def initialize(path)
    buffer = Parser::Source::Buffer.new(path).read
    @source = buffer.source
    @found = []
    parser = Parser::CurrentRuby.new
    parser.diagnostics.consumer = nil
    visit(parser.parse(buffer), false)
  end

  # Those that are valid Ruby and differ from the source and from each other; at most `limit`, chosen by the seed.
  def list(limit: nil, seed: 1)
    usable = @found.uniq { |fault| apply(fault) }.reject { |fault| apply(fault) == source || !valid?(apply(fault)) }
    return usable if limit.nil? || usable.length <= limit

    usable.sample(limit, random: Random.new(seed + Zlib.crc32(source))).sort_by { |fault| [fault.from, fault.to, fault.text] }
  end

  def apply(fault)
    source[0...fault.from] + fault.text + source[fault.to..]
  end

  private

  def valid?(text)
    verbose, $VERBOSE = $VERBOSE, nil
    RubyVM::InstructionSequence.compile(text)
    true
  rescue SyntaxError
    false
  ensure
    $VERBOSE = verbose
  end

  def visit(node, inside)
    return unless node.is_a?(Parser::AST::Node)

    look_at(node) if inside
    enters = method_body?(node)
    last_values(node) if enters
    node.children.each { |child| visit(child, inside || enters) }
  end

  def method_body?(node)
    return true if %i[def defs].include?(node.type)
    return false unless node.type == :block

    call = node.children[0]
    call.type == :lambda || (call.type == :send && %i[define_method define_singleton_method lambda proc].include?(call.children[1]))
  end

  def look_at(node)
    handler = :"on_#{node.type}"
    send(handler, node) if respond_to?(handler, true)
  end

  def add(operator, range, text)
    @found << Fault.new(operator, range.begin_pos, range.end_pos, text, range.line) if range
  end

  def whole(node)
    node.location.expression
  end

  def code(node)
    whole(node).source
  end

  def on_if(node)
    negate(node.children[0])
  end

  def on_while(node)
    negate(node.children[0])
  end
  alias on_until on_while

  def negate(condition)
    add("condition negated", whole(condition), "!(#{code(condition)})")
  end

  def on_and(node)
    add("and/or swapped", node.location.operator, node.location.operator.source == "&&" ? "||" : "or")
  end

  def on_or(node)
    add("and/or swapped", node.location.operator, node.location.operator.source == "||" ? "&&" : "and")
  end

  def on_send(node)
    receiver, name, *arguments = node.children
    if receiver && arguments.length == 1 && SWAPPED.key?(name) && node.location.dot.nil?
      add(COMPARISONS.include?(name) ? "comparison changed" : "arithmetic changed", node.location.selector, SWAPPED[name])
    elsif receiver.nil? && name == :raise
      add("raise removed", whole(node), "nil")
    elsif receiver && name == :! && whole(node).source.start_with?("!")
      add("negation removed", node.location.selector, "")
    elsif receiver && node.location.dot && arguments.empty?
      add("call removed", node.location.dot.join(node.location.selector), "")
    end
  end
  alias on_csend on_send

  def on_int(node)
    add("number changed", whole(node), (node.children[0] + 1).to_s)
  end

  def on_float(node)
    add("number changed", whole(node), (node.children[0] + 1.0).to_s)
  end

  def on_str(node)
    return unless node.location.respond_to?(:begin) && node.location.begin && node.location.end

    add("text changed", whole(node), node.children[0].empty? ? '"fault"' : '""')
  end

  def on_sym(node)
    return unless node.location.respond_to?(:begin) && node.location.begin&.source == ":"

    add("symbol changed", whole(node), ":fault")
  end

  def on_true(node)
    add("true/false swapped", whole(node), "false")
  end

  def on_false(node)
    add("true/false swapped", whole(node), "true")
  end

  def on_return(node)
    add("returns nil", whole(node), "return nil") unless node.children.empty?
  end

  # All statements but the last, whose value counts.
  def on_begin(node)
    node.children[0..-2].each do |statement|
      next unless %i[send csend op_asgn or_asgn and_asgn ivasgn lvasgn gvasgn cvasgn block yield].include?(statement.type)
      next if statement.type == :send && statement.children[1] == :raise

      add("statement removed", whole(statement), "nil")
    end
  end
  alias on_kwbegin on_begin

  # The value of a method becomes nil. Nobody can see the value of a constructor or of an assignment.
  def last_values(node)
    return if node.type == :def && (node.children[0] == :initialize || node.children[0].match?(/\w=\z/))

    body = node.children.last
    body = body.children.last while body.is_a?(Parser::AST::Node) && %i[begin kwbegin].include?(body.type)
    return unless body.is_a?(Parser::AST::Node) && !%i[nil return if case while until rescue ensure].include?(body.type)
    return if body.type == :send && body.children[0].nil? && body.children[1] == :raise

    add("returns nil", whole(body), "(#{code(body)}; nil)")
  end
end

puts JSON.generate(Faults.new(ARGV[0]).list.map(&:to_h)) if $PROGRAM_NAME == __FILE__
