# frozen_string_literal: true

# Stand-ins with the same look as RSpec's verified doubles, for expressions that are evaluated outside of RSpec.
class ProctorDouble < BasicObject
  def initialize(name, stubs)
    @name = name
    @stubs = stubs
    @heard = []
  end

  def respond_to?(name, _all = false) = @stubs.key?(name.to_sym)
  def is_a?(other) = ::ProctorDouble.equal?(other)
  alias kind_of? is_a?
  alias instance_of? equal?
  def class = ::ProctorDouble
  def nil? = false
  def inspect = "#<InstanceDouble(#{@name}) (anonymous)>"
  alias to_s inspect
  def hash = __id__
  def eql?(other) = equal?(other)
  def instance_variables = []
  def frozen? = false
  def object_id = __id__

  # Messages so far, as [name, arguments]; those with a block or options have no arguments here.
  def proctor_heard = @heard

  def method_missing(name, *args, **options, &block)
    ::Kernel.raise ::ProctorDouble::Unexpected.new(@name, name) unless @stubs.key?(name)

    @heard << [name, options.empty? && block.nil? ? args : nil] if @heard.length < 50
    @stubs[name]
  end

  # A stand-in was asked what it has no answer for.
  class Unexpected < ::Exception # rubocop:disable Lint/InheritException
    attr_reader :owner, :name

    def initialize(owner, name)
      super("#{owner} received unexpected message #{name}")
      @owner = owner.to_s
      @name = name.to_s
    end
  end
end

# Where candidate expressions are evaluated.
class ProctorScope
  # A class is given as such, or by a name that may stand for one; a class that is there must know the methods.
  def instance_double(type, **stubs)
    known = type.is_a?(Module) ? type : ProctorScope.known(type)
    missing = known && stubs.keys.find { |name| !known.method_defined?(name) && !known.private_method_defined?(name) }
    raise ArgumentError, "#{type} does not implement #{missing}" if missing

    ProctorDouble.new(type, stubs)
  end

  class << self
    # Where files are put.
    attr_accessor :folder
  end

  # The path of a file with this text. A spec has a method of the same name.
  def file_named(name, text)
    raise ArgumentError, name unless name.is_a?(String) && name.match?(/\A\w[\w.-]{0,40}\z/)

    # Each process has its own: several execute calls at the same time.
    folder = format("%s-%07d", ProctorScope.folder, Process.pid)
    ProctorGuard.quietly do
      Dir.mkdir(folder) unless Dir.exist?(folder)
      File.join(folder, name).tap { |path| File.write(path, text) }
    end
  end

  def self.known(name)
    Object.const_get(name) if Object.const_defined?(name)
  rescue NameError
    nil
  end

  def place = binding
end

# Code in which stand-ins are made: what they are called, and how they become variables of an example.
module ProctorStandIns
  OPENING = /instance_double\(("[A-Z][\w:]*"|[A-Z][\w:]*)/.freeze
  # Names that an example cannot use for a variable.
  TAKEN = %w[class module end def self in do if then case when begin not and or argument double expect alias next nil true false return super
             yield rescue ensure unless until while for break redo retry else elsif undef defined it subject described_class example
             allow receive proc lambda loop raise puts print format test object_id hash method send].freeze

  module_function

  # A stand-in for something of this name that answers so: {name => code}.
  def code(name, answers, classes = [])
    pairs = answers.map { |asked, value| "#{asked}: #{value}" }.join(", ")
    "instance_double(#{type(name, answers.keys, classes)}, #{pairs})"
  end

  # A class that knows these methods, or a name that no class has.
  def type(name, asked, classes)
    camel = name.to_s.delete_prefix("@").sub(/[?!]\z/, "").split("_").reject(&:empty?).map { |word| word[0].upcase + word[1..] }.join
    camel = "Value" unless camel.match?(/\A[A-Z][A-Za-z0-9]*\z/)
    own = classes.find { |klass| klass.split("::").last == camel && knows?(klass, asked) }
    return own if own
    return camel.inspect unless Object.const_defined?(camel)

    knows?(camel, asked) ? camel : "#{camel}Like".inspect
  end

  def knows?(name, asked)
    mod = ProctorScope.known(name)
    mod.is_a?(Class) && asked.all? { |method| mod.method_defined?(method) }
  end

  # Codes with the stand-ins taken out, and {variable => code}. `avoid` are names in use.
  def hoisted(codes, avoid)
    locals = {}
    changed = codes.map { |code| code && taken_out(code, locals, avoid) }
    [changed, locals]
  end

  def taken_out(code, locals, avoid)
    from = code =~ OPENING
    return code unless from

    to = closing(code, from + "instance_double(".length)
    return code unless to

    name = variable($~[1], locals, avoid)
    locals[name] = code[from..to]
    code[0...from] + name + taken_out(code[to + 1..], locals, avoid)
  end

  def variable(type, locals, avoid)
    word = type.delete('"').split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
    word = "given_#{word}" if TAKEN.include?(word) || avoid.include?(word)
    name = word
    number = 1
    name = "#{word}_#{number += 1}" while locals.key?(name)
    name
  end

  # Where the parenthesis that is open at this place closes.
  def closing(code, place)
    depth = 1
    text = false
    while place < code.length
      letter = code[place]
      if text
        place += 1 if letter == "\\"
        text = false if letter == '"'
      elsif letter == '"' then text = true
      elsif "([{".include?(letter) then depth += 1
      elsif ")]}".include?(letter) && (depth -= 1).zero? then return place
      end
      place += 1
    end
    nil
  end
end
