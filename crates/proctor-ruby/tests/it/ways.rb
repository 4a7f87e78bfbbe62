# All ways to write methods, for the oracle; never run.
module Tools
  module_function
  def help(x) = x
end
class Base; end
class A < Base
  attr_reader :a
  class << self
    attr_accessor :setting
    def make(...) = new(...)
    private def hidden; end
  end
  def self.build(a:, b: 1, **rest, &block) = new
  def initialize(a, *list, last, key:) = @a = a
  def [](i) = @a[i]
  def []=(i, v)
    @a[i] = v
  end
  def <=>(other) = a <=> other.a
  def +@ = self
  def ! = false
  def call; end
  def a=(v); @a = v; end
  def one = 1
  private
  def two; end
  attr_reader :secret
  public
  def three; end
  protected def four; end
  def five; end
  def six; end
  private :five, 'six'
  private_class_method :build
  def seven; end
  def eight; end
  private(*%i[seven eight])
  private attr_reader :nine
  if RUBY_VERSION > '3'
    def modern; 1; end
  else
    def modern; 2; end
    def old; 3; end
  end
  def gone; end
  undef gone
  def gone_too; end
  remove_method :gone_too
end
B = Class.new(Base) do
  def b; end
end
C = Struct.new(:x, :y) do
  def sum = x + y
end
D = Data.define(:z) do
  def twice = z * 2
end
A::E = Class.new(StandardError)
