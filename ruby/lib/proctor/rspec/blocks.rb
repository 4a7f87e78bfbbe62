# frozen_string_literal: true

module Proctor
  module Specs
    # Blocks of Ruby by name. Names follow the order of declaration, so that examples of a group have the same ones and
    # the host reads their definition once.
    class Blocks
      def initialize
        @all = {}
      end

      def add(description, kind:, name: nil, &code)
        id = "b#{@all.size + 1}"
        @all[id] = code
        { "$block" => { "id" => id, "description" => description, "kind" => kind, "name" => name&.to_s }.compact }
      end

      def fetch(id)
        @all.fetch(id)
      end
    end
  end
end
