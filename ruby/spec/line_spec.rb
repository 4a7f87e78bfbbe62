# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "proctor/host"

# The line to the host, over a real socket; this file plays the host.
RSpec.describe Proctor::Host::Line do
  let(:sockets) { UNIXSocket.pair }
  let(:host) { sockets.last }
  let(:channel) do
    Proctor::Channel.new(Proctor::Transport::Pair.new(sockets.first, sockets.first), name: "t", capabilities: [])
  end
  let(:line) { described_class.new(channel) }

  before do
    line
    channel.start(self) {}
  end

  after { sockets.each { |socket| socket.close unless socket.closed? } }

  def receive
    JSON.parse(host.gets)
  end

  def send(message)
    host.puts(JSON.generate(message))
  end

  def handle(action, _message)
    { error: { code: "unknown_action", message: action } }
  end

  it "does what the host asks on the thread that waits" do
    asked_on = nil
    waiting = Thread.new do
      line.request("conversation.say", { text: "Hi" }, conversation: "t1") do |message|
        asked_on = Thread.current
        { text: "You said #{message["messages"]}" }
      end
    end
    request = receive
    expect(request).to include("action" => "conversation.say", "text" => "Hi")
    send({ id: "h1", action: "agent.chat", conversation_id: "t1", messages: "x" })
    expect(receive).to eq("reply_to" => "h1", "text" => "You said x")
    send({ reply_to: request["id"], status: "passed" })
    expect(waiting.value["status"]).to eq("passed")
    expect(asked_on).to eq(waiting)
  end

  it "waits on when the code that it runs kills the reading thread" do
    reader = nil
    waiting = Thread.new do
      line.request("conversation.say", {}, conversation: "t1") do
        reader = Thread.list.find { |thread| thread.name == "proctor-reader" && channel.thread?(thread) }.kill
        { text: "killed" }
      end
    end
    request = receive
    send({ id: "h1", action: "agent.chat", conversation_id: "t1" })
    expect(receive).to eq("reply_to" => "h1", "text" => "killed")
    # The kill has taken effect before the answer comes, so only a revived thread can read it.
    reader.join(10) or raise "the reading thread lives on"
    send({ reply_to: request["id"], status: "passed" })
    expect(waiting.join(10)&.value).to include("status" => "passed")
  end

  it "keeps conversations of several threads apart" do
    threads = %w[a b].map do |name|
      Thread.new { line.request("conversation.say", { conversation: name }, conversation: name) { { text: name } } }
    end
    requests = [receive, receive].to_h { |message| [message["conversation"], message["id"]] }
    %w[b a].each { |name| send({ id: name, action: "agent.chat", conversation_id: name }) }
    expect([receive, receive]).to contain_exactly({ "reply_to" => "a", "text" => "a" }, { "reply_to" => "b", "text" => "b" })
    requests.each { |name, id| send({ reply_to: id, name: name }) }
    expect(threads.map { |thread| thread.value["name"] }).to eq(%w[a b])
  end

  it "tells the host when nobody waits any more" do
    waiting = Thread.new { Timeout.timeout(0.05) { line.request("conversation.say", {}, conversation: "t1") } }
    waiting.report_on_exception = false
    id = receive["id"]
    expect(receive).to eq("type" => "cancel_request", "id" => id)
    expect { waiting.value }.to raise_error(Timeout::Error)
  end

  it "raises what the host refuses, and what it cannot answer any more" do
    waiting = Thread.new { line.request("x", {}) }
    waiting.report_on_exception = false
    send({ reply_to: receive["id"], error: { code: "bad_request", message: "no such thing" } })
    expect { waiting.value }.to raise_error(described_class::Refused, "no such thing")
    second = Thread.new { line.request("x", {}) }
    second.report_on_exception = false
    receive
    host.close
    expect { second.value }.to raise_error(Proctor::HostUnavailable)
    expect { line.request("x", {}) }.to raise_error(Proctor::HostUnavailable)
  end

  it "refuses requests for conversations that nobody waits in" do
    send({ id: "h1", action: "agent.chat", conversation_id: "t9" })
    expect(receive["error"]).to include("code" => "unknown_action")
  end
end

RSpec.describe Proctor::Host::Program do
  it "is found by PROCTOR_BIN, then on the PATH" do
    Dir.mktmpdir do |folder|
      path = File.join(folder, "proctor")
      File.write(path, "")
      File.chmod(0o755, path)
      expect(described_class.binary({ "PROCTOR_BIN" => "/x/proctor", "PATH" => folder })).to eq("/x/proctor")
      expect(described_class.binary({ "PROCTOR_BIN" => "", "PATH" => "/nowhere:#{folder}" })).to eq(path)
      expect(described_class.binary({ "PATH" => "/nowhere" })).to be_nil
    end
  end
end
