# frozen_string_literal: true

# Keeps code under observation from touching anything outside: no processes, no sockets, no writes.
# A second line of defence; the first is the kernel's, where it allows one.
module ProctorGuard
  WRITE = /[wa+]/.freeze
  @armed = false

  class << self
    # Whether an attempt is being made; what the environment was before it was changed.
    attr_accessor :armed, :environment

    # What we do ourselves in the middle of an attempt.
    def quietly
      before = @armed
      @armed = false
      yield
    ensure
      @armed = before
    end

    def stop(what)
      raise ProctorProbe::Blocked, what if @armed
    end

    def check_mode(mode, path)
      return if path.is_a?(String) && path == File::NULL

      check_place(path)

      case mode
      when String then stop("writes a file") if WRITE.match?(mode)
      when Integer then stop("writes a file") if mode & (File::WRONLY | File::RDWR | File::CREAT) != 0
      end
    end

    # What stands in a file outside of the project would be carried into a spec. Ruby's own files and its gems may be read.
    def check_place(path)
      stop("reads a file outside of the project") if @armed && outside?(path)
    end

    def outside?(path)
      text = quietly { path.respond_to?(:to_path) ? path.to_path : path }
      return false if !text.is_a?(String) || text == File::NULL

      full = quietly { File.exist?(text) ? File.realpath(text) : File.expand_path(text) }
      !given?(full) && folders.none? { |folder| full == folder || full.start_with?("#{folder}/") }
    rescue SystemCallError, ArgumentError
      false
    end

    # Files that were made for an attempt, see `ProctorScope#file_named`.
    def given?(path)
      place = defined?(ProctorScope) && ProctorScope.folder
      place ? quietly { path.start_with?(File.join(File.realpath(File.dirname(place)), "#{File.basename(place)}-")) } : false
    end

    def folders
      @folders ||= quietly do
        list = [Dir.pwd, RbConfig::CONFIG["rubylibdir"], RbConfig::CONFIG["rubyarchdir"], *$LOAD_PATH, *Gem.path, "/usr/share/zoneinfo"]
        list.compact.map(&:to_s).select { |folder| File.exist?(folder) }.map { |folder| File.realpath(folder) }.uniq
      end
    end

    def install_reading
      reading = Module.new do
        %i[read binread readlines foreach sysopen].each do |name|
          define_method(name) do |path = nil, *args, **options, &block|
            ProctorGuard.check_place(path)
            super(path, *args, **options, &block)
          end
        end
        define_method(:copy_stream) do |from, *args|
          ProctorGuard.check_place(from) if from.is_a?(String)
          super(from, *args)
        end
      end
      IO.singleton_class.prepend(reading)
      File.singleton_class.prepend(reading)
    end

    def block(owner, names, what)
      guard = Module.new
      names.each do |name|
        next unless owner.respond_to?(name, true)

        guard.define_method(name) do |*args, **options, &block|
          ProctorGuard.stop(what)
          super(*args, **options, &block)
        end
      end
      owner.singleton_class.prepend(guard)
    end

    def install
      # The folder of the copy, before code of the project can leave it.
      folders
      block(Process, %i[fork spawn daemon kill exit! detach setsid], "starts or signals processes")
      block(IO, %i[popen write binwrite], "starts processes or writes files")
      block(File, %i[delete unlink rename write binwrite symlink link chmod chown truncate mkfifo utime], "changes files")
      block(Dir, %i[mkdir rmdir unlink delete chroot], "changes folders")
      install_environment
      install_open
      install_reading
      install_input
      install_kernel
    end

    # What an attempt changes in the environment is put back after it.
    def install_environment
      keeping = Module.new do
        %i[[]= store delete update merge! replace clear delete_if reject! select! filter! keep_if shift].each do |name|
          define_method(name) do |*args, &block|
            ProctorGuard.environment ||= to_h if ProctorGuard.armed
            super(*args, &block)
          end
        end
      end
      ENV.singleton_class.prepend(keeping)
    end

    # A spec that reads standard input would wait for somebody to type.
    def install_input
      reading = Module.new do
        %i[read gets getc getbyte readline readlines each_line readchar readpartial each_char].each do |name|
          define_method(name) do |*args, **options, &block|
            ProctorGuard.stop("reads standard input")
            super(*args, **options, &block)
          end
        end
      end
      STDIN.singleton_class.prepend(reading)
    end

    # Sockets exist only after `require "socket"`.
    def install_sockets
      %i[TCPSocket TCPServer UDPSocket UNIXSocket UNIXServer Socket].each do |name|
        block(Object.const_get(name), %i[new open tcp], "opens a socket") if Object.const_defined?(name)
      end
    end

    private

    def install_open
      opening = Module.new do
        define_method(:open) do |path = nil, mode = nil, *rest, **options, &block|
          ProctorGuard.check_mode(options[:mode] || mode, path) if ProctorGuard.armed
          args = path.nil? ? [] : [path, mode, *rest]
          args.pop while args.length > 1 && args.last.nil?
          super(*args, **options, &block)
        end
        define_method(:new) do |path = nil, mode = nil, *rest, **options, &block|
          ProctorGuard.check_mode(options[:mode] || mode, path) if ProctorGuard.armed
          args = path.nil? ? [] : [path, mode, *rest]
          args.pop while args.length > 1 && args.last.nil?
          super(*args, **options, &block)
        end
      end
      File.singleton_class.prepend(opening)
    end

    def install_kernel
      Object.prepend(kernel_guard(true))
      Kernel.singleton_class.prepend(kernel_guard(false))
    end

    def kernel_guard(hidden)
      Module.new do
        %i[fork spawn system exec ` exit! trap sleep syscall at_exit set_trace_func].each do |name|
          define_method(name) do |*args, **options, &block|
            ProctorGuard.stop(name == :sleep ? "sleeps" : "uses #{name}")
            super(*args, **options, &block)
          end
          private name if hidden
        end
        define_method(:open) do |path = nil, mode = nil, *rest, **options, &block|
          if ProctorGuard.armed
            ProctorGuard.stop("starts a process") if path.to_s.start_with?("|")
            ProctorGuard.check_mode(mode, path)
          end
          args = [path, mode, *rest]
          args.pop while args.length > 1 && args.last.nil?
          super(*args, **options, &block)
        end
        private :open if hidden
      end
    end
  end
end
