# frozen_string_literal: true

# What a search asks of the values: texts for a pattern, things that answer a call, blocks that use an object.
class ProctorValues
  # Texts that match a regular expression.
  def matching(regexp)
    (@matching ||= {})[regexp] ||= ProctorSample.for(regexp, Random.new(7), 16)
  end

  # Messages that an object may not know: ordinary ones of every form, then names that stand in the source.
  def messages
    @messages ||= (%w[:a :name :a? :a! :a=] + @literals.map { |code| code[/\A"([a-z_]\w*[?!=]?)"\z/, 1]&.then { |name| ":#{name}" } || code }.grep(/\A:[a-z_]\w*[?!=]?\z/)).uniq.first(40)
  end

  # Codes of things that answer these calls: own ones first, then Ruby's, then a stand-in.
  def responding(names, owner)
    (@responding ||= {})[[names, @instances.length]] ||= begin
      core = core_responding(names)
      list = own_responding(names, core.empty? ? nil : owner) + core
      list = stand_ins(names) if list.empty?
      list
    end
  end

  # Blocks that call what an object offers, as what they are given (`:yield`) or as themselves (`:self`).
  def uses_of(object, kind)
    owner = Kernel.instance_method(:class).bind_call(object)
    return [] unless owner.ancestors.any? { |mod| @classes.include?(mod.name) }

    calls = callable(owner).flat_map { |id, method| uses(method, id[/\A[\w:]+/]) }.first(30)
    calls += calls.each_slice(2).filter_map { |one, two| two && "#{one}; #{two}" }.first(6)
    return calls.map { |call| "{ #{call} }" } if kind == :self

    calls.map { |call| "{ |it| #{call.split('; ').map { |part| "it.#{part.delete_prefix('self.')}" }.join('; ')} }" }
  rescue NoMethodError
    []
  end

  # What a reader expects under a name, if that is known.
  def usual(name) = (ProctorNames.values(name) + ProctorNames.types(name).select { |type| loaded?(type) }.flat_map { |type| CORE[type].first(1) }).first

  private

  # Where Ruby's own values would do (`owner` is given), only those of its own namespace.
  def own_responding(names, owner)
    found = instances_of do |name, type|
      names.all? { |call| type.method_defined?(call) } && (owner.nil? || (name.include?("::") && name.split("::").first == owner.split("::").first))
    end
    found.values.flat_map { |codes| codes.first(2) }.first(6)
  end

  def class_named(name)
    found = Object.const_get(name)
    found if found.is_a?(Class)
  rescue StandardError, ScriptError
    nil
  end

  def core_responding(names)
    types = PROBED.select { |type| loaded?(type) && names.all? { |call| Object.const_get(type).method_defined?(call) } }
    types.first(4).flat_map { |type| CORE[type].first(type == types.first ? 3 : 1) }
  end

  def stand_ins(names)
    return [] unless names.all? { |name| name.match?(/\A[a-z_]\w*[?!]?\z/) }

    usual = names.to_h { |name| [name, usual(name) || '"x"'] }
    [usual, *['"x"', "1", "true", "nil"].map { |value| names.to_h { |name| [name, value] } }].uniq.map { |answers| ProctorStandIns.code("collaborator", answers) }
  end

  # Public methods of an object's project classes, as the job knows them.
  def callable(owner)
    names = owner.ancestors.map(&:name)
    @methods.select { |id, method| names.include?(id[/\A[\w:]+/]) && id.include?("#") && owner.method_defined?(method["name"]) && owner.public_method_defined?(method["name"]) }
            .reject { |_, method| %w[initialize to_s inspect].include?(method["name"]) }.first(14)
  end

  def uses(method, owner)
    name = method["name"]
    return [] unless name.match?(/\A[a-z_]\w*[?!=]?\z/i)

    lists = method["params"].select { |param| param["kind"] == "required" }.map { |param| for_param(param, owner) }
    more = method["params"].select { |param| param["kind"] == "optional" }.map { |param| for_param(param, owner) }
    calls = (0..1).map { |place| lists.map { |list| list[place] || list.first || "nil" } }
    calls.concat((0..1).map { |place| (lists.map(&:first) + more.map { |list| list[place] }).map { |code| code || "nil" } }) if more.any?
    calls.map do |args|
      if name.end_with?("=") then "self.#{name.delete_suffix('=')} = #{args.first}"
      else args.empty? ? name : "#{name}(#{args.join(', ')})"
      end
    end.uniq
  end
end
