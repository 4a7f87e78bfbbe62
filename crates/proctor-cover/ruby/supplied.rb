# frozen_string_literal: true

# Runs one example in which a call is watched, with values that somebody supplied, and says what came of the call as a matcher.
# Usage: ruby supplied.rb JOB RESULT
require "json"
require "stringio"
require "rspec/core"
%w[probe database record_values records execute render].each { |name| require_relative name }

# What the example calls: `ProctorSupplied.watch(object) { object.call }`.
module ProctorSupplied
  class << self
    attr_reader :seen

    def prepare(job)
      @root = File.realpath(job["root"])
      @raise_lines = job["raise_lines"]
      @render = ProctorRender.new(@root, job["readers"])
    end

    # Failures of stand-ins are no result of the call: they go on and fail the example.
    def watch(receiver)
      before = attributes(receiver)
      value = yield
      @seen = returned(value, receiver, before)
    rescue StandardError, NotImplementedError => e
      @seen = raised(e)
    end

    private

    def attributes(receiver) = Module === receiver ? {} : @render.attributes(receiver)

    # What changed says more than `nil` or the object itself.
    def returned(value, receiver, before)
      changed = attributes(receiver).reject { |name, code| before[name] == code }
      silent = nil.equal?(value) || (value.equal?(receiver) && !(Module === receiver))
      if silent && changed.any?
        return { "kind" => "state", "matcher" => "have_attributes(#{changed.map { |name, code| "#{name}: #{code}" }.join(', ')})" }
      end
      matcher, = @render.matcher(value, receiver)
      matcher ? { "kind" => "return", "matcher" => matcher } : { "kind" => "unknown", "message" => "the result cannot be written as code" }
    end

    def raised(error)
      name = error.class.name
      return { "kind" => "unknown", "message" => "the error has no name" } unless name
      return { "kind" => "accident", "message" => "#{name}: #{error.message.lines.first.to_s.strip[0, 300]}" } if accident?(error)

      message = @render.code(error.message.to_s)
      { "kind" => "raise", "matcher" => message && message.length < 300 ? "raise_error(#{name}, #{message})" : "raise_error(#{name})" }
    end

    # An error that the code does not raise itself, and that says that the values were unfit.
    def accident?(error)
      place = error.backtrace_locations&.first
      own = place && @raise_lines[place.absolute_path.to_s.delete_prefix("#{@root}/")]&.include?(place.lineno)
      return false if own && !error.instance_of?(NoMethodError) && !error.instance_of?(NameError)

      ProctorExecute::NOISE.any? { |type| error.is_a?(type) } || error.instance_of?(ArgumentError)
    end
  end
end

if $PROGRAM_NAME == __FILE__
  job = JSON.parse(File.read(ARGV[0]))
  result = ARGV[1]
  ARGV.clear
  Dir.chdir(job["root"])
  $VERBOSE = nil
  Encoding.default_external = Encoding::UTF_8
  job["load_paths"].reverse_each { |path| $LOAD_PATH.unshift(path) unless $LOAD_PATH.include?(path) }
  ProctorSupplied.prepare(job)
  output = StringIO.new
  RSpec::Core::Runner.run([job["spec"], "--no-color"], output, output)
  failed = RSpec.world.all_examples.filter_map { |example| example.execution_result.exception }.first
  message = failed ? failed.message : output.string.lines.map(&:strip).reject(&:empty?).first(6).join(" / ")
  File.write(result, JSON.generate(ProctorSupplied.seen && !failed ? ProctorSupplied.seen : { "kind" => "failed", "message" => message.to_s[0, 700] }))
end
