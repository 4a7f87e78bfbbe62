# frozen_string_literal: true

# Switches for features, for everybody, for a share of users or for some groups.
class FeatureFlags
  MODES = %i[off on percentage groups].freeze

  def initialize(settings)
    @settings = settings
  end

  def enabled?(name, user = nil)
    setting = @settings[name]
    return false if setting.nil?

    case setting.fetch(:mode)
    when :on then true
    when :off then false
    when :percentage then !user.nil? && user.id % 100 < setting.fetch(:percent, 0)
    when :groups then !user.nil? && (setting.fetch(:groups) & user.groups).any?
    else raise ArgumentError, "unknown mode #{setting[:mode]}"
    end
  end

  def names
    @settings.keys.sort
  end

  def describe(name)
    mode = @settings.dig(name, :mode)
    return "unknown" unless MODES.include?(mode)

    mode == :percentage ? "on for #{@settings[name][:percent]} % of users" : mode.to_s
  end
end
