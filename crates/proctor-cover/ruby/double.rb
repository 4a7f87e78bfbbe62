# frozen_string_literal: true

# Stand-ins with the same look as RSpec's, for expressions that are evaluated outside of RSpec.
class ProctorDouble < BasicObject
  def initialize(name, stubs, kind = nil)
    @name = name
    @stubs = stubs
    @kind = kind
  end

  def respond_to?(name, _all = false) = @stubs.key?(name.to_sym)
  def is_a?(other) = @kind ? (@kind <= other ? true : false) : ::ProctorDouble.equal?(other)
  alias kind_of? is_a?
  alias instance_of? equal?
  def class = @kind || ::ProctorDouble
  def nil? = false
  def inspect = "#<Double #{@name}>"
  alias to_s inspect
  def hash = __id__
  def eql?(other) = equal?(other)
  def instance_variables = []
  def frozen? = false
  def object_id = __id__

  def method_missing(name, *_args, **_options)
    return @stubs[name] if @stubs.key?(name)

    ::Kernel.raise ::ProctorDouble::Unexpected.new(@name, name)
  end

  # A stand-in was asked what it has no answer for.
  class Unexpected < ::Exception # rubocop:disable Lint/InheritException
    attr_reader :name

    def initialize(owner, name)
      super("#{owner} received unexpected message #{name}")
      @name = name.to_s
    end
  end
end

# Where candidate expressions are evaluated.
class ProctorScope
  def double(name, **stubs) = ProctorDouble.new(name, stubs)

  def instance_double(type, **stubs)
    stubs.each_key do |key|
      raise ArgumentError, "#{type} does not implement #{key}" unless type.method_defined?(key)
    end
    ProctorDouble.new(type.name, stubs, type)
  end

  def place = binding
end
