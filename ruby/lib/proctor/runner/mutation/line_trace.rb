# frozen_string_literal: true

module Proctor
  module Runner
    class Mutation
      # Which lines of the watched files are reached. Works beside Ruby's own Coverage, which the project may use itself: only
      # the code of watched files is traced.
      #
      # A place is a line, `c` and the line of a `def` whose method was called, or `b` and the line of a block.
      class LineTrace
        EVENTS = %i[line call b_call].freeze
        PREFIX = { line: "", call: "c", b_call: "b" }.freeze

        def initialize(watched, enabled:)
          @watched = watched.to_h { |path| [path, true] }
          @enabled = enabled ? true : false
          @compiled = {}
          @paths = {}
          @tracers = []
          @touched = {}
          @new_files = []
        end

        # Traces every watched file from its compilation on.
        def start
          @compilation = TracePoint.new(:script_compiled) { |point| compiled(point) }
          @compilation.enable
        end

        # Files are still noticed when they are compiled; their lines are not traced any more.
        def stop
          @enabled = false
          @tracers.each(&:disable)
          @tracers.clear
        end

        def active?
          @enabled
        end

        def compiled?(path)
          @compiled.key?(path)
        end

        # By the path that methods name as their source.
        def compiled_paths
          @paths
        end

        # Takes the places that were reached since the last call, by file.
        def take
          taken = @touched
          @touched = {}
          taken.transform_values(&:keys)
        end

        # Every file that was compiled so far, with its places.
        def describe
          @new_files.clear
          @compiled.transform_values { |codes| codes.flat_map { |code| places(code) }.uniq }
        end

        # The same for files that were compiled since the last call.
        def take_new_descriptions
          found = @new_files.uniq.to_h { |path| [path, @compiled[path].flat_map { |code| places(code) }.uniq] }
          @new_files.clear
          found
        end

        private

        def compiled(point)
          return if point.eval_script

          code = point.instruction_sequence
          path = code.absolute_path
          return unless path && @watched[path]

          (@compiled[path] ||= []) << code
          @paths[code.path] = path
          @new_files << path
          trace(code, path) if @enabled
        end

        def trace(code, path)
          tracer = TracePoint.new(*EVENTS) do |point|
            (@touched[path] ||= {})["#{PREFIX[point.event]}#{point.lineno}"] = true
          end
          tracer.enable(target: code)
          @tracers << tracer
        rescue ArgumentError
          nil # nothing in the file can be traced: it has no code
        end

        def places(code, found = [])
          code.trace_points.each { |line, event| found << "#{PREFIX[event]}#{line}" if PREFIX.key?(event) }
          code.each_child { |child| places(child, found) }
          found
        end
      end
    end
  end
end
