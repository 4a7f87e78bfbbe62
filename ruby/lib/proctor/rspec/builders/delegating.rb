# frozen_string_literal: true

module Proctor
  module Specs
    # Words that a builder does not know are asked of the group or the example around it.
    module Delegating
      def respond_to_missing?(name, include_private = false)
        @around.respond_to?(name, true) || super
      end

      def method_missing(name, *arguments, **named, &block)
        return super unless @around.respond_to?(name, true)

        @around.__send__(name, *arguments, **named, &block)
      end
    end
  end
end
