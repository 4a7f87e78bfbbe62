# frozen_string_literal: true

# The database of ActiveRecord models: whether it is ready for examples, how it outlives a fork, and how what a call writes is
# taken back. Everything is SQLite; a file is copied into memory, so that processes do not disturb each other.
module ProctorDatabase
  # Ids begin here in an execution that is to differ: what depends on them is not the same every time.
  SHIFTED = 5_000
  ADAPTERS = %w[sqlite sqlite3].freeze

  # Keeps a database in memory open after a fork.
  module Kept
    def discard_pool!
      super unless db_config.database.to_s.include?(":memory:")
    end
  end

  class << self
    def loaded? = defined?(ActiveRecord::Base) ? true : false

    # Whether a class is stored in a table.
    def record?(mod) = loaded? && mod.is_a?(Class) && mod < ActiveRecord::Base && !mod.abstract_class?

    # What keeps these classes from being stored and examples from being independent; nil if nothing does.
    def problem(records)
      connection = ActiveRecord::Base.connection
      return "the test environment uses #{connection.adapter_name}, not SQLite" unless sqlite?(connection)

      bare = records.reject { |record| record.table_exists? }
      return "there is no table for #{bare.map(&:name).first(3).join(', ')}" if bare.any?

      "examples are not rolled back" unless rolled_back?(connection)
    rescue StandardError, ScriptError => e
      "#{e.class}: #{e.message.lines.first.to_s.strip}"
    end

    # Runs an example that writes a row, as RSpec is configured, and looks whether the row is still there.
    def rolled_back?(connection)
      return false unless defined?(RSpec::Core::ExampleGroup)

      connection.execute("CREATE TABLE proctor_rows (id INTEGER PRIMARY KEY)")
      group = RSpec::Core::ExampleGroup.describe("rows", type: :model) { it("are written") { ActiveRecord::Base.connection.execute("INSERT INTO proctor_rows DEFAULT VALUES") } }
      passed = RSpec.configuration.with_suite_hooks { group.run(RSpec::Core::NullReporter) }
      passed && connection.select_value("SELECT COUNT(*) FROM proctor_rows").to_i.zero?
    ensure
      connection.execute("DROP TABLE IF EXISTS proctor_rows")
    end

    # A database in memory is part of the process: a child goes on with its copy instead of connecting again, to an empty one.
    def stay_open
      return unless defined?(ActiveRecord::ConnectionAdapters::PoolConfig)

      ActiveRecord::ConnectionAdapters::PoolConfig.prepend(Kept)
    end

    # To be called once after the project is loaded. Says whether calls can be taken back.
    def start
      return unless loaded? && connected?

      load_everything
      into_memory
      stay_open
      warm_up
      @active = true
    rescue StandardError, ScriptError => e
      @problem = "#{e.class}: #{e.message}"
      @active = false
    end

    def active? = @active

    # What a request remembers until it ends would speak of rows that are taken back.
    def forget_request
      ActiveSupport::CurrentAttributes.reset_all if defined?(ActiveSupport::CurrentAttributes)
      RequestStore.clear! if defined?(RequestStore) && RequestStore.respond_to?(:clear!)
    end

    # From here on what is written is taken back by `rollback`.
    def begin(shifted: false)
      return unless @active

      connection = ActiveRecord::Base.connection
      @depth = connection.open_transactions
      connection.begin_transaction(joinable: false, _lazy: false)
      shift_ids(connection) if shifted
    end

    def rollback
      return unless @active && @depth

      connection = ActiveRecord::Base.connection
      connection.rollback_transaction while connection.open_transactions > @depth
      @depth = nil
    rescue StandardError
      connection.reset_transaction
      connection.raw_connection.execute("ROLLBACK") if connection.raw_connection.transaction_active?
      @depth = nil
    end

    # {class => rows} of all stored classes; cheap, since tables are small.
    def counts
      return {} unless @active

      records.to_h { |record| [record, record.unscoped.count] }
    rescue StandardError
      {}
    end

    # Whether a variable of a stored class belongs to ActiveRecord rather than to the project: its file does not name it.
    def internal?(mod, variable)
      return false unless loaded? && mod.is_a?(Class) && mod <= ActiveRecord::Base

      file = (@sources ||= {})[mod] ||= begin
        path = Object.const_source_location(mod.name)&.first
        path && File.file?(path) ? File.read(path) : ""
      end
      !file.include?(variable.to_s)
    end

    # Classes that are stored in a table of their own.
    def records
      # Join tables and the framework's own tables have no model of the project.
      @records ||= ActiveRecord::Base.descendants.select { |record| record.name && !record.name.match?(/\AActiveRecord::|(?:\A|::)HABTM_/) && record?(record) && record.base_class == record && record.table_exists? }.uniq(&:table_name).sort_by(&:name)
    end

    private

    def connected?
      !ActiveRecord::Base.connection.nil?
    rescue StandardError, LoadError
      false
    end

    # Classes of an application that are loaded when they are named: others may belong to them, or descend from them.
    def load_everything
      Rails.application.eager_load! if defined?(Rails.application) && Rails.application&.initialized?
    rescue StandardError, ScriptError
      nil
    end

    def sqlite?(connection) = ADAPTERS.include?(connection.adapter_name.downcase)

    # A database in a file becomes one in memory.
    def into_memory
      connection = ActiveRecord::Base.connection
      return if !sqlite?(connection) || connection.pool.db_config.database.to_s.include?(":memory:")

      file = SQLite3::Database.new(connection.pool.db_config.database.to_s)
      ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
      copy = SQLite3::Backup.new(ActiveRecord::Base.connection.raw_connection, "main", file, "main")
      copy.step(-1)
      copy.finish
      ActiveRecord::Base.connection.schema_cache.clear!
      ActiveRecord::Base.descendants.each { |record| record.reset_column_information unless record.abstract_class? }
    end

    # What is filled when it is first used would look like a change that a call made.
    def warm_up
      ActiveRecord::Base.logger = nil
      I18n.t("errors.messages.blank") if defined?(I18n)
      records.each do |record|
        record.define_attribute_methods
        record.new.valid?
        record.unscoped.first
      rescue StandardError
        next
      end
    end

    def shift_ids(connection)
      return unless connection.table_exists?("sqlite_sequence")

      known = connection.select_values("SELECT name FROM sqlite_sequence")
      connection.execute("UPDATE sqlite_sequence SET seq = seq + #{SHIFTED}") if known.any?
      (connection.tables - known).each { |name| connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (#{connection.quote(name)}, #{SHIFTED})") }
    end
  end
end
