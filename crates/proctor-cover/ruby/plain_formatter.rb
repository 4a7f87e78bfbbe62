# frozen_string_literal: true

# Says in plain lines what became of each example. It loads nothing: a spec must not find here what it forgot to require.
class ProctorPlainFormatter
  RSpec::Core::Formatters.register self, :example_passed, :example_failed, :example_pending, :message, :dump_summary

  def initialize(output)
    @output = output
  end

  def example_passed(note) = say("passed", note.example)
  def example_pending(note) = say("pending", note.example)
  def example_failed(note) = say("failed", note.example)

  def message(note)
    @output.puts("message\t#{note.message.to_s[0, 4000].dump}")
  end

  def dump_summary(summary)
    @output.puts("end\t#{summary.errors_outside_of_examples_count}")
  end

  private

  def say(status, example)
    error = example.execution_result.exception
    said = error.is_a?(NameError) ? error.message.lines.first : error&.message
    text = error ? "#{error.class}: #{said}".scrub.strip.gsub(/\s+/, " ")[0, 300] : ""
    place = example.metadata
    @output.puts(["example", status, example.id.dump, place[:file_path].dump, place[:line_number], text.dump].join("\t"))
  end
end
