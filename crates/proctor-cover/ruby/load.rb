# frozen_string_literal: true

# Tries to load a project in one of several ways; prints as JSON which one works and what it needs.
# Usage: ruby load.rb JOB. Each way is tried in a child of its own.
require "json"
require_relative "database"

job = JSON.parse(File.read(ARGV[0]))
Dir.chdir(job["root"])
job["load_paths"].reverse_each { |path| $LOAD_PATH.unshift(path) }
$VERBOSE = nil

# Requires the files; a constant that is missing is looked up in the project's index and its file loaded first. What the project
# does not define may be a library's: the feature that is called like it.
def try_way(way, job)
  extra = []
  begin
    # What was missing last is needed by what was missing before it.
    (extra + way["requires"]).each { |path| require path }
  rescue NameError => e
    name = e.message[/uninitialized constant ([\w:]+)/, 1]
    parts = name.to_s.split("::")
    file = parts.each_index.map { |place| job["constants"][parts.drop(place).join("::")] }.compact.first
    raise if !way["resolve"] || extra.length > 40
    retry if file.nil? && name && job["library"] && (feature = library_of(e)) && !libraries.include?(feature) && libraries << feature
    raise if file.nil? || extra.include?(file)

    extra.unshift(file)
    retry
  end
  extra
end

# Features of libraries that were required because a constant of theirs was missing.
def libraries = (@libraries ||= [])

# The feature that defines the constant that an error misses, required; nil if there is none. `OAuth2` may be `oauth2` or `o_auth2`.
def library_of(error)
  name = error.name.to_s
  word = name.gsub(/([A-Z]+)([A-Z][a-z])|([a-z\d])([A-Z])/) { "#{$1 || $3}_#{$2 || $4}" }.downcase
  [word, name.downcase, word.tr("_", "-")].uniq.find do |feature|
    require feature
    Object.const_defined?(name)
  rescue StandardError, ScriptError
    false
  end
end

# Features of Ruby's own library that the file uses when its methods are called, and that nothing has loaded.
def load_features(job)
  job["features"].filter_map do |name, feature|
    next if there?(name)

    require feature
    feature
  rescue LoadError
    nil
  end.uniq
end

# Files of constants that the file uses when its methods are called, and that nothing has loaded.
def load_needed(job, extra)
  later = []
  job["needs"].each do |name|
    file = job["constants"][name]
    next if file.nil? || extra.include?(file) || later.include?(file) || there?(name)

    begin
      require file
      later << file
    rescue StandardError, ScriptError
      next
    end
  end
  later
end

# What keeps the stored classes among those that the file needs from being stored; nil if nothing does, or none is stored.
def database_problem(job)
  return nil unless job["stores"]
  return "ActiveRecord is not loaded" unless ProctorDatabase.loaded?

  missing = job["stored"].reject { |name| there?(name) }
  return "#{missing.first(3).join(', ')} cannot be loaded" if missing.any?

  ProctorDatabase.problem(job["stored"].map { |name| Object.const_get(name) }.select { |mod| ProctorDatabase.record?(mod) })
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
      later = load_needed(job, extra)
      { "loaded" => true, "extra" => extra, "missing" => missing, "later" => later, "features" => load_features(job) + libraries,
        "lacking" => job["expects"].reject { |name| there?(name) }, "database" => database_problem(job) }
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
    tried << attempt(way, job.merge("classes" => file["classes"], "needs" => file["needs"], "features" => file["features"], "expects" => file["expects"], "library" => file["library"], "stored" => file["stored"], "stores" => file["stores"]))
    break if tried.last["loaded"] && tried.last["missing"].empty? && tried.last["lacking"].empty? && tried.last["database"].nil?
  end
  tried
end
puts JSON.generate(answers)
