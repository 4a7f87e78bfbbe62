# frozen_string_literal: true

module Proctor
  module Runner
    class Mutation
      # Where the methods of the watched files are: which modules have a method that a given `def` made, and by which names.
      # Made once, in the parent.
      class MethodIndex
        Entry = Struct.new(:owner, :name, :visibility)

        LISTS = { public: Module.instance_method(:public_instance_methods),
                  protected: Module.instance_method(:protected_instance_methods),
                  private: Module.instance_method(:private_instance_methods) }.freeze
        METHOD = Module.instance_method(:instance_method)
        SINGLETON = Kernel.instance_method(:singleton_class)
        private_constant :LISTS, :METHOD, :SINGLETON

        # `paths` leads from the path that a method names as its source to the file.
        def initialize(paths)
          @paths = paths
          @entries = Hash.new { |hash, key| hash[key] = [] }
          modules = ObjectSpace.each_object(Module).to_a
          modules.each do |mod|
            add(mod)
            add(SINGLETON.bind_call(mod))
          rescue TypeError
            next
          end
        end

        # The entries of the `def` of this name in this line.
        def find(file, line, name)
          @entries.fetch([file, line, name.to_sym], []).uniq
        end

        private

        def add(owner)
          LISTS.each do |visibility, list|
            list.bind_call(owner, false).each { |name| add_method(owner, name, visibility) }
          end
        end

        def add_method(owner, name, visibility)
          method = METHOD.bind_call(owner, name)
          path, line = method.source_location
          return unless @paths.key?(path) && method.owner.equal?(owner)

          @entries[[@paths[path], line, method.original_name]] << Entry.new(owner, name, visibility)
        rescue NameError
          nil # undefined since it was listed
        end
      end
    end
  end
end
