# frozen_string_literal: true

module Proctor
  module Runner
    # What the loaded project holds that a fork does not carry over. Only reported: the host decides.
    module ForkSafety
      # Libraries with native threads or state that break in a forked child.
      LIBRARIES = { "GRPC" => "grpc", "MiniRacer" => "mini_racer (V8)", "Rdkafka" => "rdkafka",
                    "LibV8" => "libv8", "PyCall" => "pycall" }.freeze
      # Also threads of libraries that every Rails project loads, and that start again or only tidy up.
      HARMLESS = %r{\Aproctor-|Timeout|\AIRB|/concurrent/atomic/ruby_thread_local_var\.rb|/connection_adapters/abstract/connection_pool}

      module_function

      def threads(channel)
        others = Native::LIST_THREADS.call - [Thread.main]
        others.reject! { |thread| channel.thread?(thread) || HARMLESS.match?(thread.inspect) }
        others.map { |thread| Plain.text(thread.name || thread.inspect) }
      end

      def reasons(threads)
        found = threads.map { |name| "a thread is running: #{name}" }
        LIBRARIES.each do |constant, name|
          found << "#{name} does not survive a fork" if Object.const_defined?(constant)
        end
        found << "the Objective-C runtime may refuse to fork" if RUBY_PLATFORM.include?("darwin")
        found
      end
    end
  end
end
