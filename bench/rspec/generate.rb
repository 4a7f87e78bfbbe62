# frozen_string_literal: true

# Writes the benchmark suites a … f below a folder, and `manifest.json` with what is needed to work
# out the ideal time of each:
#
#     ruby bench/rspec/generate.rb DIR
#
# The suites are the same on every machine and in every run. Example names are unique.

require "fileutils"
require "json"

# Collects the files of one suite and what its examples cost.
class Suite
  attr_reader :name, :sleeps, :notes

  def initialize(folder, name)
    @name = name
    @folder = File.join(folder, name)
    @sleeps = []
    @notes = {}
    FileUtils.rm_rf(@folder)
    write(".rspec", "")
  end

  def write(path, text)
    path = File.join(@folder, path)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end

  # `bodies` maps a description to a line of Ruby; `sleeps` are seconds, one for each example.
  def spec_file(path, title, bodies, sleeps: [], helper: false)
    lines = ["# frozen_string_literal: true\n"]
    lines << "require \"spec_helper\"\n" if helper
    lines << "RSpec.describe #{title.inspect} do"
    bodies.each { |description, body| lines << "  it(#{description.inspect}) { #{body} }" }
    lines << "end\n"
    write(path, lines.join("\n"))
    @count = count + bodies.size
    @sleeps.concat(sleeps)
  end

  def count
    @count ||= 0
  end

  def add_count(number)
    @count = count + number
  end

  def manifest
    { examples: count, files: Dir[File.join(@folder, "spec/**/*_spec.rb")].size,
      sleep_sum_s: @sleeps.sum.round(6), sleep_longest_s: (@sleeps.max || 0).round(6) }.merge(@notes)
  end
end

# A small generator of its own (Park–Miller), so that no version of Ruby can change the suites.
class Dice
  def initialize(state)
    @state = state
  end

  # In 0 ... 1.
  def roll
    @state = (@state * 48_271) % 2_147_483_647
    @state / 2_147_483_647.0
  end
end

# 2,000 trivial examples in 20 files.
def suite_a(folder)
  suite = Suite.new(folder, "a")
  20.times do |file|
    bodies = Array.new(100) { |index| ["adds #{index}", "expect(#{index} + #{file}).to eq(#{index + file})"] }
    suite.spec_file(format("spec/a%02d_spec.rb", file), "A#{file}", bodies)
  end
  suite
end

# 400 sleeping examples, 20 ms with a heavy tail to 400 ms; one of ten files holds half the time.
def suite_b(folder)
  suite = Suite.new(folder, "b")
  heavy, light = b_sleeps
  write_sleeping(suite, "spec/b00_spec.rb", "B0", heavy)
  light.each_with_index.group_by { |_, index| index % 9 }.each do |file, rows|
    write_sleeping(suite, format("spec/b%02d_spec.rb", file + 1), "B#{file + 1}", rows.map(&:first))
  end
  suite.notes[:heaviest_file_s] = heavy.sum.round(6)
  suite
end

# A Pareto tail above 20 ms, cut at 400 ms, with one example at the cut. The most expensive ones go
# to the heavy file in turns with cheap ones until it holds half of the sum.
def b_sleeps
  dice = Dice.new(20_260_122)
  all = Array.new(399) { [0.020 / ((1.0 - dice.roll)**0.75), 0.400].min.round(3) } << 0.400
  sorted = all.sort.reverse
  heavy = []
  heavy << sorted.shift << sorted.pop while heavy.sum + sorted.first < all.sum / 2
  [heavy, sorted]
end

def write_sleeping(suite, path, title, sleeps, helper: false)
  bodies = sleeps.each_with_index.map { |seconds, index| ["waits #{index}", "sleep(#{seconds}); expect(#{index}).to eq(#{index})"] }
  suite.spec_file(path, title, bodies, sleeps: sleeps, helper: helper)
end

# 1,000 examples of 5 ms in one file.
def suite_c(folder)
  suite = Suite.new(folder, "c")
  write_sleeping(suite, "spec/c_spec.rb", "C", [0.005] * 1000)
  suite
end

# 200 examples of 20 ms behind a helper that burns two seconds of CPU.
def suite_d(folder)
  suite = Suite.new(folder, "d")
  suite.write(".rspec", "--require spec_helper\n")
  suite.write("spec/spec_helper.rb", <<~RUBY)
    # frozen_string_literal: true

    # Stands for the boot of a large application: two seconds of CPU and some memory that stays.
    LOADED = Array.new(200_000) { |index| "constant \#{index}" }
    started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started < 2.0
  RUBY
  10.times { |file| write_sleeping(suite, format("spec/d%02d_spec.rb", file), "D#{file}", [0.020] * 20) }
  suite.notes[:load_cpu_s] = 2.0
  suite
end

# 96 examples in 8 groups, each behind a before(:context) of 100 ms. Every run of a hook appends a
# line to the file named by PROCTOR_BENCH_HOOKS.
def suite_e(folder)
  suite = Suite.new(folder, "e")
  8.times do |group|
    suite.write(format("spec/e%02d_spec.rb", group), <<~RUBY)
      # frozen_string_literal: true

      RSpec.describe "E#{group}" do
        note = lambda do |hook|
          path = ENV["PROCTOR_BENCH_HOOKS"]
          File.open(path, "a") { |file| file.syswrite("#{group} \#{hook} \#{Process.pid}\\n") } if path
        end

        before(:context) do
          note.call("before")
          sleep(0.1)
          @resource = "resource #{group}"
        end

        after(:context) { note.call("after") }

        12.times do |index|
          it("uses the resource \#{index}") do
            sleep(0.01)
            expect(@resource).to eq("resource #{group}")
          end
        end
      end
    RUBY
    suite.add_count(12)
    suite.sleeps.concat([0.01] * 12)
  end
  suite.notes.merge!(groups: 8, hook_sleep_s: 0.1, unit_sleep_s: 0.22, hook_runs_plain: 8)
  suite
end

# 60 examples: one kills its process, one hangs, one leaks a daemonised child, one fails once.
# PROCTOR_BENCH_STATE names a folder in which the last one remembers that it has failed.
def suite_f(folder)
  suite = Suite.new(folder, "f")
  names = %w[kills hangs leaks flaky]
  suite.write("spec/f_spec.rb", <<~'RUBY')
    # frozen_string_literal: true

    require "tmpdir"

    RSpec.describe "F" do
      56.times do |index|
        it("waits #{index}") do
          sleep(0.01)
          expect(index).to eq(index)
        end
      end

      it("kills its process") { Process.kill(:KILL, Process.pid) }

      it("hangs") { sleep(3600) }

      it("leaks a daemonised child") do
        child = fork do
          Process.daemon
          exec("sleep", "3607")
        end
        Process.wait(child)
        expect($?).to be_success
      end

      it("fails once") do
        folder = ENV.fetch("PROCTOR_BENCH_STATE", Dir.tmpdir)
        mark = File.join(folder, "proctor-bench-f-failed-once")
        first = !File.exist?(mark)
        File.write(mark, "")
        expect(first).to be(false)
      end
    end
  RUBY
  suite.add_count(60)
  suite.sleeps.concat([0.01] * 56)
  suite.notes.merge!(odd_ones: names, passing: 57, flaky: 1, killed: 1, hanging: 1,
                     needs: "a time limit per example; PROCTOR_BENCH_STATE names a fresh folder")
  suite
end

folder = ARGV.fetch(0) { abort("usage: ruby #{$PROGRAM_NAME} DIR") }
FileUtils.mkdir_p(folder)
suites = %i[suite_a suite_b suite_c suite_d suite_e suite_f].map { |name| send(name, folder) }
manifest = { version: 1,
             ideal: "load + max(sleep_sum_s / W, sleep_longest_s) + run CPU / min(W, cores); suite e: units of unit_sleep_s",
             suites: suites.to_h { |suite| [suite.name, suite.manifest] } }
File.write(File.join(folder, "manifest.json"), "#{JSON.pretty_generate(manifest)}\n")
