# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # `RSpec.current_scope` exists since RSpec 3.11.
      module Scope
        KNOWN = RSpec.respond_to?(:current_scope=)

        def self.set(name)
          RSpec.current_scope = name if KNOWN
        end
      end
    end
  end
end
