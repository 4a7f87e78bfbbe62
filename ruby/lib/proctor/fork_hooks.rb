# frozen_string_literal: true

# Hooks around the fork of a worker, for use in a spec_helper:
#
#     if defined?(Proctor)
#       require "proctor/fork_hooks"
#       Proctor.before_fork { Redis.current.close }
#       Proctor.after_fork { |slot| Redis.current = Redis.new(db: slot) }
#     end
#
# `before_fork` blocks run in the parent before each fork, `after_fork` blocks in every new worker
# before its first example, with the worker's slot (0, 1, …). With `--no-preload` there is no fork:
# `after_fork` blocks run once after loading, so that one set-up serves both modes.
module Proctor
  @before_fork = []
  @after_fork = []
  @kept_processes = []

  class << self
    def before_fork(&block)
      @before_fork << block
    end

    def after_fork(&block)
      @after_fork << block
    end

    # Processes whose command line matches are never treated as left behind by an example: a
    # browser or server that the first example starts and the later ones share.
    def keep_processes(*patterns)
      @kept_processes.concat(patterns)
    end

    attr_reader :kept_processes

    # @private
    def run_before_fork
      @before_fork.each(&:call)
    end

    # @private
    def run_after_fork(slot)
      @after_fork.each { |block| block.call(slot) }
    end
  end
end
