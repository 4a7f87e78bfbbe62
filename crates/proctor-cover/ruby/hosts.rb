# frozen_string_literal: true

# Objects on which the methods of a module can be called: those of classes that include it, classes that extend it, a view for
# helpers of views. Where nothing suits, an empty class includes it. Mixed into what observes; needs `@values` and `@root`.
module ProctorHosts
  # Classes of the project that are looked at for one module, and objects of each.
  CLASSES = 3
  OBJECTS = 6

  private

  # Codes of objects with the methods of a module, the most suitable first.
  def hosts_of(name, mod)
    empty = ["Class.new { include #{name} }.new", "Struct.new(:a, :b) { include #{name} }.new(1, 2)"]
    return views(name) + empty if view?(name)

    suitable = extended(name, mod) + including(mod).flat_map { |host| objects_of(host) }
    # Methods for classes: the class is the object.
    suitable << "Class.new { extend #{name} }" if name.end_with?("::ClassMethods")
    suitable.concat(stored_with(name, mod)) if suitable.empty?
    suitable.empty? ? empty : (suitable + empty).uniq
  end

  # Helpers of views expect what a view offers.
  def view?(name) = name.end_with?("Helper") && defined?(ActionCalls) && ActionCalls.method_defined?(:view_with)

  def views(name) = ["view_with(#{name})"]

  # Classes that have the methods themselves: a class of the project, made anew so that nothing is left behind, or one that
  # includes the module around it, which brings them along.
  def extended(name, mod)
    found = own_classes.select { |host| host.singleton_class.include?(mod) }.first(CLASSES).map { |host| "Class.new(#{host.name})" }
    around = name.include?("::") && constant(name.rpartition("::").first)
    found << "Class.new { include #{around.name} }" if around.instance_of?(Module) && brings?(around, mod)
    found
  end

  # Whether a class gets these methods when it includes the module around them.
  def brings?(around, mod)
    Class.new { include around }.singleton_class.include?(mod)
  rescue StandardError, ScriptError
    false
  end

  # Some modules can only be included in what is stored: their `included` speaks of callbacks and associations.
  def stored_with(name, mod)
    return [] if !ProctorDatabase.active? || includable?(mod)

    ProctorDatabase.records.select { |record| own_class?(record) }.first(CLASSES).flat_map do |record|
      @values.records.instances(record).first(2).map { |code| code.sub(record.name) { "Class.new(#{record.name}) { include #{name} }" } }
    end
  end

  def includable?(mod)
    Class.new { include mod }
    true
  rescue StandardError, ScriptError
    false
  end

  def including(mod) = own_classes.select { |host| host.include?(mod) }.first(CLASSES)

  def objects_of(host)
    return @values.records.instances(host).first(OBJECTS) if ProctorDatabase.active? && ProctorDatabase.record?(host) && host.table_exists?
    return [] unless host.respond_to?(:new) && host.instance_method(:initialize).arity.then { |arity| arity.zero? || arity == -1 }

    ["#{host.name}.new"]
  end

  # Classes that the project defines and that can be named.
  def own_classes
    @own_classes ||= ObjectSpace.each_object(Class).select { |one| own_class?(one) }.sort_by(&:name)
  end

  def own_class?(one)
    name = Module.instance_method(:name).bind_call(one)
    return false if name.nil? || !name.match?(/\A[A-Z]/) || one.singleton_class?

    path = Object.const_source_location(name)&.first.to_s
    path.start_with?("#{@root}/") && !path.start_with?("#{@root}/spec/") && Object.const_get(name).equal?(one)
  rescue StandardError, ScriptError
    false
  end
end
