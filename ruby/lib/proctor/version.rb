# frozen_string_literal: true

module Proctor
  VERSION = "0.1.0"
  PROTOCOL = 1
end
