# frozen_string_literal: true

# Finds out how a file of a project can be loaded at all, without Proctor: prints the lines of Ruby that do it, or nothing.
#   ruby loading.rb ROOT FILE
require "json"

root, file = ARGV
Dir.chdir(root)
paths = ["lib", *Dir["app/*"].select { |path| File.directory?(path) }].map { |path| "$LOAD_PATH.unshift #{File.expand_path(path).dump}" }
main = Dir["lib/*.rb"].sort_by { |path| [path.count("_-"), path.length] }.map { |path| "begin; require #{File.expand_path(path).dump}; rescue LoadError; end" }
one = "require #{File.expand_path(file).dump}"
rails = ['require "rails/all"', 'require "active_support/all"']
folders = Dir["app/{*,*/concerns}"].select { |path| File.directory?(path) }
zeitwerk = ['require "zeitwerk"', "bench = Zeitwerk::Loader.new", *folders.map { |path| "bench.push_dir #{File.expand_path(path).dump}" }, "bench.setup"]
ways = []
ways << ['ENV["RAILS_ENV"] = "test"', 'require "./config/environment"', one] if File.exist?("config/environment.rb")
ways.push(paths + [one], paths + main + [one], rails + paths + main + [one])
ways << (rails + paths + main + zeitwerk + [one]) unless folders.empty?
found = ways.find do |lines|
  pid = fork do
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    $stdin.reopen(File::NULL)
    begin
      lines.each { |line| eval(line, TOPLEVEL_BINDING) } # rubocop:disable Security/Eval
    rescue Exception # rubocop:disable Lint/RescueException
      Process.exit!(1)
    end
    Process.exit!(0)
  end
  Process.wait(pid)
  $?.success?
end
puts JSON.generate(found)
