# frozen_string_literal: true

# Factories that a project lacks: attributes with which an object is valid, from columns, validators and enums, and traits for
# its states. Every one of them is really built and stored, twice, before it is proposed; what cannot be made is answered with
# the reason. With `check`, factories that stand in files by now are built in the same way.
# Usage: ruby write_factories.rb JOB RESULT
require "json"
%w[names sample factory_values].each { |name| require_relative name }

class ProctorWriteFactories
  include ProctorFactoryValues

  # Values that are tried until an object is valid.
  ROUNDS = 40

  def initialize(job)
    @job = job
    @made = {}
    @troubles = {}
  end

  def answer
    load_project
    return { "installed" => false } unless defined?(FactoryBot) && defined?(ActiveRecord::Base) && connected?
    return { "installed" => true, "failures" => check } if @job["check"]

    @job["classes"].each { |name| define(name) }
    { "installed" => true, "factories" => @made.values.reject { |one| one["attributes"].nil? && one["traits"].empty? }, "troubles" => @troubles }
  end

  private

  def load_project
    Encoding.default_external = Encoding::UTF_8
    Dir.chdir(@job["root"])
    $VERBOSE = nil
    @job["load_paths"].reverse_each { |path| $LOAD_PATH.unshift(path) }
    @job["requires"].each { |path| require path }
  end

  def connected?
    !ActiveRecord::Base.connection.nil?
  rescue StandardError
    false
  end

  def model(name)
    found = Object.const_get(name)
    return nil unless found.is_a?(Class) && found < ActiveRecord::Base && !found.abstract_class? && found.table_exists?

    found.define_attribute_methods
    found
  rescue StandardError, ScriptError
    nil
  end

  # The factory that makes objects of this very class, the one with its name first.
  def factory_of(type)
    list = FactoryBot.factories.select { |factory| class_of(factory) == type }
    list.find { |factory| factory.name.to_s == short_name(type) } || list.first
  end

  def class_of(factory)
    factory.build_class
  rescue NameError
    nil
  end

  def short_name(type) = type.name.split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase

  def free_name(type)
    taken = FactoryBot.factories.map { |factory| factory.names.map(&:to_s) }.flatten
    [short_name(type), type.name.gsub("::", "").gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase].find { |name| !taken.include?(name) }
  end

  # Makes the factory of a class known here; says under which name, or nil.
  def define(name)
    type = model(name)
    return nil unless type
    return @made[name]["factory"] if @made[name]
    return nil if @troubles[name]

    known = factory_of(type)
    known ? extend_known(type, known.name.to_s) : define_new(type)
  end

  def extend_known(type, factory)
    traits = known_traits(factory)
    wanted = (@job["states"][type.name] || []).reject { |state| traits.include?(state["trait"]) }
    @made[type.name] = { "class" => type.name, "factory" => factory, "plural" => factory.pluralize, "attributes" => nil, "traits" => [] }
    @made[type.name]["traits"] = usable_traits(type, factory, wanted)
    factory
  end

  def known_traits(factory)
    found = FactoryBot.factories.find(factory)
    found.compile
    found.definition.defined_traits.map { |one| one.name.to_s }
  end

  def define_new(type)
    # Two classes that need each other: the second does without.
    return nil if (@open ||= []).include?(type)

    factory = free_name(type)
    @open << type
    attributes = valid_attributes(type)
    return nil unless attributes

    FactoryBot.define { factory(factory, class: type.name) { attributes.each { |one| ProctorWriteFactories.add(self, one) } } }
    reason = failure(factory)
    return give_up(type, reason) if reason

    entry = @made[type.name] = { "class" => type.name, "factory" => factory, "plural" => factory.pluralize, "attributes" => attributes, "traits" => [] }
    entry["traits"] = usable_traits(type, factory, own_states(type) + (@job["states"][type.name] || []))
    factory
  ensure
    @open.delete(type)
  end

  def give_up(type, reason)
    @troubles[type.name] = reason
    nil
  end

  # One line of a factory, as FactoryBot is told it.
  def self.add(definition, one)
    case one["kind"]
    when "association" then definition.association(one["name"], factory: one["factory"].to_sym)
    when "sequence" then definition.sequence(one["name"].to_sym, &eval("proc { |n| #{one['code']} }")) # rubocop:disable Security/Eval, Style/EvalWithLocation
    else definition.add_attribute(one["name"], &eval("proc { #{one['code']} }")) # rubocop:disable Security/Eval, Style/EvalWithLocation
    end
  end

  # Why objects of a factory cannot be made; nil if they can, twice.
  def failure(factory, *traits, **attributes)
    undone do
      object = FactoryBot.build(factory, *traits, **attributes)
      next object.errors.full_messages.join(", ") unless object.valid?

      2.times { FactoryBot.create(factory, *traits, **attributes) }
      FactoryBot.build_stubbed(factory, *traits, **attributes)
      nil
    end
  rescue StandardError, ScriptError => e
    "#{e.class}: #{e.message.lines.first.to_s.strip}"
  end

  def undone
    result = nil
    ActiveRecord::Base.transaction(requires_new: true, joinable: false) do
      result = yield
      raise ActiveRecord::Rollback
    end
    result
  end

  # Attributes with which an object is valid: asked of the object itself, again and again.
  def valid_attributes(type)
    chosen = needed(type).to_h { |name| [name, candidate(type, name, 0)] }
    tried = Hash.new(0)
    ROUNDS.times do
      wrong, reason = undone { wrong_in(type, chosen) }
      return distinct(type, chosen) if wrong.empty?

      name = wrong.find { |one| candidate(type, one, tried[one]) }
      return give_up(type, "no valid #{type.name} was found: #{reason}") unless name

      chosen[name] = candidate(type, name, tried[name])
      tried[name] += 1
    end
    give_up(type, "no valid #{type.name} was found in #{ROUNDS} attempts")
  end

  # Attributes that keep an object from being stored, and what is said about them.
  def wrong_in(type, chosen)
    object = type.new(chosen.transform_values { |one| value_of(one) })
    return [object.errors.attribute_names.map { |name| owner_of(type, name.to_s) || name.to_s }, object.errors.full_messages.join(", ")] unless object.valid?

    object.save!
    [[], nil]
  rescue ActiveRecord::NotNullViolation => e
    column = e.message[/\.(\w+)\s*\z/, 1] || e.message[/column "(\w+)"/, 1]
    [[owner_of(type, column.to_s) || column].compact, e.message.lines.first.strip]
  rescue StandardError, ScriptError => e
    [["base"], "#{e.class}: #{e.message.lines.first.to_s.strip}"]
  end

  def value_of(one)
    return FactoryBot.build(one["factory"]) if one["kind"] == "association"

    code = one["kind"] == "sequence" ? "n = 1; #{one['code']}" : one["code"]
    eval(code) # rubocop:disable Security/Eval, Style/EvalWithLocation
  end

  # What must be unique is counted; what is left is in the order of the columns, what it belongs to first.
  def distinct(type, chosen)
    chosen.each { |name, one| chosen[name] = counted(type, name, one) if one["kind"] == "value" && unique?(type, name) }
    order = type.column_names
    chosen.values.sort_by { |one| [one["kind"] == "association" ? 0 : 1, order.index(one["name"]) || order.length] }
  end

  # The same as a sequence, if an object is valid with its first and second value.
  def counted(type, name, one)
    sequences(one["code"]).find do |code|
      (1..2).all? { |n| type.new(name => eval("n = #{n}; #{code}")).tap(&:valid?).errors[name].empty? } # rubocop:disable Security/Eval, Style/EvalWithLocation
    rescue StandardError
      false
    end.then { |code| code ? { "kind" => "sequence", "name" => name, "code" => code } : one }
  end

  # Traits with which objects are valid and in the state that the trait is named after.
  def usable_traits(type, factory, states)
    taken = known_traits(factory)
    states.uniq { |state| state["trait"] }.filter_map do |state|
      code = state_code(type, state)
      next if code.nil? || (!state["named"] && taken.include?(state["trait"])) || usual?(factory, state["attribute"], code)

      reason = failure(factory, state["attribute"].to_sym => eval(code)) # rubocop:disable Security/Eval, Style/EvalWithLocation
      if reason
        @troubles["#{type.name}, trait :#{state['trait']}"] = reason
        next
      end
      { "name" => state["trait"], "attributes" => [{ "kind" => "value", "name" => state["attribute"], "code" => code }] }
    end
  end

  # Whether an object is in this state without any trait.
  def usual?(factory, name, code)
    value = undone { FactoryBot.build(factory).public_send(name) }
    wanted = eval(code) # rubocop:disable Security/Eval, Style/EvalWithLocation
    value == wanted || (wanted.is_a?(Symbol) && value.to_s == wanted.to_s)
  rescue StandardError
    false
  end

  # Factories and traits that stand in files: {"order" => reason, "order paid" => reason}.
  def check
    @job["check"].each_with_object({}) do |one, found|
      name = one["factory"].to_sym
      next found[one["factory"]] = "the project's specs do not load it" unless FactoryBot.factories.registered?(name)

      reason = failure(name)
      found[one["factory"]] = reason if reason
      one["traits"].each do |trait|
        reason = failure(name, trait.to_sym)
        found["#{one['factory']} #{trait}"] = reason if reason
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  job, result = ARGV
  ARGV.clear
  File.write(result, JSON.generate(ProctorWriteFactories.new(JSON.parse(File.read(job))).answer))
end
