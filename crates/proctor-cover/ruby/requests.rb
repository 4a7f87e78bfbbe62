# frozen_string_literal: true

# How actions of controllers are called: with parameters that the controller asks for, a session, and a verb. The calls go
# through `requests_to` and `view_with` of `spec/support/requests.rb`. Mixed into what observes; needs `@values` and `@root`.
module ProctorRequests
  # Values of one parameter; sets of parameters; states of whoever is logged in.
  EACH = 5
  SETS = 40
  SESSIONS = 8
  # Names of parameters of one action.
  NAMES = 10
  VERBS = { "create" => ":post", "update" => ":patch", "destroy" => ":delete", "delete" => ":delete" }.freeze

  private

  def controller?(mod)
    defined?(ActionCalls) && defined?(ActionController::Metal) && mod.is_a?(Class) && mod < ActionController::Metal && !mod.abstract?
  end

  def action?(mod, name) = controller?(mod) && mod.action_methods.include?(name)

  # The first request loads and compiles what all others need: longer than a call may take.
  def warm_up_requests
    @instance_methods.each do |method, klass|
      @execute.value_of("requests_to(#{klass['name']}).#{method['name']}") if klass["requests"] && action?(klass["module"], method["name"])
    end
  end

  # What a request to an action may have: {keyword => codes}.
  def request_options(method, mod)
    own = source_of(mod, method["name"])
    file = controller_sources(mod)
    { "params" => parameter_sets(own, file, mod), "session" => sessions(file), "verb" => verbs(method["name"], own) }
  end

  # What turns a method of a controller into a request.
  def as_request(method, mod)
    options = request_options(method, mod).reject { |_, codes| codes.empty? }
    method.merge("params" => options.map { |name, codes| { "name" => name, "kind" => "optional_key", "usage" => {}, "codes" => codes } })
  end

  def source_of(mod, name)
    file, line = mod.instance_method(name).source_location
    return "" unless file.to_s.start_with?(@root)

    lines = File.readlines(file).drop(line - 1)
    indent = lines.first[/\A\s*/]
    lines.take(1 + (lines.drop(1).index { |text| text.start_with?("#{indent}end") } || 0)).join
  rescue StandardError
    ""
  end

  # The text of a controller, and of those that it descends from.
  def controller_sources(mod)
    (@controller_sources ||= {})[mod] ||= mod.ancestors.grep(Class).filter_map(&:name).filter_map do |name|
      path = Object.const_source_location(name)&.first.to_s
      File.read(path) if path.start_with?(@root) && File.file?(path)
    end
  end

  def verbs(name, source)
    asked = source.scan(/request\.(post|put|patch|delete|xhr)\?/).flatten.map { |verb| ":#{verb == 'xhr' ? 'get' : verb}" }
    [VERBS[name] || ":get", *asked, ":post"].uniq
  end

  # Names of parameters: those of the action first, then those of the rest of its file.
  def parameter_names(own, file)
    pattern = /\bparams(?:\[|\.(?:fetch|require|key\?|has_key\?|delete|dig)\()\s*[:"'](\w+)/
    (own.scan(pattern) + file.first.to_s.scan(pattern)).flatten.uniq.-(["format"]).first(NAMES)
  end

  def parameter_sets(own, file, mod)
    names = (parameter_names(own, file) | (own.include?("params") || file.first.to_s.match?(/before_action|before_filter/) ? ["id"] : []))
    choices = names.to_h { |name| [name, parameter_values(name, own + file.first.to_s, mod)] }.reject { |_, codes| codes.empty? }
    return ["{}"] if choices.empty?

    # What is found or stored by them is needed, the rest may be there.
    needed = choices.select { |name, codes| name == "id" || codes.first.start_with?("{") }.transform_values(&:first)
    sets = [needed, needed.slice("id")]
    sets.concat(needed.keys.flat_map { |name| choices[name].drop(1).map { |code| needed.merge(name => code) } })
    sets.concat(choices.except(*needed.keys).flat_map { |name, codes| codes.map { |code| needed.merge(name => code) } })
    sets.concat(needed.keys.map { |name| needed.except(name) })
    (sets.uniq.map { |set| hash_code(set) } + ["{}"]).uniq.first(SETS)
  end

  def hash_code(set) = set.empty? ? "{}" : "{ #{set.map { |name, code| "#{name}: #{code}" }.join(', ')} }"

  def parameter_values(name, text, mod)
    return models_of(mod, text).flat_map { |model| identifiers(model, name).first(2) } + ['"0"'] if name == "id" && models_of(mod, text).any?

    record = model_named(name.delete_suffix("_id").delete_suffix("_ids"))
    return identifiers(record, name) if record && name.match?(/(?:\A|_)ids?\z/)
    return attribute_sets(record) if record

    nested = text.scan(/params\[:#{name}\]\[:(\w+)\]/).flatten.uniq.first(6)
    nested |= text.scan(/require\(:#{name}\)\s*\.permit\(([^)]*)\)/).flatten.flat_map { |list| list.scan(/:(\w+)/) }.flatten.first(8)
    return [hash_code(nested.to_h { |one| [one, (ProctorNames.values(one) + ['"x"']).first] })] if nested.any?

    compared = text.scan(/params\[:#{name}\](?:\.to_s)?\s*[!=]=\s*(["'][^"'\n]*["']|\d+)/).flatten.map { |code| code.tr("'", '"') }
    (compared + ProctorNames.values(name) + ['"1"', '"x"', '""']).uniq.first(EACH)
  end

  # Models that a controller is about: `UsersController` is about `User`, and may find another that it names.
  def models_of(mod, text)
    return [] unless ProctorDatabase.active?

    named = text.scan(/\b[A-Z]\w+\b/).uniq.filter_map { |word| stored_classes.find { |one| one.name == word } }
    (named | [model_named(mod.name.to_s.split("::").last.to_s.delete_suffix("Controller"))]).compact.uniq.first(3)
  end

  def model_named(word)
    return nil unless ProctorDatabase.active?

    plain = word.to_s.delete("_").downcase
    found = stored_classes.select { |one| forms(one.name.split("::").last.downcase).include?(plain) }
    found.min_by { |one| one.name.length }
  end

  # Those that share a table with others, too.
  def stored_classes = @stored_classes ||= ActiveRecord::Base.descendants.select { |one| one.name && ProctorDatabase.record?(one) && one.table_exists? }.sort_by(&:name)

  def forms(word) = [word, "#{word}s", "#{word}es", "#{word.delete_suffix('y')}ies"]

  def identifiers(record, name)
    # One with all that it may belong to: guards look at that.
    stored = stored_codes(record)
    richest = stored.max_by { |code| [code.scan(".create!").length, -code.length] }
    codes = [stored.first, richest, *stored.drop(1)].compact.uniq.first(4).map { |code| "#{code}.id" }
    return codes.first(2).map { |code| "[#{code}]" } + ["[]"] if name.end_with?("ids")

    codes + ['"0"']
  end

  def stored_codes(record)
    return ProctorFactories.codes(record.name).first(4).map { |code| ProctorFactories.with_strategy(code, "create") } if ProctorFactories.known?(record.name)

    @values.records.instances(record).select { |code| code.start_with?("#{record.name}.create!") }.first(SESSIONS)
  end

  # What a form would send: attributes that are valid, none, and those with one missing.
  def attribute_sets(record)
    attributes = @values.records.valid(record, 0)
    return [] unless attributes

    plain = attributes.reject { |_, code| code.match?(/create!|\.new/) }
    sets = [plain, *plain.keys.first(3).map { |name| plain.merge(name => '""') }]
    sets.reject(&:empty?).map { |set| hash_code(set) }
  end

  # Who is logged in: keys that the controllers read from the session, when they are those of stored objects.
  def sessions(files)
    names = files.join("\n").scan(/\bsession\[:(\w+)\]/).flatten.uniq.first(NAMES)
    names.filter_map do |name|
      record = name.end_with?("_id") && model_named(name.delete_suffix("_id"))
      record && most_allowed(logged_in(record)).map { |code| "{ #{name}: #{code}.id }" }
    end.flatten.first(SESSIONS)
  end

  def logged_in(record) = ProctorFactories.known?(record.name) ? stored_codes(record) : @values.records.beside(record)

  # Whoever may do more comes first: guards let it pass.
  def most_allowed(codes)
    codes.sort_by(&:length).partition { |code| code.match?(/admin: true|role: :?"?admin/) }.flatten
  end
end
