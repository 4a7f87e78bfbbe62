# frozen_string_literal: true

# What blocks of the words say, gathered until a conversation needs it on the wire.
require_relative "builders/delegating"
require_relative "builders/criterion"
require_relative "builders/topic"
require_relative "builders/triggers"
require_relative "builders/graph"
require_relative "builders/simulator"
