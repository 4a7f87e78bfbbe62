# frozen_string_literal: true

module Proctor
  module Runner
    class Mutation
      # Has Ruby compile another text when it loads a file, by `require`, `load` or autoload. Nothing on disk changes.
      class SourceSubstitution
        # Stands before what a compile cache may have installed there.
        module Loading
          class << self
            attr_accessor :substitution
          end

          def load_iseq(path)
            Loading.substitution.compile(path) || (super if defined?(super))
          end
        end

        # Files that were compiled from another text.
        attr_reader :used
        # Called whenever one is.
        attr_writer :on_use

        def initialize
          @before_load = nil
          @sources = {}
          @names = {}
          @used = []
        end

        # `sources` leads from files to the files with their other texts.
        def add(sources)
          return if sources.empty?

          @sources.update(sources)
          look_at(sources.keys)
        end

        # `before_load` is called with each of the files before it is compiled.
        def watch(files, &before_load)
          @before_load = before_load
          look_at(files)
        end

        # The compiled other text of a file; nil for all others.
        def compile(path)
          return unless @names[File.basename(path)]

          file = File.realpath(path)
          @before_load&.call(file)
          source = @sources[file] && Native::READ_FILE.call(@sources[file])
          return unless source

          source.force_encoding(MethodMutant.encoding_of(source))
          code = RubyVM::InstructionSequence.compile(source, path, file, 1)
          @used << file
          @on_use&.call
          code
        rescue SystemCallError
          nil
        end

        private

        def look_at(files)
          files.each { |path| @names[File.basename(path)] = true }
          return if Loading.substitution || files.empty?

          Loading.substitution = self
          RubyVM::InstructionSequence.singleton_class.prepend(Loading)
        end
      end
    end
  end
end
