# frozen_string_literal: true

# Tries to load a project in one of several ways; prints as JSON which one works and what it needs.
# Usage: ruby load.rb JOB. Each way is tried in a child of its own.
require "json"

job = JSON.parse(File.read(ARGV[0]))
Dir.chdir(job["root"])
job["load_paths"].reverse_each { |path| $LOAD_PATH.unshift(path) }
$VERBOSE = nil

# Requires the files; a constant that is missing is looked up in the project's index and its file loaded first.
def try_way(way, job)
  extra = []
  begin
    way["requires"].each { |path| require path }
  rescue NameError => e
    name = e.message[/uninitialized constant ([\w:]+)/, 1]
    parts = name.to_s.split("::")
    file = parts.each_index.map { |place| job["constants"][parts.drop(place).join("::")] }.compact.first
    raise if !way["resolve"] || file.nil? || extra.include?(file) || extra.length > 40

    extra << file
    begin
      require file
    rescue NameError
      retry
    end
    retry
  end
  extra
end

# What loads itself when it is named may fail to.
def there?(name)
  Object.const_get(name).is_a?(Module)
rescue StandardError, ScriptError
  false
end

def attempt(way, job)
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    $stdin.reopen(File::NULL)
    $stdout.reopen(File::NULL)
    answer = begin
      extra = try_way(way, job)
      missing = job["classes"].reject { |name| there?(name) }
      { "loaded" => true, "extra" => extra, "missing" => missing }
    rescue Exception => e # rubocop:disable Lint/RescueException
      { "loaded" => false, "error" => "#{e.class}: #{e.message}"[0, 2000], "place" => e.backtrace&.first }
    end
    writer.write(JSON.generate(answer))
    writer.close
    Process.exit!(0)
  end
  writer.close
  ready = IO.select([reader], nil, nil, job["seconds"])
  text = ready ? reader.read : ""
  Process.kill(:KILL, pid) unless ready
  Process.wait(pid)
  text.empty? ? { "loaded" => false, "error" => ready ? "the process ended while loading" : "loading takes too long" } : JSON.parse(text)
end

answers = job["files"].map do |file|
  tried = []
  file["ways"].each do |way|
    tried << attempt(way, job.merge("classes" => file["classes"]))
    break if tried.last["loaded"] && tried.last["missing"].empty?
  end
  tried
end
puts JSON.generate(answers)
