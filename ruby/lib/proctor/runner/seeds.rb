# frozen_string_literal: true

module Proctor
  module Runner
    # Ruby gives every forked process a new random seed. Where the project has seeded the generator
    # itself (`Kernel.srand config.seed`), each example starts from a seed made of that value and the
    # example's key, so that its random data depend neither on the worker nor on what ran before.
    # Projects that do not seed are left alone.
    class Seeds
      MASK = 0xffffffff

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

      # FNV-1a over the key, two bytes at a time and in 32 bits, which makes no large integers.
      def seed_for(key)
        hash = (0x811c9dc5 ^ @base) & MASK
        key.unpack("S<*").each { |pair| hash = ((hash ^ pair) * 0x01000193) & MASK }
        key.bytesize.odd? ? ((hash ^ key.getbyte(-1)) * 0x01000193) & MASK : hash
      end
    end
  end
end
