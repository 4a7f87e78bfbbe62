# frozen_string_literal: true

module Proctor
  class Controller
    # Blocks that are told of something. One that raises, or exits, is warned about once and goes on being called.
    class Callbacks
      def initialize(name)
        @name = name
        @mutex = Thread::Mutex.new
        @blocks = [].freeze
        @failed = {}.compare_by_identity
      end

      def add(block)
        raise ArgumentError, "#{@name} needs a block" unless block

        @mutex.synchronize { @blocks = (@blocks + [block]).freeze }
      end

      def call(*arguments)
        @blocks.each { |block| call_one(block, arguments) }
      end

      private

      def call_one(block, arguments)
        block.call(*arguments)
      rescue Exception => error # rubocop:disable Lint/RescueException
        return if @failed[block]

        @failed[block] = true
        place = error.backtrace&.first
        warn("proctor: a block of #{@name} failed; the run goes on: #{error.class}: #{error.message} (#{place})")
      end
    end
  end
end
