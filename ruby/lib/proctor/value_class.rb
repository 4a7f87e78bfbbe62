# frozen_string_literal: true

module Proctor
  # Makes value classes: `Data.define` since Ruby 3.2, below that a class of our own with the same behaviour: `new` with
  # positions or keywords, `with`, `members`, `to_h`, `==`, pattern matching; frozen.
  module ValueClass
    module_function

    def define(*members, &block)
      return ::Data.define(*members, &block) if defined?(::Data) && ::Data.respond_to?(:define)

      Base.define(*members, &block)
    end

    # What `Data` is since Ruby 3.2.
    class Base
      class << self
        attr_reader :members

        def define(*names, &block)
          names = names.map(&:to_sym).freeze
          raise ArgumentError, "duplicate member: #{names.tally.key(2)}" if names.uniq != names

          Class.new(self) do
            @members = names
            @variables = names.to_h { |name| [name, :"@#{name}"] }.freeze
            names.each { |name| attr_reader(name) }
            singleton_class.alias_method(:[], :new)
            class_eval(&block) if block
          end
        end

        # @private By member.
        attr_reader :variables

        def inherited(subclass)
          super
          subclass.instance_variable_set(:@members, @members)
          subclass.instance_variable_set(:@variables, @variables)
        end

        def new(*values, **named)
          return super(**named) if values.empty?

          if values.size > members.size || !named.empty?
            raise ArgumentError, "wrong number of arguments (given #{values.size + (named.empty? ? 0 : 1)}, expected 0..#{members.size})"
          end

          super(**members.first(values.size).zip(values).to_h)
        end
      end

      def initialize(**named)
        own = members
        unless named.size == own.size && own.all? { |name| named.key?(name) }
          refuse("missing", own - named.keys)
          refuse("unknown", named.keys - own)
        end
        variables = self.class.variables
        named.each { |name, value| instance_variable_set(variables[name], value) }
        freeze
      end

      def members
        self.class.members
      end

      def to_h(&block)
        pairs = members.to_h { |name| [name, instance_variable_get(:"@#{name}")] }
        block ? pairs.to_h(&block) : pairs
      end

      def deconstruct_keys(wanted)
        return to_h_of_members unless wanted

        wanted.each_with_object({}) do |name, found|
          break found unless members.include?(name)

          found[name] = public_send(name)
        end
      end

      def with(**changes)
        changes.empty? ? self : self.class.new(**to_h_of_members, **changes)
      end

      def ==(other)
        other.instance_of?(self.class) && members.all? { |name| public_send(name) == other.public_send(name) }
      end

      def eql?(other)
        other.instance_of?(self.class) && members.all? { |name| public_send(name).eql?(other.public_send(name)) }
      end

      def hash
        [self.class, *members.map { |name| public_send(name) }].hash
      end

      def inspect
        "#<data #{[self.class.name, members.map { |name| "#{name}=#{public_send(name).inspect}" }.join(", ")].compact.join(" ")}>"
      end
      alias to_s inspect

      private

      def to_h_of_members
        members.to_h { |name| [name, public_send(name)] }
      end

      def refuse(what, names)
        return if names.empty?

        raise ArgumentError, "#{what} keyword#{names.size == 1 ? "" : "s"}: #{names.map(&:inspect).join(", ")}"
      end
    end
  end
end
