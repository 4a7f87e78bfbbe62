# frozen_string_literal: true

module Proctor
  module RspecAgentsCompat
    # Notes about an answer or a call, read and written by symbol, text or method: `metadata.model = "m"`,
    # `metadata.scope!(:tracing, :tokens) { |tokens| tokens.input = 12 }`.
    class Metadata
      def initialize(values = {})
        @values = values.to_h.transform_keys(&:to_sym)
      end

      def [](name)
        @values[name.to_sym]
      end

      def []=(name, value)
        @values[name.to_sym] = value
      end

      def key?(name)
        @values.key?(name.to_sym)
      end

      def fetch(name, *otherwise, &block)
        @values.fetch(name.to_sym, *otherwise, &block)
      end

      def dig(name, *rest)
        value = self[name]
        rest.empty? || !value.respond_to?(:dig) ? (value if rest.empty?) : value.dig(*rest)
      end

      def merge(other)
        self.class.new(@values.merge(other.to_h.transform_keys(&:to_sym)))
      end

      def empty?
        @values.empty?
      end

      # A group of notes inside this one, made if it is not there.
      def scope!(*names)
        raise ArgumentError, "scope! needs a name" if names.empty?

        inner = names.inject(self) { |outer, name| outer[name] ||= self.class.new }
        yield inner if block_given?
        inner
      end

      def to_h
        @values.transform_values { |value| value.is_a?(Metadata) ? value.to_h : value }
      end

      def ==(other)
        other.respond_to?(:to_h) && to_h == self.class.new(other.to_h).to_h
      end

      def inspect
        "#<#{self.class.name} #{to_h.inspect}>"
      end

      def respond_to_missing?(name, include_private = false)
        name.match?(/\A[a-z_]\w*=?\z/i) && !name.start_with?("to_") || super
      end

      def method_missing(name, *arguments)
        return super unless respond_to_missing?(name)

        name.end_with?("=") ? self[name.to_s.chomp("=")] = arguments.first : self[name]
      end
    end
  end
end
