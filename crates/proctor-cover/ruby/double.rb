# frozen_string_literal: true

require_relative "stand_ins"

# Stand-ins with the same look as RSpec's verified doubles, for expressions that are evaluated outside of RSpec.
class ProctorDouble < BasicObject
  # Answers that are no values: the block is called with these, or this error is raised.
  Yielding = ::Struct.new(:values)
  Raising = ::Struct.new(:type, :message)

  def initialize(name, stubs, type = nil)
    @name = name
    @stubs = stubs
    @type = type
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

  # Messages so far, as [name, arguments, options].
  def proctor_heard = @heard

  def method_missing(name, *args, **options, &block)
    ::Kernel.raise ::ProctorDouble::Unexpected.new(@name, name) unless @stubs.key?(name)

    ::ProctorDouble.check(@type, name, args, options) if @type
    @heard << [name, args, options] if @heard.length < 50
    ::ProctorDouble.answer(@stubs[name], block)
  end

  class << self
    # What a stub says, done.
    def answer(stub, block)
      case stub
      when Raising then ::Kernel.raise(*[stub.type, stub.message].compact)
      when Yielding
        ::Kernel.raise ::ProctorProbe::Blocked, "a stand-in has no block to call" unless block
        block.call(*stub.values)
      else stub
      end
    end

    # A class that is there must be able to take what its stand-in is given, as RSpec demands.
    def check(type, name, args, options)
      method = type.instance_method(name)
      required = method.parameters.count { |kind, _| kind == :req }
      rest = method.parameters.any? { |kind, _| kind == :rest }
      most = required + method.parameters.count { |kind, _| kind == :opt }
      takes_options = method.parameters.any? { |kind, _| %i[key keyreq keyrest].include?(kind) }
      count = args.length + (options.any? && !takes_options ? 1 : 0)
      return if count >= required && (rest || count <= most)

      ::Kernel.raise ::ArgumentError, "wrong number of arguments (given #{count}, expected #{required})"
    rescue ::NameError
      nil
    end
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

    ProctorDouble.new(type, stubs, known)
  end

  # Answers of stand-ins; in a spec they become `and_yield` and `and_raise`.
  def yielding(*values) = ProctorDouble::Yielding.new(values)
  def raising(type, message = nil) = ProctorDouble::Raising.new(type, message)

  # An answer of another machine that was never asked.
  def http_response(type, code, body)
    type.new("1.1", code, ProctorStandIns.phrase(type)).tap { |made| made.define_singleton_method(:body) { body } }
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
