# frozen_string_literal: true

require_relative "boot"
require_relative "seeds"

module Proctor
  module Runner
    # The `list` action, shared by the preloading parent and by the worker that loads on its own.
    # Runs on the main thread, once per process: a second load needs a second process.
    class Loading
      # The request cannot be met at all: wrong options, or an option that is a command of its own.
      Refused = Class.new(StandardError)

      attr_reader :loader, :seeds
      # Called when the load has ended, in whichever way; does not return. Only for processes that were forked while it went on.
      attr_writer :at_end

      def initialize(channel, framework, bundler_problem)
        @channel = channel
        @framework = framework
        @bundler_problem = bundler_problem
      end

      def attempted?
        !@loader.nil?
      end

      # For callers that want no list.
      def load_quietly(args)
        load(args)
        yield if loaded?
      end

      def loaded?
        !@loader.nil? && @loader.errors.empty?
      end

      # Replies to the request. Yields after a good load; the block may return fields for the reply.
      def list(message)
        id = message["id"]
        return @channel.refuse(id, "failed", "the suite was already loaded by this process") if @loader

        problem = prepare(message)
        return @channel.refuse(id, "failed", problem) if problem

        load(message.fetch("args", []).map(&:to_s))
        extra = (yield if loaded?) || {}
        send_examples unless message["examples"] == false
        @channel.reply_shortened(id, @loader.reply.merge(extra))
      rescue Refused => error
        @channel.refuse(id, "bad_request", error.message)
      end

      private

      def prepare(message)
        return @bundler_problem if @bundler_problem

        message.fetch("env", {})&.each { |name, value| ENV[name] = value&.to_s }
        @framework.boot(message["root"], message.fetch("args", []).map(&:to_s))
      end

      def load(args)
        Seeds.mark
        @loader = @framework.loader(args).call
        @seeds = Seeds.from_loaded_project
      ensure
        @at_end&.call
      end

      def send_examples
        @loader.manifest.each_batch { |line| @channel.writer.send_line(line) }
      end
    end
  end
end
