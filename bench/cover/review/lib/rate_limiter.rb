# frozen_string_literal: true

# Allows so many calls of a client within a period.
class RateLimiter
  def initialize(limit, period, clock: -> { Time.now.to_f })
    @limit = limit
    @period = period
    @clock = clock
    @calls = Hash.new { |table, key| table[key] = [] }
  end

  def allow?(client)
    now = @clock.call
    calls = @calls[client]
    calls.reject! { |time| time <= now - @period }
    return false if calls.size >= @limit

    calls << now
    true
  end

  def remaining(client)
    @limit - @calls[client].size
  end

  def reset(client = nil)
    if client
      @calls.delete(client)
    else
      @calls.clear
    end
    self
  end
end
