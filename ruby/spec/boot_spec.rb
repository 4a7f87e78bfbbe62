# frozen_string_literal: true

require "open3"

RSpec.describe "starting" do
  def project(files)
    Dir.mktmpdir do |folder|
      files.each do |path, text|
        FileUtils.mkdir_p(File.dirname("#{folder}/#{path}"))
        File.write("#{folder}/#{path}", text)
      end
      yield folder
    end
  end

  spec = "RSpec.describe('x') { it('y') { expect(1).to eq(1) } }"

  it "sets Bundler up where there is a Gemfile" do
    project("Gemfile" => "source 'https://rubygems.org'\ngem 'rspec'\n",
            "spec/x_spec.rb" => "#{spec}\nputs Bundler.definition.dependencies.map(&:name).inspect") do |root|
      Host.open(root) do |host|
        expect(host.list).to include("count" => 1, "errors" => [])
        host.parent.request("__shutdown__")
        host.wait
        expect(host.stdout.finish).to include('["rspec"]')
      end
    end
  end

  it "hides the host's settings for garbage collection, and only those" do
    settings = { "RUBY_GC_MALLOC_LIMIT" => "33554431", "RUBY_GC_OLDMALLOC_LIMIT" => "50000000",
                 "PROCTOR_RUBY_GC" => "RUBY_GC_MALLOC_LIMIT=33554431 RUBY_GC_OLDMALLOC_LIMIT=67108863" }
    shown = 'puts ENV.keys.grep(/_GC/).inspect, GC.stat(:malloc_increase_bytes_limit), Bundler.original_env.keys.grep(/_GC/).inspect'
    project("Gemfile" => "source 'https://rubygems.org'\ngem 'rspec'\n", "spec/x_spec.rb" => "#{spec}\n#{shown}") do |root|
      Host.open(root, env: settings) do |host|
        expect(host.list).to include("count" => 1)
        host.parent.request("__shutdown__")
        host.wait
        expect(host.stdout.finish.lines(chomp: true).last(3))
          .to eq(['["RUBY_GC_OLDMALLOC_LIMIT"]', "33554431", '["RUBY_GC_OLDMALLOC_LIMIT"]'])
      end
    end
  end

  it "says over the protocol when Bundler cannot, and can do without" do
    project("Gemfile" => "source 'https://rubygems.org'\ngem 'no-such-gem-at-all'\n", "spec/x_spec.rb" => spec) do |root|
      Host.open(root) { |host| expect(host.list["error"]).to include("code" => "failed", "message" => /no-such-gem-at-all/) }
      Host.open(root, env: { "PROCTOR_BUNDLER" => "0" }) { |host| expect(host.list["count"]).to eq(1) }
    end
  end

  it "speaks over standard input and output when there is no socket" do
    project("spec/x_spec.rb" => "puts 'noise'\n#{spec}") do |root|
      lines = [{ id: "1", action: "hello", protocol: 1 }, { id: "2", action: "list", args: [] }, { id: "3", action: "__shutdown__" }]
      env = { "RPC_SOCKET_FD" => nil, "RPC_SOCKET_PATH" => nil }
      Open3.popen3(env, RbConfig.ruby, "#{Host::EXE}/proctor-rspec-worker", chdir: root) do |input, output, errors, thread|
        lines.first(2).each { |line| input.puts(JSON.generate(line)) }
        input.flush
        replies = Array.new(3) { JSON.parse(output.gets) }
        expect(replies.map { |reply| reply["reply_to"] || reply["type"] }).to eq(%w[1 examples 2])
        input.puts(JSON.generate(lines.last))
        expect(JSON.parse(output.gets)).to include("reply_to" => "3", "status" => "shutting_down", "finished" => 0)
        expect(thread.value.exitstatus).to eq(0)
        expect(errors.read).to include("noise")
      end
    end
  end

  it "connects by path with the connect line" do
    project("spec/x_spec.rb" => spec) do |root|
      server = UNIXServer.new("#{root}/s")
      env = { "RPC_SOCKET_PATH" => "#{root}/s", "RPC_TOKEN" => "t", "WORKER_INDEX" => "3" }
      pid = Process.spawn(env, RbConfig.ruby, "#{Host::EXE}/proctor-rspec-worker", chdir: root)
      socket = server.accept
      expect(JSON.parse(socket.gets)).to include("type" => "connect", "token" => "t", "stream" => "rpc", "slot" => 3)
      peer = Peer.new(socket)
      expect(peer.request("hello", protocol: 1)["pid"]).to eq(pid)
      peer.request("__shutdown__")
      expect(Process.wait2(pid)[1].exitstatus).to eq(0)
    end
  end

  it "reports threads of the project" do
    project("spec/x_spec.rb" => "Thread.new { sleep }.name = 'poller'\n#{spec}") do |root|
      Host.open(root) { |host| expect(host.list).to include("threads" => ["poller"], "fork_unsafe" => [/poller/]) }
    end
  end

  it "answers hello and dump while a file is being loaded, and ends when the host goes away then" do
    project("spec/x_spec.rb" => "sleep") do |root|
      Host.open(root) do |host|
        host.parent.post("list", args: [])
        Timeout.timeout(20) do
          until host.parent.request("dump")["threads"].any? { |thread| thread["backtrace"].join.include?("x_spec.rb") }; end
        end
        host.parent.close
        expect(host.wait.exitstatus).to eq(1)
      end
    end
  end

  it "hides nothing the project forgot to require, but for json" do
    project("spec/x_spec.rb" => "puts $LOADED_FEATURES.grep(/\\/(set|socket|digest|stringio|fiddle|time|tempfile|tmpdir|fileutils)(\\.so|\\.rb)\\z/).inspect\n#{spec}") do |root|
      Host.open(root) do |host|
        host.list
        host.parent.request("__shutdown__")
        host.wait
        expected, = Open3.capture2("rspec", chdir: root)
        expect(host.stdout.finish.lines.first).to eq(expected.lines.first)
      end
    end
  end
end
