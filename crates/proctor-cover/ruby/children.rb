# frozen_string_literal: true

# Runs tasks in forked children, a few at a time, each with limits. What they write is taken in the order of the tasks
# after all have ended, so that neither their speed nor their number changes what comes of it.
module ProctorChildren
  # Bytes of address space for calls, arenas of threads included.
  MORE_MEMORY = 320 << 20

  private

  # No further task is begun after so much work altogether (`most`), or after this part of the whole time by the clock.
  def work(tasks, seconds, most = nil, part = 1.0)
    texts = Array.new(tasks.length)
    waiting = tasks.each_with_index.to_a
    running = {}
    until waiting.empty? && running.empty?
      waiting.clear if (most && spent > most) || now - @started > @job["wall"] * part
      while running.length < @job["jobs"] && (task, index = waiting.shift)
        reader, pid = child { |out| yield task, out }
        running[reader] = { pid: pid, index: index, until: now + seconds, text: +"" }
      end
      read(running, texts)
      running.each_value { |state| Process.kill(:KILL, state[:pid]) if now > state[:until] && !state[:killed] && (state[:killed] = true) }
    end
    texts.compact.flat_map { |text| lines_of(text) }
  end

  def read(running, texts)
    ready, = IO.select(running.keys, nil, nil, 0.1)
    (ready || []).each do |reader|
      running[reader][:text] << reader.read_nonblock(1 << 20)
    rescue IO::WaitReadable
      nil
    rescue EOFError
      state = running.delete(reader)
      reader.close
      Process.wait(state[:pid])
      texts[state[:index]] = state[:text]
    end
  end

  def child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      confine
      yield writer
    rescue Exception => e # rubocop:disable Lint/RescueException
      trouble(writer, e)
    ensure
      ProctorGuard.armed = false
      writer.close unless writer.closed?
      Process.exit!(0)
    end
    writer.close
    [reader, pid]
  end

  def confine
    Process.setrlimit(:AS, address_space) if @job["memory"]
    Process.setrlimit(:FSIZE, 1 << 20)
    [$stdin, $stdout, $stderr].each { |stream| stream.reopen(File::NULL) }
  end

  # What a child may use: what it starts with and some more, so that calls that ask for very much end early.
  def address_space
    pages = File.read("/proc/self/statm").to_i
    pages.positive? ? [(pages * 4096) + MORE_MEMORY, @job["memory"]].min : @job["memory"]
  rescue SystemCallError
    @job["memory"]
  end

  def trouble(writer, error)
    writer.puts(JSON.generate("type" => "trouble", "message" => "#{error.class}: #{error.message} #{error.backtrace&.first(3)}"))
  rescue Exception # rubocop:disable Lint/RescueException
    nil
  end

  def lines_of(text)
    text.each_line.filter_map do |line|
      parsed = JSON.parse(line)
      take(parsed)
      parsed
    rescue JSON::ParserError
      nil
    end
  end
end
