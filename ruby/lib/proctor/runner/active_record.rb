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
        roles = handler.method(:clear_all_connections!).arity.zero? ? [] : [:all]
        handler.clear_all_connections!(*roles)
      end

      def after_fork
        ::ActiveRecord::Base.establish_connection if usable?
      end

      def usable?
        defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:connection_handler) &&
          ::ActiveRecord::Base.respond_to?(:connected?) && ::ActiveRecord::Base.connected? && !in_memory?
      end

      def in_memory?
        base = ::ActiveRecord::Base
        base.respond_to?(:connection_db_config) && base.connection_db_config.database.to_s.include?(":memory:")
      end
    end
  end
end
