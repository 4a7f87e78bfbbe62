# frozen_string_literal: true

require "tmpdir"
require_relative "spec_helper"

# Loads of a suite with another text of a file, from a copy of the process before the file was loaded.
RSpec.describe "checkpoints" do
  around { |example| Dir.mktmpdir { |folder| Dir.chdir(@root = File.realpath(folder)) { example.run } } }

  before do
    write("lib/first.rb", "FIRST = [Time.now.to_r, $$].join(' ')\n")
    write("lib/price.rb", "module Price\n  SHIPPING = 5\n  def self.of(sum) = sum + SHIPPING\nend\n")
    write("spec/a_spec.rb", "require './lib/first'\nrequire './lib/price'\nMADE = Price.of(1)\n" \
                            "RSpec.describe('a') { it('b') { expect(MADE).to eq 6 } }\n")
    write("spec/b_spec.rb", "require './lib/price'\nRSpec.describe('c') { it('d') { expect(Price.of(2)).to eq 7 } }\n")
  end

  def write(name, text)
    FileUtils.mkdir_p(File.dirname(name))
    File.write(name, text)
  end

  def watching(*names)
    files = names.map { |name| File.join(@root, name) }
    write("plan.json", JSON.generate({ watch: files, trace: true, checkpoints: true }))
    Host.open(@root, arguments: ["--mutation", File.join(@root, "plan.json")]) do |host|
      yield host, host.list("spec")["mutation"]["checkpoints"].transform_keys { |path| path.delete_prefix("#{@root}/") }
    end
  end

  def changed(name, from, to)
    write("changed.rb", File.read(name).sub(from, to))
    { file: File.join(@root, name), source: File.join(@root, "changed.rb") }
  end

  def resume(host, number, **request)
    worker = host.fork(0, generation: 7, checkpoint: number, **request)
    [worker, worker.request("prepare", trace: false)]
  end

  def statuses(worker, *keys)
    worker.request("run", units: [keys.map { |key| { key: key } }])
    finished = lambda do |messages|
      messages.select { |it| it["event_type"] == "ExampleFinished" || it["type"] == "finished" }
    end
    worker.rpc.wait_for("results") { |messages| finished.call(messages).size == keys.size && finished.call(messages) }
  end

  it "applies what runs while the suite is loaded, and loads only the spec files that are asked for" do
    watching("lib/price.rb") do |host, checkpoints|
      expect(checkpoints).to eq("lib/price.rb" => 0)
      worker, reply = resume(host, 0, spec_files: ["./spec/a_spec.rb"], **changed("lib/price.rb", "5", "6"))
      expect(reply["applied"]).to eq "load"
      expect(worker.rpc.notifications).to include(hash_including("type" => "mutation", "state" => "reached"))
      refused = worker.request("run", units: [[{ key: "./spec/b_spec.rb[1:1]" }]])
      expect(refused["error"]["message"]).to include("unknown examples")
      expect(statuses(worker, "./spec/a_spec.rb[1:1]").to_s).to include("expected: 6")
      worker.request("__shutdown__")
      expect(host.exited(worker.pid)).to include("exit_status" => 0, "slot" => 0, "generation" => 7)
    end
  end

  it "leaves the loaded suite and other copies as they are" do
    watching("lib/price.rb") do |host, _|
      resume(host, 0, **changed("lib/price.rb", "5", "6"))
      other, reply = resume(host, 0, **changed("lib/price.rb", "5", "5"))
      expect(reply["applied"]).to eq "load"
      expect(statuses(other, "./spec/a_spec.rb[1:1]", "./spec/b_spec.rb[1:1]").to_s).not_to include("expected: ")
      plain = host.fork(1)
      expect(statuses(plain, "./spec/a_spec.rb[1:1]").to_s).not_to include("expected: ")
    end
  end

  it "has a copy for each file, from before it was loaded" do
    write("lib/after.rb", "AFTER = FIRST\n")
    write("spec/b_spec.rb", "require './lib/after'\nRSpec.describe('c') { it('d') { expect(AFTER).to eq FIRST } }\n")
    watching("lib/first.rb", "lib/after.rb", "lib/unused.rb") do |host, checkpoints|
      expect(checkpoints).to eq("lib/first.rb" => 0, "lib/after.rb" => 1)
      worker, = resume(host, 1, **changed("lib/after.rb", "FIRST", "FIRST + 'x'"))
      expect(statuses(worker, "./spec/b_spec.rb[1:1]").to_s).to include("expected: ")
    end
  end

  it "reports errors of the load, and the end of a process that does not get through it" do
    watching("lib/price.rb") do |host, _|
      _, reply = resume(host, 0, **changed("lib/price.rb", "5", "nowhere"))
      expect(reply["load_error"]["exception"]).to include("class" => "NameError")
      _, reply = resume(host, 0, **changed("lib/price.rb", "5", "("))
      expect(reply["load_error"]["exception"]).to include("class" => "SyntaxError")
      ended = host.parent.request("fork", slot: 0, generation: 9, checkpoint: 0, **changed("lib/price.rb", "5", "exit!(3)"))
      expect(host.exited(ended["pid"])).to include("exit_status" => 3, "generation" => 9)
    end
  end

  it "makes no copy where a fork would share something" do
    ["Thread.new { sleep }", "require 'socket'; $pair = UNIXSocket.pair"].each do |line|
      write("spec/a_spec.rb", "#{line}\nrequire './lib/price'\nRSpec.describe('a') { it('b') { expect(1).to eq 1 } }\n")
      watching("lib/price.rb") { |_, checkpoints| expect(checkpoints).to eq({}) }
    end
  end

  it "ends the copies with the process that loaded the suite" do
    watching("lib/price.rb") do |host, _|
      copies = Children.of(host.pid)
      expect(copies.size).to eq 1
      host.stop
      Timeout.timeout(10) { sleep 0.01 while copies.any? { |pid| File.exist?("/proc/#{pid}") } }
    end
  end

  module Children
    def self.of(pid) = Dir["/proc/#{pid}/task/*/children"].flat_map { |file| File.read(file).split.map(&:to_i) }
  end
end
