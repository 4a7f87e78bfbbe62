# frozen_string_literal: true

module Proctor
  module Runner
    # Ruby gives every forked process a new random seed. Where the project has seeded the generator
    # itself (`Kernel.srand config.seed`), each example starts from a seed made of that value and the
    # example's key, so that its random data depend neither on the worker nor on what ran before.
    # Projects that do not seed are left alone.
    class Seeds
      MASK = 0xffffffffffffffff

      def self.mark
        @unseeded = Random.seed
      end

      def self.from_loaded_project
        new(Random.seed == @unseeded ? nil : Random.seed)
      end

      def initialize(base)
        @base = base
      end

      def apply(key)
        Native::SRAND.call(seed_for(key)) if @base
      end

      # FNV-1a over the bytes of the key, starting from the base.
      def seed_for(key)
        hash = (0xcbf29ce484222325 ^ @base) & MASK
        key.each_byte { |byte| hash = ((hash ^ byte) * 0x100000001b3) & MASK }
        hash
      end
    end
  end
end
