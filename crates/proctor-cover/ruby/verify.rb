# frozen_string_literal: true

# Loaded before a spec that is being verified: another day, another random seed, no way out.
# What depends on these shows itself by failing.
require_relative "probe"
require_relative "guard"

module ProctorShift
  SECONDS = Integer(ENV.fetch("PROCTOR_COVER_SHIFT", "0"))

  def now(*args, **options) = super + SECONDS
end

Time.singleton_class.prepend(ProctorShift) if ProctorShift::SECONDS != 0
srand(ProctorShift::SECONDS)
