# frozen_string_literal: true

require_relative "boot"
require_relative "seeds"

module Proctor
  module Runner
    # The `list` action, shared by the preloading parent and by the worker that loads on its own.
    # Runs on the main thread, once per process: a second load needs a second process.
    class Loading
      attr_reader :loader, :seeds

      def initialize(channel, bundler_problem)
        @channel = channel
        @bundler_problem = bundler_problem
      end

      def attempted?
        !@loader.nil?
      end

      # For callers that want no list.
      def load_quietly(args)
        require_relative "rspec/loader"
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
      rescue RspecFramework::Loader::Refused => error
        @channel.refuse(id, "bad_request", error.message)
      end

      private

      def prepare(message)
        return @bundler_problem if @bundler_problem

        message.fetch("env", {})&.each { |name, value| ENV[name] = value&.to_s }
        problem = Boot.rspec(message["root"], message.fetch("args", []).map(&:to_s))
        require_relative "rspec/loader" unless problem
        problem
      end

      def load(args)
        Seeds.mark
        @loader = RspecFramework::Loader.new(args).call
        @seeds = Seeds.from_loaded_project
      end

      def send_examples
        @loader.manifest.each_batch { |line| @channel.writer.send_line(line) }
      end
    end
  end
end
