# frozen_string_literal: true

require "open3"

# Runs the real `rspec` in a process of its own and reads its JSON.
class PlainRSpec
  attr_reader :status, :report

  def self.run(root, args = [], env: {})
    Dir.mktmpdir do |folder|
      out = File.join(folder, "report.json")
      settings = { "SPEC_OPTS" => nil, "RUBYOPT" => nil }.merge(env)
      _text, status = Open3.capture2e(settings, "rspec", "--format", "json", "--out", out, *args, chdir: root)
      new(root, status.exitstatus, File.exist?(out) && !File.zero?(out) ? JSON.parse(File.read(out)) : {})
    end
  end

  # Class, message and first line of the project in the backtrace.
  def self.exception(root, exception)
    return unless exception

    # RSpec 3.13 writes paths relative to the folder, as it shows them; 3.12 writes them whole.
    lines = (exception["full_backtrace"] || exception["backtrace"] || []).map { |each| each.sub(%r{\A\./}, "#{root}/") }
    line = lines.find { |each| each.start_with?("#{root}/") }
    [exception["class"], clean(exception["message"]), line]
  end

  # Addresses of objects differ from process to process.
  def self.clean(text)
    text.gsub(/0x\h+/, "0x…")
  end

  def initialize(root, status, report)
    @root = root
    @status = status
    @report = report
  end

  def order
    report["examples"].map { |example| example["id"] }
  end

  def results
    report["examples"].to_h do |example|
      [example["id"], [example["status"], example["pending_message"], PlainRSpec.exception(@root, example["exception"])]]
    end
  end

  def outside_errors
    report["summary"]["errors_outside_of_examples_count"]
  end
end
