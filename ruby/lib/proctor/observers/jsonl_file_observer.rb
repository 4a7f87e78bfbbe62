# frozen_string_literal: true

require "fileutils"

module Proctor
  module Observers
    # Appends every event to a file, as one line of JSON. On the bus of a run the host writes the file, where it is not
    # subclassed; on a bus of its own the observer does.
    class JsonlFileObserver < Base
      attr_reader :path

      def initialize(path:, **options)
        @path = ::File.expand_path(path)
        @lock = Thread::Mutex.new
        super(**options)
      end

      # @private
      def destination
        path
      end

      Events::TYPES.each_key { |type| define_method(EventBus.hook(type)) { |event| write(event) } }

      private

      def write(event)
        @lock.synchronize { file&.puts(event.to_json) }
      end

      # Opened by the first event: a path that cannot be written costs this observer one warning.
      def file
        return @file if @tried

        @tried = true
        @file = ::File.open(path, "a").tap { |file| file.sync = true }
      end
    end
  end
end
