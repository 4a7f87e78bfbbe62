# frozen_string_literal: true

# Another day: moves the clock by PROCTOR_CLOCK_SHIFT seconds. Loaded only where a run is to be on another day.
module ProctorShiftedClock
  SECONDS = ENV.delete("PROCTOR_CLOCK_SHIFT").to_i

  def now(*args, **options) = super + SECONDS
end

Time.singleton_class.prepend(ProctorShiftedClock)
srand(ProctorShiftedClock::SECONDS)
