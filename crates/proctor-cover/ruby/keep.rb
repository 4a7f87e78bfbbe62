# frozen_string_literal: true

require "set"

# Settings of the project's classes and modules: what they hold before a call is put back after it, so that calls that change
# settings can be shown without disturbing others. A spec does the same around its examples, with the code of `lines`.
class ProctorKeep
  # Modules looked at, and parts of a collection: larger ones are tables that nobody copies.
  MODULES = 150
  PARTS = 60
  COLLECTIONS = [Array, Hash, String, Set].freeze
  VARIABLES = Kernel.instance_method(:instance_variables)
  READ = Kernel.instance_method(:instance_variable_get)
  WRITE = Kernel.instance_method(:instance_variable_set)
  CLASS = Kernel.instance_method(:class)

  ENVIRONMENT = ["environment", "ENV.to_h", "ENV.replace(%s)"].freeze

  # A place that holds something: a variable of a module (`kind` is instance or class), or a constant. `copy` is there for
  # what can change inside: a collection as it was, or the variables of an object.
  Slot = Struct.new(:kind, :owner, :name, :value, :copy, :object) do
    def now
      case kind
      when :instance then READ.bind_call(owner, name)
      when :class then owner.class_variable_get(name)
      else value
      end
    end

    def changed? = !now.equal?(value) || inside?

    # Whether it is the same thing with something else in it.
    def inside?
      return false unless copy
      return value.length != copy.length || value != copy unless object

      copy.any? { |name, part| !READ.bind_call(value, name).equal?(part) } || VARIABLES.bind_call(value).length != copy.length
    end

    def restore
      if copy && object
        (VARIABLES.bind_call(value) - copy.keys).each { |name| value.remove_instance_variable(name) }
        copy.each { |name, part| WRITE.bind_call(value, name, part) }
      elsif inside?
        value.replace(copy)
      end
      case kind
      when :instance then WRITE.bind_call(owner, name, value)
      when :class then owner.class_variable_set(name, value)
      end
    end

    # What a spec writes: [a variable, how it is read, how it is put back].
    def lines
      local = name.to_s.delete("@").downcase
      return [local, "#{owner.name}::#{name}.dup", "#{owner.name}::#{name}.replace(%s)"] if kind == :constant

      return [local, "#{owner.name}.#{local}#{'.dup' if copy}", "#{owner.name}.#{local} = %s"] if accessor?(local)

      [local, "#{owner.name}.#{kind}_variable_get(:#{name})#{'.dup' if copy}", "#{owner.name}.#{kind}_variable_set(:#{name}, %s)"]
    end

    # Whether there is a plain reader and writer for it, as `attr_accessor` makes them.
    def accessor?(plain)
      kind == :instance && "@#{plain}" == name.to_s && owner.respond_to?(plain) && owner.respond_to?("#{plain}=") &&
        owner.method(plain).parameters.empty? && owner.method("#{plain}=").parameters.flatten.length == 1
    end
  end

  # The lines of what was different after a call; whether changes stay, to see who else would notice them.
  attr_reader :touched
  attr_accessor :off

  def initialize(names)
    @modules = names.first(MODULES).filter_map { |name| constant(name) }
    @touched = []
  end

  def start
    @touched = []
    return if @slots

    @slots = @modules.flat_map { |mod| slots_of(mod) }
    @counts = @modules.to_h { |mod| [mod, count(mod)] }
    @filled = false
  end

  # The slots that are not what they were; those that were filled for the first time only if `all`.
  def changes(all)
    found = @slots.select(&:changed?)
    @modules.each { |mod| found.concat(added(mod)) if count(mod) != @counts[mod] }
    chosen = found.select { |slot| all || !slot.value.nil? }
    @filled = chosen.length < found.length
    chosen
  end

  # Puts everything back. What was filled for the first time is a memory of its own, unless it was assigned (`all`).
  def restore(all)
    return if @off || @slots.nil?

    found = changes(all)
    @touched = found.map(&:lines)
    found.each(&:restore)
    @slots = nil if @filled || found.any?
  rescue StandardError
    @slots = nil
  end

  # Assignments to settings that have a writer: what stands there now, and something else.
  def assignments
    @modules.flat_map { |mod| slots_of(mod) }.select { |slot| slot.kind != :constant && slot.owner.respond_to?("#{slot.name.to_s.delete('@')}=") }.to_h do |slot|
      name = "#{slot.owner.name}.#{slot.name.to_s.delete('@')}"
      [name, others(slot.value).map { |code| "#{name} = #{code}" }]
    end
  end

  private

  def others(value)
    case value
    when true then %w[false nil]
    when false then %w[true]
    when nil then ["true", '"a"', "1"]
    when Integer then [(value + 1).to_s, "0", "nil"]
    when String then ['"a"', '""', "nil"]
    when Symbol then [":a", "nil"]
    when Array then ["[]", '["a"]', "nil"]
    when Hash then ["{}", "{ a: 1 }"]
    else ["nil"]
    end
  end

  def constant(name)
    found = Object.const_get(name)
    found if Module === found && !ProctorShared::CORE.include?(found) && !ProctorShared.framework?(found)
  rescue StandardError, ScriptError
    nil
  end

  def count(mod) = variables(mod).length + mod.class_variables(false).length

  def variables(mod) = VARIABLES.bind_call(mod).reject { |name| ProctorDatabase.internal?(mod, name) }

  def slots_of(mod)
    own = variables(mod).map { |name| slot(:instance, mod, name, READ.bind_call(mod, name)) }
    common = mod.class_variables(false).map { |name| slot(:class, mod, name, mod.class_variable_get(name)) }
    tables = mod.constants(false).reject { |name| mod.autoload?(name) }.map { |name| slot(:constant, mod, name, mod.const_get(name)) }
    own + common + tables.select { |made| made.copy && !made.object }
  rescue StandardError, ScriptError
    []
  end

  # Variables that were not there before.
  def added(mod)
    known = @slots.select { |slot| slot.owner.equal?(mod) }.map(&:name)
    slots_of(mod).reject { |slot| known.include?(slot.name) || slot.kind == :constant }.each do |slot|
      slot.value = slot.copy = slot.object = nil
    end
  end

  def slot(kind, mod, name, value)
    type = CLASS.bind_call(value)
    return Slot.new(kind, mod, name, value, value.dup) if COLLECTIONS.include?(type) && !value.frozen? && value.length <= PARTS
    return Slot.new(kind, mod, name, value) unless @modules.include?(type) && !(Module === value)

    Slot.new(kind, mod, name, value, VARIABLES.bind_call(value).to_h { |variable| [variable, READ.bind_call(value, variable)] }, true)
  end
end
