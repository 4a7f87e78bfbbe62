# frozen_string_literal: true

module Proctor
  module Runner
    # SimpleCov counts per process, keeps the counts of several in one file, and reports in an at_exit
    # block of the process that started it. Workers end without at_exit blocks, so each hands in what
    # it has counted; the preloading parent, which owns that block, adds them up and judges.
    #
    # Projects without SimpleCov, or with its merging switched off, are left alone.
    module ProjectCoverage
      MARK = " (proctor worker "

      module_function

      # Counts of an earlier run, which may have had more workers, are not those of this one.
      def forget_workers
        return unless active? && ::SimpleCov::ResultMerger.respond_to?(:resultset_path)

        path = ::SimpleCov::ResultMerger.resultset_path
        kept = Native.parse(Native::READ_FILE.call(path)).reject { |name, _| name.include?(MARK) }
        # At once or not at all: whoever is killed here leaves the old file.
        ::File.binwrite("#{path}.#{$$}", Native.json(kept))
        ::File.rename("#{path}.#{$$}", path)
      rescue StandardError
        nil # there is no such file, or SimpleCov will say what is wrong with it
      end

      def begin_worker(slot, generation)
        return unless active?

        own = ::SimpleCov.command_name.to_s.partition(MARK).first
        ::SimpleCov.command_name("#{own}#{MARK}#{slot + 1}.#{generation})")
      rescue StandardError => error
        complain(error)
      end

      # `report` where no parent will: the last worker to end has the counts of all.
      def hand_in(report: false)
        return unless active?

        result = ::SimpleCov.result
        result.format! if report && result
      rescue StandardError => error
        complain(error)
      end

      def active?
        defined?(::SimpleCov.running) && ::SimpleCov.running && ::SimpleCov.use_merging
      end

      def complain(error)
        warn("proctor: SimpleCov could not keep the coverage of this worker: #{error.class}: #{error.message}")
      end
    end
  end
end
