# frozen_string_literal: true

require_relative "mutation/checkpoints"
require_relative "mutation/line_trace"
require_relative "mutation/method_index"
require_relative "mutation/method_mutant"
require_relative "mutation/source_substitution"

module Proctor
  module Runner
    # Serves `proctor mutate` in the process that loads the suite and in its forks.
    #
    # The parent notes which watched files are compiled, and where their methods are. A fork is told by `prepare` to trace
    # lines, or to put one mutant into force. A process from a checkpoint has loaded the suite with the mutant. Whether a mutant is in force is shown by its own code being entered
    # (`reached`) and the original never being entered (`stale`); both are sent at once, since the process may not end well.
    class Mutation
      class << self
        # Of this process; nil unless it was started by `proctor mutate`.
        attr_accessor :current

        # Reads `--mutation FILE`.
        def install(arguments)
          place = arguments.index("--mutation")
          return unless place

          plan = Native.parse(Native::READ_FILE.call(arguments[place + 1]))
          self.current = new(plan)
        end
      end

      # From where a suite can be loaded with another text of a file.
      attr_reader :checkpoints

      def initialize(plan)
        @trace = LineTrace.new(plan.fetch("watch"), enabled: plan["trace"])
        @substitution = SourceSubstitution.new
        @substitution.add(plan["substitute"] || {})
        @checkpoints = Checkpoints.new(plan["checkpoints"] ? plan["watch"] : []) { |request| go_on(request) }
        @substitution.watch(plan["watch"]) { |file| @checkpoints.before_load(file) } if plan["checkpoints"]
        @trace.start
      end

      # Called before the project is loaded. `finish` is called at the end of a load that began at a checkpoint, and does not return.
      def begin_load(channel, framework, loading, &finish)
        (@framework, @loading, @finish) = [framework, loading, finish]
        @checkpoints.open(channel)
      end

      # The project is loaded; nothing but checkpoints has been forked.
      def loaded
        @checkpoints.close
        @index = MethodIndex.new(@trace.compiled_paths)
      end

      # What `list` replies besides the examples.
      def to_reply
        { mutation: { files: @trace.describe, load: @trace.take, substituted: @substitution.used,
                      checkpoints: @checkpoints.by_file } }
      end

      # Returns the reply to `prepare`. Called on the main thread of a fork, before its first example.
      def prepare(message, channel)
        @channel = channel
        @trace.stop unless message["trace"]
        @trace.take
        limit_memory(message["memory_bytes"])
        @substitution.on_use = -> { notify("reached") }
        return after_load if @changed
        mutant = message["mutant"]
        mutant ? apply(mutant) : { applied: "nothing" }
      rescue StandardError, ScriptError => error
        { not_applied: Plain.limited("#{error.class}: #{error.message}", 4096) }
      end

      # Lines that were reached since the last call, for these examples.
      def report_touched(keys, channel)
        return unless @trace.active?

        touched = @trace.take
        fresh = @trace.take_new_descriptions
        return if touched.empty? && fresh.empty?

        channel.writer.queue({ type: "mutation", touched: touched, keys: keys, files: fresh })
      end

      private

      # In a process from a checkpoint, before the file is compiled.
      def go_on(request)
        @trace.stop
        @changed = request.fetch("file")
        @substitution.add({ @changed => request.fetch("source") })
        @framework.load_only(request["spec_files"]) if request["spec_files"]
        @loading.at_end = -> { @finish.call(request) }
      end

      # The reply of such a process.
      def after_load
        error = @loading.loader.errors.first
        return { load_error: error } if error

        notify("reached") if @substitution.used.include?(@changed)
        { applied: "load" }
      end

      def apply(mutant)
        file = mutant.fetch("file")
        unless @trace.compiled?(file)
          @substitution.add({ file => mutant.fetch("source") })
          return { applied: "file" }
        end
        return { not_applied: "the file is loaded already" } unless mutant["method"]

        MethodMutant.new(mutant, @index).call(on_reached: -> { notify("reached") }, on_stale: -> { notify("stale") })
        { applied: "method" }
      rescue MethodMutant::Impossible => error
        { not_applied: error.message }
      end

      def notify(state)
        @channel.notify({ type: "mutation", state: state })
      end

      # In addition to what the process has already.
      def limit_memory(bytes)
        return unless bytes

        present = Native::READ_FILE.call("/proc/self/statm").to_i * 4096
        Process.setrlimit(:AS, present + bytes)
      rescue SystemCallError, NotImplementedError
        nil
      end
    end
  end
end
