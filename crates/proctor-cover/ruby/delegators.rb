# frozen_string_literal: true

# Objects that stand for others (`SimpleDelegator`): what they ask of themselves and do not define, they ask of the object that
# they were given. Mixed into what observes; needs `@values`.
module ProctorDelegators
  private

  # Puts what is asked of the object to the first parameter of the constructor; a constructor that is inherited is written out.
  def delegate(klass, mod)
    return unless defined?(Delegator) && mod.is_a?(Class) && mod < Delegator

    usage = asked_of_object(klass, mod)
    constructor = klass["methods"].find { |method| method["name"] == "initialize" } || inherited_constructor(klass)
    param = constructor["params"].find { |one| %w[required optional].include?(one["kind"]) }
    param["usage"] = @values.combine(param["usage"] || {}, usage) if param
  end

  def asked_of_object(klass, mod)
    calls = (klass["delegated"] || {})["calls"] || {}
    { "calls" => calls.reject { |name, _| Kernel.private_method_defined?(name) || mod.method_defined?(name) || mod.private_method_defined?(name) } }
  end

  # `OrderPresenter` and `OrderDecorator` are given an order.
  def inherited_constructor(klass)
    word = klass["name"].split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase.sub(/_(?:presenter|decorator|wrapper|delegator|view_model|view)\z/, "")
    method = { "id" => "#{klass['name']}#initialize", "name" => "initialize", "scope" => "instance", "params" => [{ "name" => word, "kind" => "required", "usage" => {} }],
               "yields" => false, "probes" => [0, 0], "plain" => [], "testable" => true, "selected" => false }
    klass["methods"].unshift(method)
    method
  end
end
