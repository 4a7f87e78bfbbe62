# frozen_string_literal: true

module Proctor
  module Runner
    # Connections of ActiveRecord must not be shared between processes: they are closed before a fork
    # and opened again in the worker. A database in memory is left alone, for closing it loses it.
    module ActiveRecord
      module_function

      def before_fork
        return unless usable?

        handler = ::ActiveRecord::Base.connection_handler
        # Newer versions ask which role is meant.
        handler.method(:clear_all_connections!).arity.zero? ? handler.clear_all_connections! : handler.clear_all_connections!(:all)
      end

      def after_fork
        ::ActiveRecord::Base.establish_connection if usable?
      end

      def usable?
        defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:connection_handler) &&
          ::ActiveRecord::Base.respond_to?(:connected?) && ::ActiveRecord::Base.connected? && !in_memory?
      end

      def in_memory?
        config = ::ActiveRecord::Base.respond_to?(:connection_db_config) ? ::ActiveRecord::Base.connection_db_config.database : nil
        config.to_s.include?(":memory:")
      end
    end
  end
end
