# frozen_string_literal: true

require_relative "record_values"

# Objects that validate themselves and are not stored (`ActiveModel::Model`): attributes with which they are valid, as Ruby code,
# and what they work with as stand-ins. Then objects that differ in one attribute, or break one rule.
class ProctorFormValues < ProctorRecordValues
  # Stand-ins of one collaborator; objects of one class.
  EACH_COLLABORATOR = 8
  MOST = 80

  # A class as the search for attributes of stored objects sees it: attributes are columns, and nothing belongs to anything.
  class Table
    def initialize(mod)
      @mod = mod
    end

    def name = @mod.name
    def validators = @mod.validators
    def validators_on(name) = @mod.validators_on(name)
    def method_defined?(name) = @mod.method_defined?(name)
    def instance_method(name) = @mod.instance_method(name)
    def column_names = attribute_types_of.keys | (@mod.public_instance_methods.grep(/\A[a-z]\w*=\z/).map { |name| name.to_s.delete_suffix("=") }.select { |name| validated?(name) })
    def type_for_attribute(name) = attribute_types_of[name.to_s] || ActiveModel::Type::Value.new
    def validated?(name) = validators_on(name).any?
    def defined_enums = {}
    def columns_hash = {}
    def column_defaults = {}
    def primary_key = nil
    def inheritance_column = nil
    def reflect_on_all_associations(*) = []
    def reflect_on_association(*) = nil

    private

    def attribute_types_of = @mod.respond_to?(:attribute_types) ? @mod.attribute_types : {}
  end

  # Whether objects of a class are made with a table of their attributes, as ActiveModel has it.
  def self.form?(mod)
    defined?(ActiveModel::Validations) && mod.is_a?(Class) && mod.include?(ActiveModel::Validations) && defined?(ActiveModel::AttributeAssignment) &&
      mod.include?(ActiveModel::AttributeAssignment) && !ProctorDatabase.record?(mod) && mod.instance_method(:initialize).owner.name.to_s.start_with?("ActiveModel::")
  end

  # Codes of objects, the plainest first; `collaborators` are stand-ins by attribute.
  def forms(mod, collaborators)
    table = Table.new(mod)
    base = satisfied(table, 0, []) || {}
    full = base.merge(collaborators.transform_values(&:first))
    changed = collaborators.flat_map { |name, codes| codes.first(EACH_COLLABORATOR).map { |code| full.merge(name => code) } }
    changed += differing(table).map { |name, code| full.merge(name => code) }
    changed += invalid(table, base).map { |one| full.merge(one) }
    [full, *changed, base, {}].uniq.first(MOST).map { |one| written(table, "new", one) }
  end

  private

  def trouble_with(table, chosen)
    made = build(written(table, "new", chosen))
    made.valid? ? [] : made.errors.attribute_names.map(&:to_s)
  rescue StandardError, ScriptError
    ["base"]
  end

  # What is said twice must be the same.
  def choose(table, name, chosen, turn, above)
    twin = chosen[name.delete_suffix("_confirmation")] if name.end_with?("_confirmation")
    return super unless twin && !trouble_with(table, chosen.merge(name => twin)).include?(name)

    chosen[name] = twin
    true
  end

  def candidates(table, name, _turn, _above)
    list = listed(table, name)
    list = bounded(table, name) + matching(table, name) + by_name(table, name) + typed(table, name) if list.empty?
    (list.map { |code| sized(table, name, code) } + ["true", '"a"', "1"]).compact.uniq
  end

  def broken?(table, attributes)
    !build(written(table, "new", attributes)).valid?
  rescue StandardError, ScriptError
    false
  end
end
