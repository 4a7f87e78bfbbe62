# frozen_string_literal: true

require_relative "../lib/proctor/wire"
require_relative "../lib/proctor/runner/work_queue"
require_relative "../lib/proctor/runner/seeds"
require_relative "../lib/proctor/runner/garbage"

RSpec.describe Proctor::Plain do
  it "copies subclasses of core classes into the core classes" do
    text = Class.new(String).new("x")
    result = described_class.value({ key: text, list: [Class.new(Hash).new.update(1 => :a)] })
    expect(result).to eq("key" => "x", "list" => [{ "1" => "a" }])
    expect(result["key"]).to be_an_instance_of(String)
  end

  it "makes valid UTF-8 of anything" do
    expect(described_class.text("\xFF".dup.force_encoding("BINARY"))).to eq("\uFFFD")
    expect(described_class.text("\xE9".dup.force_encoding("ISO-8859-1"))).to eq("é")
    expect(described_class.text("é".encode("UTF-16LE"))).to eq("é")
  end

  it "ends recursion and copes with hostile objects" do
    loop_ = []
    loop_ << loop_
    expect { Proctor::Native.json(described_class.value(loop_)) }.not_to raise_error
    hostile = Class.new { def to_s = raise("no") }.new
    expect(described_class.value(hostile)).to be_a(String)
    expect(described_class.value(Float::NAN)).to eq("NaN")
  end
end

RSpec.describe Proctor::Wire do
  def pipe
    reader, writer = IO.pipe
    yield reader, writer
  ensure
    [reader, writer].each(&:close)
  end

  it "gathers lines until a flush" do
    pipe do |reader, io|
      writer = described_class::Writer.new(io)
      writer.queue({ a: 1 })
      expect(reader.wait_readable(0)).to be_nil
      writer.queue_line('{"b":2}')
      writer.flush
      expect(reader.readpartial(100)).to eq(%({"a":1}\n{"b":2}\n))
    end
  end

  it "flushes by itself after 32 lines" do
    pipe do |reader, io|
      writer = described_class::Writer.new(io)
      32.times { writer.queue_line("{}") }
      expect(reader.readpartial(1000).lines.size).to eq(32)
    end
  end

  it "is silent in a process that was forked" do
    pipe do |reader, io|
      writer = described_class::Writer.new(io)
      Process.wait(fork { writer.send_now({ a: 1 }); exit!(0) })
      writer.send_now({ b: 2 })
      expect(reader.readpartial(100)).to eq(%({"b":2}\n))
    end
  end

  it "refuses a reply or a request that does not fit, for somebody judges what is in it" do
    pipe do |reader, io|
      writer = described_class::Writer.new(io)
      large = "x" * (described_class::MAX_LINE + 1)
      writer.send_now({ reply_to: "r1", text: large })
      expect(JSON.parse(reader.gets)).to include("reply_to" => "r1", "error" => include("code" => "too_large"))
      expect { writer.send_now({ id: "c1", action: "conversation.say", text: large }) }.to raise_error(described_class::TooLarge)
    end
  end

  it "cuts a notification that does not fit" do
    pipe do |reader, io|
      sender = Thread.new { described_class::Writer.new(io).send_now({ type: "log", message: "x" * (described_class::MAX_LINE + 1) }) }
      expect(JSON.parse(reader.gets)["message"]).to end_with("… (#{described_class::MAX_LINE + 1} bytes in all)")
      sender.join
    end
  end

  it "skips and reports what is no message" do
    pipe do |input, output|
      problems = []
      feeder = Thread.new do
        output.write("{\"a\":1}\nnonsense\n[1]\n\xFF\n\n{\"id\":7}\n#{"x" * (described_class::MAX_LINE + 10)}\n{\"b\":2}")
        output.close
      end
      messages = []
      described_class::Reader.new(input) { |problem| problems << problem }.each { |message| messages << message }
      feeder.join
      expect(messages).to eq([{ "a" => 1 }, { "b" => 2 }])
      expect(problems.size).to eq(5)
    end
  end
end

RSpec.describe Proctor::Runner::WorkQueue do
  subject(:queue) { described_class.new }

  let(:item_class) { Proctor::Runner::Item }

  def item(key)
    item_class.new(Struct.new(:key).new(key), 1, 1)
  end

  def take_all
    steps = []
    queue.stop
    while (step = queue.take { nil })
      steps << (step.is_a?(Symbol) ? step : step.key)
    end
    steps
  end

  it "hands out units in order and marks their ends" do
    queue.add([[item("a"), item("b")], [item("c")]])
    expect(Array.new(5) { queue.take { nil } }.map { |step| step.is_a?(Symbol) ? step : step.key }).to eq(["a", "b", :unit_done, "c", :unit_done])
  end

  it "asks again and again while it waits: the thread that adds may have been killed" do
    asked = 0
    step = queue.take { queue.add([[item("a")]]) if (asked += 1) == 2 }
    expect(step.key).to eq("a")
  end

  it "takes back by key, also from the unit that has begun" do
    queue.add([[item("a"), item("b")], [item("c")]])
    queue.take { nil }
    expect(queue.withdraw(%w[a b c]).map(&:key)).to eq(%w[b c])
    expect(queue.take { nil }).to eq(:unit_done)
  end

  it "takes back whole units, and the rest of the begun one on request" do
    queue.add([[item("a"), item("b")], [item("c")]])
    queue.take { nil }
    expect(queue.withdraw_all.map(&:key)).to eq(%w[c])
    expect(queue.withdraw_all(with_current: true).map(&:key)).to eq(%w[b])
  end

  it "finishes the begun unit's bookkeeping before it stops" do
    queue.add([[item("a")], [item("b")]])
    queue.take { nil }
    expect(take_all).to eq([:unit_done])
  end

  it "tells once before it would block" do
    idle = 0
    waiter = Thread.new { queue.take { idle += 1 } }
    Thread.pass until waiter.status == "sleep"
    queue.add([[item("a")]])
    expect(waiter.value.key).to eq("a")
    expect(idle).to eq(1)
  end
end

RSpec.describe Proctor::Runner::Seeds do
  it "depends on the base and the key" do
    one = described_class.new(1)
    expect(one.seed_for("a")).to eq(described_class.new(1).seed_for("a"))
    expect([one.seed_for("b"), described_class.new(2).seed_for("a")]).not_to include(one.seed_for("a"))
  end

  it "leaves the generator alone without a base" do
    srand(7)
    expected = rand
    srand(7)
    described_class.new(nil).apply("a")
    expect(rand).to eq(expected)
  end
end

RSpec.describe Proctor::Runner::Garbage do
  it "collects once where many objects are young, and not where few are" do
    kept = Array.new(50_000) { +"young" }
    expect { expect(described_class.collect_before_fork(at_least: 40_000)).to be true }.to change { GC.stat(:major_gc_count) }.by(1)
    expect(kept.size).to eq(50_000)
    expect(described_class.collect_before_fork(at_least: 1 << 40)).to be false
  end

  it "leaves a project alone that has switched collections off" do
    GC.disable
    expect { expect(described_class.collect_before_fork(at_least: 0)).to be false }.not_to(change { GC.count })
    expect(GC.enable).to be(true), "it is still off"
  ensure
    GC.enable
  end

  it "leaves collections on" do
    described_class.collect_before_fork(at_least: 0)
    expect(GC.enable).to be false
  end
end
