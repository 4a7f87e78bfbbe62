# frozen_string_literal: true

# What all examples of a process share: settings and constants of the project's classes and modules, their methods, globals,
# environment, folder, chance. Two looks at it tell whether a call left something behind that another example would see.
class ProctorShared
  # Parts of one value that are looked at, and how deep.
  PARTS = 400
  DEPTH = 5
  CORE = [Object, Kernel, Module, Class, Comparable, Enumerable, String, Symbol, Integer, Float, Array, Hash, Range, NilClass,
          TrueClass, FalseClass, Proc, Struct, Time, Regexp].freeze
  # Globals that there were before the project was loaded, most of which change by themselves.
  BUILT_IN = global_variables.freeze
  WATCHED = %i[$VERBOSE $DEBUG $, $; $/ $\\ $PROGRAM_NAME].freeze
  KIND = Kernel.instance_method(:class)
  VARIABLES = Kernel.instance_method(:instance_variables)
  READ = Kernel.instance_method(:instance_variable_get)

  # What is cheap to look at after every call, and can be put back.
  Place = Struct.new(:folder, :seed, :encodings, :arguments) do
    def self.now = new(Dir.pwd, Random.seed, [Encoding.default_external, Encoding.default_internal], ARGV.dup)

    # Whether something had to be put back.
    def restore
      return false if self == Place.now

      Dir.chdir(folder)
      srand(seed) if Random.seed != seed
      Encoding.default_external, Encoding.default_internal = encodings
      ARGV.replace(arguments)
      true
    end
  end

  def initialize(names)
    @names = names
  end

  # {place => what stands there}, as numbers that mean something in this process only.
  def look
    found = { "ENV" => ENV.to_h.hash, "the current folder" => Dir.pwd, "the random seed" => Random.seed,
              "encodings" => [Encoding.default_external, Encoding.default_internal].hash, "constants" => Object.constants.hash }
    (WATCHED + global_variables - BUILT_IN).uniq.each { |name| found[name.to_s] = digest(value_of(name)) }
    CORE.each { |mod| found["methods of #{mod}"] = methods_of(mod) }
    thread = Thread.current
    found["variables of the thread"] = (thread.keys - [:__recursive_key__]).sort.map { |key| [key, thread[key].__id__] }.hash
    modules.each { |name, mod| look_at(name, mod, found) }
    found
  end

  # Classes whose variables belong to Rails, which fills them when it likes.
  def self.framework?(mod)
    mod.is_a?(Class) && mod.ancestors.any? { |one| %w[ActiveRecord::Base ActionMailer::Base ActiveJob::Base ActionController::Metal].include?(one.name) }
  end

  # The places that are not the same.
  def self.changes(before, after) = (before.keys | after.keys).reject { |key| before[key] == after[key] }

  private

  def value_of(name) = eval(name.to_s) # rubocop:disable Security/Eval, Style/EvalWithLocation

  def modules
    @modules ||= @names.filter_map do |name|
      mod = Object.const_get(name)
      [name, mod] if Module === mod && !CORE.include?(mod) && !ProctorShared.framework?(mod)
    rescue StandardError, ScriptError
      nil
    end
  end

  def look_at(name, mod, found)
    VARIABLES.bind_call(mod).reject { |variable| ProctorDatabase.internal?(mod, variable) }.each { |variable| found["#{name} #{variable}"] = digest(READ.bind_call(mod, variable)) }
    mod.class_variables(false).each { |variable| found["#{name} #{variable}"] = digest(mod.class_variable_get(variable)) }
    mod.constants(false).each do |constant|
      next if mod.autoload?(constant)

      value = mod.const_get(constant)
      found["#{name}::#{constant}"] = Module === value ? value.__id__ : digest(value)
    end
    found["methods of #{name}"] = methods_of(mod)
  rescue StandardError, ScriptError
    found["methods of #{name}"] ||= 0
  end

  def methods_of(mod)
    # ActiveRecord defines methods when they are first called.
    return mod.instance_methods(false).select { |name| mod.instance_method(name).source_location&.first.to_s.start_with?(Dir.pwd) }.hash if defined?(ActiveRecord::Base) && mod.is_a?(Class) && mod <= ActiveRecord::Base

    [mod.instance_methods(false), mod.private_instance_methods(false), mod.singleton_methods(false), mod.ancestors.length].hash
  end

  # A number for the value and what it holds; what nobody can change is its own.
  def digest(value)
    # The same as not being there.
    return nil if nil.equal?(value)
    return value.__id__ if BasicObject === value && !(Object === value)
    return value.hash if (String === value || Symbol === value || Numeric === value) && value.frozen?
    return value.__id__ if defined?(Ractor) && Ractor.shareable?(value)

    @left = PARTS
    deep(value, DEPTH)
  end

  def deep(value, depth)
    return 0 if (@left -= 1).negative?
    return value.__id__ unless Object === value

    case value
    when nil, true, false, Numeric, Symbol, String, Regexp then value.hash
    when Array then depth.zero? ? value.length : [value.length, *value.first(PARTS).map { |item| deep(item, depth - 1) }].hash
    when Hash then depth.zero? ? value.length : [value.length, *value.first(PARTS).map { |key, item| [deep(key, depth - 1), deep(item, depth - 1)] }].hash
    when Module, Proc, Method, IO, Thread then value.__id__
    else object(value, depth)
    end
  rescue StandardError
    value.__id__
  end

  def object(value, depth)
    inner = VARIABLES.bind_call(value)
    inner = inner.map { |name| deep(READ.bind_call(value, name), depth - 1) } unless depth.zero?
    inner += value.to_a.map { |item| deep(item, depth - 1) } if Struct === value && depth.positive?
    [KIND.bind_call(value).__id__, inner].hash
  end
end
