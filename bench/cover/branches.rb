# frozen_string_literal: true

# Loaded through RUBYOPT before everything else: measures with Ruby's own Coverage which branches of one file are taken, and writes
# them as JSON when the process ends. Children do not measure.
require "coverage"
if (bench_out = ENV.delete("BENCH_COVER_OUT"))
  bench_file = ENV.delete("BENCH_COVER_FILE")
  bench_process = Process.pid
  Coverage.start(branches: true)
  at_exit do
    next unless Process.pid == bench_process

    require "json"
    counts = Coverage.peek_result.select { |path, _| File.realpath(path) == bench_file rescue false }
    taken = counts.values.flat_map { |result| result[:branches].values.flat_map(&:values) }
    open = counts.values.flat_map { |result| result[:branches].values.flat_map(&:to_a) }.select { |_, count| count.zero? }.map { |branch, _| branch[0, 3] }
    File.write(bench_out, JSON.generate({ total: taken.length, taken: taken.count(&:positive?), open: open, loaded: !counts.empty? }))
  end
end
