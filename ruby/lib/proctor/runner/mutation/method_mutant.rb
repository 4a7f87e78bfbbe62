# frozen_string_literal: true

module Proctor
  module Runner
    class Mutation
      # Replaces one method in a fork by its mutant: the `def` is evaluated again in the modules that have the method, inside
      # the same lexical nesting, with the magic comments, the line numbers and the visibility of the original.
      class MethodMutant
        Impossible = Class.new(StandardError)

        MAGIC = /\A\s*#.*?(?:frozen[_-]string[_-]literal|(?:en)?coding|warn[_-]indent)\s*[:=]/i
        ENCODING = /coding\s*[:=]\s*([\w.-]+)/i
        EVALUATE = "->(owner, text, file, line) { owner.class_eval(text, file, line) }"

        # The encoding that the first lines of a file ask for.
        def self.encoding_of(source)
          name = source.lines.first(2).map { |line| line[/\A\s*#.*/].to_s[ENCODING, 1] }.compact.first
          name ? Encoding.find(name.sub(/-(?:unix|dos|mac)\z/i, "")) : Encoding::UTF_8
        rescue ArgumentError
          Encoding::UTF_8
        end

        def initialize(mutant, index)
          @file = mutant.fetch("file")
          @method = mutant.fetch("method")
          @line = @method.fetch("line")
          @name = @method.fetch("name").to_sym
          @source = Native::READ_FILE.call(mutant.fetch("source"))
          @entries = index.find(@file, @line, @name)
        end

        # Raises Impossible where the method cannot be replaced.
        def call(on_reached:, on_stale:)
          raise Impossible, "no method in memory comes from this place" if @entries.empty?

          evaluate = nesting.eval(EVALUATE)
          quietly do
            @entries.group_by(&:owner).each { |owner, entries| replace(owner, entries, evaluate) }
          end
          @old.each { |method| watch(method, on_stale) }
          @new.each { |method| watch(method, on_reached) }
        end

        private

        def replace(owner, entries, evaluate)
          old = entries.map { |entry| owner.instance_method(entry.name) }
          kept = other_method(owner)
          evaluate.call(owner, text, path_of(old.first), @line - magic.size)
          changed = owner.instance_method(@name)
          entries.each { |entry| rename(owner, entry) }
          restore(owner, kept) if kept
          check(old, changed)
          (@old ||= []).concat(old)
          (@new ||= []) << changed
        rescue FrozenError, NameError => error
          raise Impossible, "#{error.class}: #{error.message}"
        end

        # A method of the same name that comes from elsewhere, such as one that wraps the original under another name.
        def other_method(owner)
          return if @entries.any? { |entry| entry.owner.equal?(owner) && entry.name == @name }

          method = owner.instance_method(@name)
          method if method.owner.equal?(owner)
        rescue NameError
          nil
        end

        def restore(owner, method)
          owner.define_method(@name, method)
        end

        def rename(owner, entry)
          owner.alias_method(entry.name, @name) unless entry.name == @name
          owner.__send__(entry.visibility, entry.name)
        end

        def check(old, changed)
          code = RubyVM::InstructionSequence.of(changed)
          same = old.any? { |method| RubyVM::InstructionSequence.of(method).equal?(code) }
          raise Impossible, "the method was not replaced" if code.nil? || same || changed.original_name != @name
        end

        # Tells the first call.
        def watch(method, told)
          tracer = TracePoint.new(:call) do
            tracer.disable
            told.call
          end
          tracer.enable(target: method)
        end

        # A binding inside of the modules around the `def`.
        def nesting
          openers = @method.fetch("nesting")
          TOPLEVEL_BINDING.eval("#{openers.join("\n")}\nbinding\n#{"end\n" * openers.size}")
        end

        def text
          body = @source.byteslice(@method.fetch("start")...@method.fetch("end"))
          from, to = @method["receiver"]
          body = body.byteslice(0...from) + " " * (to - from) + body.byteslice(to..) if from
          (magic.join + body).force_encoding(MethodMutant.encoding_of(@source))
        end

        def magic
          @magic ||= @source.lines.take_while { |line| line.match?(/\A\s*(?:#|$)/n) }.grep(MAGIC)
        end

        def path_of(method)
          method.source_location.first
        end

        def quietly
          verbose = $VERBOSE
          $VERBOSE = nil
          yield
        ensure
          $VERBOSE = verbose
        end
      end
    end
  end
end
