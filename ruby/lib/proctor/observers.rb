# frozen_string_literal: true

require_relative "event_bus"
require_relative "observers/base"
require_relative "observers/jsonl_file_observer"
require_relative "observers/web_socket_observer"

module Proctor
  # Observers to build on, and those that come with the library.
  module Observers
    # The destination that an observer stands for, if it is one of ours and nothing else: the host serves it, which loses
    # nothing and costs this process nothing. nil for all others.
    def self.destination(observer)
      observer.destination if [JsonlFileObserver, WebSocketObserver].any? { |type| observer.instance_of?(type) }
    end
  end
end
