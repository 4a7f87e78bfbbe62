# frozen_string_literal: true

# Objects made by the project's factories (FactoryBot), as code: `build_stubbed(:order, :paid)`. Which of the strategies an
# example needs is decided by what the call does: nothing with the database, only a validation, or queries.
module ProctorFactories
  # Code that makes an object by a factory; the strategy in it.
  CALL = /(?<![\w.:])(?:FactoryBot\.)?(?:build_stubbed|build|create)\((?=:\w)/.freeze
  STRATEGY = /build_stubbed|build|create/.freeze
  # Codes for one class; traits of one factory; traits of an associated one.
  MOST = 24
  TRAITS = 8
  OTHERS = 4
  # A factory that is given attributes.
  OVERRIDDEN = /#{CALL}:\w+(?:, :\w+)*, \w+: /.freeze
  # A moment for columns that hold one.
  MOMENT = "Time.utc(2024, 2, 29, 12)"

  # A stubbed object was asked to use the database: no StandardError, so that code under observation does not rescue it.
  class Unfit < Exception; end # rubocop:disable Lint/InheritException

  @codes = {}

  class << self
    attr_reader :troubles

    # To be called after the project was loaded. `bare` tells whether examples know `create` without `FactoryBot.`.
    def install(bare)
      @troubles = []
      return unless defined?(FactoryBot) && FactoryBot.respond_to?(:factories) && FactoryBot.factories.any?

      @prefix = bare ? "" : "FactoryBot."
      ProctorScope.include(FactoryBot::Syntax::Methods)
      FactoryBot::Strategy::Stub.prepend(Stubbed)
      @by_class = FactoryBot.factories.group_by { |factory| class_of(factory) }
      @by_class.delete(nil)
      @by_class.each { |type, list| @codes[type.name] = usable(type, list) if type.name }
    end

    # Codes for objects of a class, the plain one first.
    def codes(name) = @codes[name] || []

    def known?(name) = codes(name).any?

    def any? = @codes.any? { |_, list| list.any? }

    # The same code with another strategy.
    def with_strategy(code, strategy) = code.gsub(CALL) { |text| text.sub(STRATEGY, strategy) }

    def strategies(codes) = codes.flat_map { |code| code.to_s.scan(CALL) }.map { |text| text[STRATEGY] }.uniq

    # The strategy that a call needs which used these; nil if they fit.
    def needed(codes)
      used = strategies(codes)
      return nil if used.empty?

      wanted = ProctorQueries.count.positive? ? "create" : ProctorQueries.validated ? "build" : "build_stubbed"
      used == [wanted] ? nil : wanted
    end

    # The names that a factory call may be given, with what stands there now: {"total_cents" => 100}.
    def attributes(object)
      return {} unless ProctorRecords.record?(object)

      keys = object.class.reflect_on_all_associations(:belongs_to).map { |one| one.foreign_key.to_s }
      ProctorRecords.attributes(object).except(*keys)
    end

    # Objects in a code that the project would not store, for a reader wonders about them; nil if an attribute does not take its value.
    def oddities(code)
      return 0 unless code.include?("(:") && code.match?(OVERRIDDEN)

      (@oddities ||= {}).fetch(code) { @oddities[code] = judge(code) }
    end

    # Code with an attribute given to its first factory: `create(:order, total_cents: 5)`.
    def overridden(code, name, value)
      match = CALL.match(code)
      return nil unless match

      stop = ProctorCode.closing(code, match.end(0))
      return nil unless stop

      parts = ProctorCode.arguments(code, match.end(0)).map { |from, to| code[from...to] }
      parts.reject! { |part| part.start_with?("#{name}: ") }
      "#{code[0...match.end(0)]}#{[*parts, "#{name}: #{value}"].join(', ')}#{code[stop..]}"
    end

    # A value of the column's type instead of one that says only "something".
    def fitting(object, name, code)
      type = object.class.respond_to?(:type_for_attribute) && object.class.type_for_attribute(name).type
      return code if code.nil? || code == "nil"
      return MOMENT if %i[datetime time].include?(type)
      return "Date.new(2024, 2, 29)" if type == :date

      code
    end

    private

    # The first factory of a code, built: what its attributes became, and whether it is valid.
    def judge(code)
      match = CALL.match(code)
      stop = ProctorCode.closing(code, match.end(0))
      call = with_strategy(code[match.begin(0)..stop], "build")
      ProctorDatabase.begin
      object = ProctorScope.new.place.eval(call)
      return 0 unless ProctorRecords.record?(object)

      parts = ProctorCode.arguments(call, CALL.match(call).end(0)).map { |from, to| call[from...to] }
      given = parts.filter_map { |part| part.match(/\A(\w+): (?!nil\z)/) }.map { |found| found[1] }
      return nil if given.any? { |name| object.respond_to?(name) && object.public_send(name).nil? }

      object.valid? ? 0 : 1
    rescue StandardError, Unfit
      1
    ensure
      ProctorDatabase.rollback
    end

    def class_of(factory)
      factory.build_class
    rescue NameError
      nil
    end

    # Codes that really make an object; a factory that does not is reported.
    def usable(type, list)
      main, *others = list.sort_by.with_index { |factory, place| [factory.name.to_s == underscore(type.name) ? 0 : 1, place] }
      plain = call(main)
      reason = failure(plain)
      return (@troubles << "factory :#{main.name} was not used: #{reason}") && [] if reason

      more = traits(main).first(TRAITS).map { |name| call(main, ":#{name}") } + others.map { |factory| call(factory) } + associated(type, main) + listed(type, main)
      [plain] + more.uniq.first(MOST).select { |code| failure(code).nil? }
    end

    def call(factory, *args) = "#{@prefix}build_stubbed(#{[":#{factory.name}", *args].join(', ')})"

    def traits(factory)
      factory.compile
      factory.definition.defined_traits.map { |one| one.name.to_s }.uniq
    rescue StandardError
      []
    end

    # With each of the values that a validator lists.
    def listed(type, main)
      return [] unless type.respond_to?(:validators)

      rules = type.validators.select { |one| one.kind == :inclusion && one.options[:in].is_a?(Array) }
      rules.flat_map { |rule| rule.attributes.product(rule.options[:in].grep(String).first(TRAITS)) }.map { |name, value| call(main, "#{name}: #{value.inspect}") }
    end

    # With an associated object in each of its own states, or with one where there is none.
    def associated(type, main)
      return [] unless type.respond_to?(:reflect_on_all_associations)

      type.reflect_on_all_associations(:belongs_to).reject(&:polymorphic?).flat_map do |one|
        factory = (@by_class[one.klass] || []).first
        next [] unless factory

        states = traits(factory).first(OTHERS).map { |name| call(factory, ":#{name}") }
        [*(call(factory) if one.options[:optional]), *states].map { |code| call(main, "#{one.name}: #{code}") }
      end
    rescue StandardError
      []
    end

    # Why the code makes no object; nil if it does.
    def failure(code)
      ProctorDatabase.begin
      ProctorScope.new.place.eval(code)
      nil
    rescue StandardError, Unfit => e
      "#{e.class}: #{e.message.lines.first.to_s.strip}"
    ensure
      ProctorDatabase.rollback
    end

    def underscore(name) = name.split("::").last.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
  end

  # Objects of `build_stubbed` tell when they are asked to use the database.
  module Stubbed
    def result(evaluation)
      super.tap do |object|
        FactoryBot::Strategy::Stub::DISABLED_PERSISTENCE_METHODS.each do |name|
          object.define_singleton_method(name) { |*| raise Unfit, "uses the database" } if object.respond_to?(name)
        end
      end
    end
  end
end
