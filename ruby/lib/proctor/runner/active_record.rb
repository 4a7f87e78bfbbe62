# frozen_string_literal: true

module Proctor
  module Runner
    # Connections of ActiveRecord must not be shared between processes: they are closed before a fork, and
    # ActiveRecord connects again in the worker when it is first asked. With the connection a database in memory
    # is lost: a worker gets a copy of what the loaded project had.
    module ActiveRecord
      MEMORY = /:memory:|[?&]mode=memory/

      # A database in memory before a fork: its place among the connections, and a file with its contents.
      Snapshot = Struct.new(:place, :database, :file)

      module_function

      def before_fork
        return unless usable?

        @snapshots = in_memory_pools.map { |place, pool| snapshot(place, pool) }
        disconnect if @snapshots.empty?
      end

      # A worker that loads the project itself has nothing to restore.
      def after_fork
        @snapshots&.each { |one| restore(one) }
      end

      def usable?
        defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:connection_handler) &&
          ::ActiveRecord::Base.respond_to?(:connected?) && ::ActiveRecord::Base.connected?
      end

      # Closing would lose what is in memory.
      def disconnect
        handler = ::ActiveRecord::Base.connection_handler
        # Newer versions ask which role is meant.
        roles = handler.method(:clear_all_connections!).arity.zero? ? [] : [:all]
        handler.clear_all_connections!(*roles)
      end

      # [[place, pool], ...] of those that are connected.
      def in_memory_pools
        pools.each_with_index.filter_map { |pool, place| [place, pool] if MEMORY.match?(database_of(pool)) && pool.connected? }
      end

      def pools
        handler = ::ActiveRecord::Base.connection_handler
        list = handler.connection_pool_list
        list.empty? ? [handler.retrieve_connection_pool("ActiveRecord::Base")].compact : list
      end

      def database_of(pool)
        return pool.db_config.database.to_s if pool.respond_to?(:db_config)

        pool.spec.config[:database].to_s
      end

      def raw_connection(pool) = (pool.respond_to?(:lease_connection) ? pool.lease_connection : pool.connection).raw_connection

      def snapshot(place, pool)
        # Not before it is needed: it could hide a `require` that the project lacks.
        require "tempfile"
        file = Tempfile.new("proctor-database")
        copy = SQLite3::Database.new(file.path)
        duplicate(raw_connection(pool), copy)
        copy.close
        Snapshot.new(place, database_of(pool), file)
      end

      def restore(snapshot)
        pool = pools[snapshot.place]
        return unless pool && database_of(pool) == snapshot.database

        copy = SQLite3::Database.new(snapshot.file.path)
        duplicate(copy, raw_connection(pool))
        copy.close
        clear_cached_schema(pool)
      end

      def duplicate(from, to)
        backup = SQLite3::Backup.new(to, "main", from, "main")
        backup.step(-1)
        backup.finish
      end

      # What was asked of the empty database is not true any more.
      def clear_cached_schema(pool)
        connection = pool.respond_to?(:lease_connection) ? pool.lease_connection : pool.connection
        connection.schema_cache.clear! if connection.respond_to?(:schema_cache)
      end
    end
  end
end
