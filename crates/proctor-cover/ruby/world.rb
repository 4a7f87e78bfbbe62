# frozen_string_literal: true

# What the world outside answers: files, clock, environment, chance, other machines. Calls of these are noticed; a call may be
# given an answer, which in a spec becomes `allow(...).to receive(...)`, so that what depends on the world can be shown.
module ProctorWorld
  YES = %w[true false].freeze
  TEXTS = ['"a: 1\nb: 2\n"', '"a = 1\n# note\n[b]\nc = \"d\"\n"', '"{}"', '""', '"one\ntwo\n"'].freeze
  LISTS = ['["a.rb", "b.txt"]', "[]"].freeze
  # What is read may be given as a file, to a block or not; lines are given one by one.
  FILES = ['StringIO.new("a: 1\nb: 2\n")', 'StringIO.new("a = 1\n# note\n[b]\nc = \"d\"\n")', "StringIO.new"].freeze
  LINES = ['"a = 1\n"', '"# note\n"'].freeze
  TIMES = ['Time.at(0, in: "UTC")', 'Time.at(1_700_000_000, in: "UTC")'].freeze
  ANSWERS = {
    "File.exist?" => YES, "File.file?" => YES, "File.directory?" => YES, "File.readable?" => YES, "File.writable?" => YES,
    "File.executable?" => YES, "File.symlink?" => YES, "File.zero?" => YES, "Dir.exist?" => YES, "File.size" => %w[0 10],
    "File.read" => TEXTS, "File.binread" => TEXTS, "IO.read" => TEXTS, "File.readlines" => ['["a\n", "b\n"]', "[]"],
    "IO.readlines" => ['["a\n", "b\n"]', "[]"], "File.mtime" => TIMES, "Dir.glob" => LISTS, "Dir.[]" => LISTS, "Dir.children" => LISTS,
    "Dir.entries" => LISTS, "Dir.pwd" => ['"/home/user"'], "Dir.home" => ['"/home/user"'], "Time.now" => TIMES, "Time.current" => TIMES,
    "Date.today" => ["Date.new(2024, 2, 29)"], "Date.current" => ["Date.new(2024, 2, 29)"], "ENV.[]" => ['"x"', "nil", '"1"'], "ENV.fetch" => ['"x"', '"1"'], "ENV.key?" => YES,
    "SecureRandom.hex" => ['"abc123"'], "SecureRandom.uuid" => ['"00000000-0000-4000-8000-000000000000"'], "Random.rand" => %w[0 0.5],
    "Kernel.rand" => %w[0 0.5], "Process.pid" => ["42"], "Process.clock_gettime" => %w[1.5 100.0], "Net::HTTP.get" => ['"{}"', '""'],
    "File.open" => FILES, "File.open&" => FILES, "File.new" => FILES, "File.foreach&" => LINES, "IO.foreach&" => LINES,
    "IO.popen" => ['"x"'], "Etc.getlogin" => ['"user"'], "Socket.gethostname" => ['"host"'], "Etc.nprocessors" => ["4"]
  }.freeze
  # What a clock says; not worth an expectation of their own.
  CLOCKS = %w[Time.now Time.current Date.today Date.current].freeze
  SILENT = %w[Time.now Time.current Date.today Date.current Process.pid Process.clock_gettime Kernel.rand Random.rand SecureRandom.hex SecureRandom.uuid Dir.pwd].freeze

  # A door to the world outside was opened, and nobody had said what answers.
  class Unanswered < Exception # rubocop:disable Lint/InheritException
    def initialize(name)
      super("calls #{name}, which leaves the program")
    end
  end

  # What other machines answer.
  RESPONSES = ['http_response(Net::HTTPOK, "200", "{}")', 'http_response(Net::HTTPCreated, "201", "{}")', 'http_response(Net::HTTPNotFound, "404", "")',
               'http_response(Net::HTTPInternalServerError, "500", "")', 'http_response(Net::HTTPFound, "302", "")'].freeze
  VERBS = %w[get get_response post post_form put patch delete head request request_get request_post send_request].freeze

  @called = {}
  @answers = {}
  @doors = {}
  @root = nil

  class << self
    attr_reader :called

    # Watches what of the table exists by now.
    def install(root)
      @root = root
      ANSWERS.each_key do |name|
        next if name.end_with?("&") && ANSWERS.key?(name.delete_suffix("&"))

        target, method = name.delete_suffix("&").split(".", 2)
        owner = constant(target)
        watch(owner, method.to_sym, name.delete_suffix("&")) if owner&.respond_to?(method, true)
      end
    end

    # Calls that leave the program: {"Gateway.charge" => codes of answers}. They are never made for real.
    def install_doors(doors)
      doors.each do |name, answers|
        target, method = name.split(".", 2)
        owner = constant(target)
        next unless owner.respond_to?(method)

        watch(owner, method.to_sym, name) unless ANSWERS.key?(name) && !@doors.key?(name)
        @doors[name] = answers
      end
    end

    def door?(name) = @doors.key?(name)

    # What may be answered.
    def answers_for(name) = @doors[name] || ANSWERS[name] || []

    # From here on these answers hold: {"File.read" => value}.
    def start(answers)
      @called = {}
      @answers = answers
    end

    def finish = @answers = {}

    def note(name, args, options = {}) = (@called[name] ||= []) << [args, options]

    def answer?(name) = @answers.key?(name)

    def answer(name)
      value = @answers[name]
      value.is_a?(String) ? value.dup : value
    end

    # Only what the project itself asks counts. What a door does by itself is its own business.
    def ours?(home = nil)
      return false unless ProctorGuard.armed

      place = caller_locations(2, 1)&.first
      place && place.path.to_s.start_with?(@root) && place.path != home
    end

    private

    def constant(name)
      Object.const_get(name)
    rescue StandardError, ScriptError
      nil
    end

    def watch(owner, method, name)
      home = owner.method(method).source_location&.first
      answering = Module.new do
        define_method(method) do |*args, **options, &block|
          if ProctorWorld.ours?(home)
            asked = block && ANSWERS.key?("#{name}&") ? "#{name}&" : name
            ProctorWorld.note(asked, args, options) if ANSWERS.key?(asked) || ProctorWorld.door?(asked)
            if ProctorWorld.answer?(asked)
              answer = ProctorWorld.answer(asked)
              return asked.end_with?("&") ? block.call(answer) : ProctorDouble.answer(answer, block)
            end
            raise Unanswered, asked if ProctorWorld.door?(asked)
          end
          super(*args, **options, &block)
        end
      end
      owner.singleton_class.prepend(answering)
    end
  end
end
