# frozen_string_literal: true

require "json"
require_relative "plain" unless defined?(Proctor::Plain)
require_relative "value_class"
require_relative "stable_example_id"

module Proctor
  # The events of a run, as value objects: `Events::UserMessage.new(example_id:, turn_number:, text:, …)`. Every field may be
  # left out. Fields that a newer host adds are found by `event[:name]`.
  module Events
    # What all events have.
    ENVELOPE = %i[time example_id repeat attempt worker seq run_id v].freeze
    # Words of a fixed list; they are symbols here and texts in JSON.
    WORDS = %i[status fault source trigger termination_reason invariant_type mode stream state].to_h { |name| [name, true] }.freeze

    # By name.
    TYPES = {} # rubocop:disable Style/MutableConstant

    # What every event can do.
    module Common
      def event_type
        self.class.event_type
      end

      # A field by its name, be it one that this version does not know.
      def [](name)
        name = name.to_sym
        return other_fields[name] if other_fields.key?(name)

        public_send(name) if name == :event_type || name == :example_id || members.include?(name)
      end

      # The fields of the type, then the others that are set.
      def to_h
        own = self.class.own_fields
        fields = members.each_with_object({}) do |name, found|
          next if name == :other_fields

          value = public_send(name)
          found[name] = value if own.include?(name) || !value.nil?
        end
        fields[:example_id] = example_id if own.first == :id
        fields.merge!(other_fields).merge!(event_type: event_type)
      end

      def to_json(*arguments)
        Plain.value(Events.plain(to_h)).to_json(*arguments)
      end
    end

    class << self
      # Defines an event: its own fields in their order, and what this version adds to them.
      def define(name, own, *more, &block)
        own = own.dup.freeze
        names = (own + more + ENVELOPE + [:other_fields]).uniq
        names.delete(:example_id) if own.first == :id
        empty = names.to_h { |field| [field, field == :other_fields ? {}.freeze : nil] }.freeze
        type = ValueClass.define(*names) do
          include Common
          define_method(:initialize) { |**given| super(**empty, **given) }
          define_method(:example_id) { id } if own.first == :id
          class_eval(&block) if block
        end
        describe(type, name.to_s.freeze, own, names)
        TYPES[name.to_s.freeze] = const_set(name, type)
      end

      # An event from the fields that the host sends.
      def from_wire(fields)
        type = TYPES[fields["event_type"]]
        type ? type.from_wire(fields) : UnknownEvent.new(fields)
      end

      # The name of an event's type, for classes of a project's own too.
      def type_of(event)
        event.respond_to?(:event_type) ? event.event_type.to_s : event.class.name.to_s.split("::").last.to_s
      end

      # Names of fields as symbols, at every depth; words as symbols; times as times.
      def converted(name, value)
        case value
        when String then text_converted(name, value)
        when Array then value.all?(String) ? value : symbolized(value)
        when Hash then symbolized(value)
        else value
        end
      end

      # Ready to be written as JSON: times in RFC 3339.
      def plain(fields)
        fields.transform_values { |value| value.is_a?(::Time) ? value.getutc.strftime("%Y-%m-%dT%H:%M:%S.%6NZ") : value }
      end

      private

      def text_converted(name, value)
        return time(value) if name == :time

        WORDS[name] ? value.to_sym : value
      end

      def symbolized(value)
        case value
        when Hash then value.to_h { |name, inner| [name.to_sym, symbolized(inner)] }
        when Array then value.map { |inner| symbolized(inner) }
        else value
        end
      end

      TIME = /\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z\z/
      private_constant :TIME

      def time(text)
        return text unless TIME.match?(text)

        microseconds = text.size > 20 ? Rational(text[20..-2].ljust(9, "0").to_i, 1000) : 0
        ::Time.utc(text[0, 4].to_i, text[5, 2].to_i, text[8, 2].to_i, text[11, 2].to_i, text[14, 2].to_i, text[17, 2].to_i, microseconds)
      end

      def describe(type, name, own, names)
        known = names.to_h { |field| [field.name, field] }
        known["example_id"] = own.first == :id ? :id : :example_id
        type.define_singleton_method(:event_type) { name }
        type.define_singleton_method(:own_fields) { own }
        type.define_singleton_method(:from_wire) { |fields| Events.__send__(:read, self, fields, known) }
      end

      # Without a hash between the fields and the object where the class is ours.
      def read(type, fields, known)
        if (variables = type.respond_to?(:variables) && type.variables)
          event = type.allocate
          assign(fields, known) { |name, value| event.instance_variable_set(variables[name], value) }
          return event.freeze
        end
        given = {}
        assign(fields, known) { |name, value| given[name] = value }
        type.new(**given)
      end

      NOTHING = {}.freeze
      SPECIAL = WORDS.merge(time: true).freeze
      private_constant :NOTHING, :SPECIAL

      # Most values are numbers and texts that stay what they are; this is done for every event.
      def assign(fields, known)
        others = nil
        fields.each do |text, value|
          if (name = known[text])
            yield(name, !SPECIAL[name] && (String === value || Integer === value) ? value : converted(name, value))
          elsif text != "event_type" && text != "digest"
            (others ||= {})[text.to_sym] = converted(text.to_sym, value)
          end
        end
        yield(:other_fields, others || NOTHING)
      end
    end

    # An event of a type that this version does not know, or of a project's own.
    class UnknownEvent
      def initialize(fields)
        @fields = fields.to_h { |name, value| [name.to_sym, Events.converted(name.to_sym, value)] }.freeze
        freeze
      end

      def event_type
        @fields[:event_type]
      end

      def seq
        @fields[:seq]
      end

      def [](name)
        @fields[name.to_sym]
      end

      def to_h
        @fields
      end

      def to_json(*arguments)
        Plain.value(Events.plain(@fields)).to_json(*arguments)
      end

      def ==(other)
        other.instance_of?(self.class) && other.to_h == @fields
      end

      def respond_to_missing?(name, include_private = false)
        @fields.key?(name) || super
      end

      def method_missing(name, *arguments)
        arguments.empty? && @fields.key?(name) ? @fields[name] : super
      end
    end
  end
end

require_relative "events/catalogue"
