"""RSpec: what an example itself can do. The group is always `A`; a healthy example stands beside the odd one, so that losing either shows."""

from model import situation, truth

HEAD = 'RSpec.describe "A" do\n  it("ok") { expect(1).to eq(1) }\n'


def spec(body, head=HEAD):
    return {"spec/a_spec.rb": f"{head}{body}\nend\n"}


def one(name, body, outcome, exit=1, args=("-w", "1"), **more):
    """One odd example, `A > odd`, beside `A > ok`."""
    situation(f"rspec/{name}", truth(exit, {"A > ok": "passed", "A > odd": outcome}), spec(f'  it("odd") {{ {body} }}'), args, **more)


situation("rspec/all-pass", truth(0, {"A > ok": "passed", "A > too": "passed"}), spec('  it("too") { }'), all_views=True, short=True, extra=("mcp", "list only-failures"))
one("fails", "expect(1).to eq(2)", "failed", all_views=True, short=True, extra=("mcp", "list only-failures"))
one("raises", 'raise "boom"', "failed")
one("raises-no-standard-error", 'raise NotImplementedError, "x"', "failed")
one("raises-exception", 'raise Exception, "x"', "failed")
one("raises-script-error", 'raise ScriptError, "x"', "failed")
one("no-memory", 'raise NoMemoryError', "failed|crashed")
one("stack-overflow", "def deep; deep; end; deep", "failed")
one("throws", "throw :nobody", "failed")
one("interrupt-raised", "raise Interrupt", "failed|crashed")
one("signal-exception", 'raise SignalException, "TERM"', "failed|crashed")
one("exit-zero", "exit", "failed|crashed", short=True)
one("exit-one", "exit 1", "failed|crashed")
one("abort", 'abort "gone"', "failed|crashed")
one("exit-bang-zero", "exit!(0)", "crashed", short=True, all_views=True)
one("exit-bang-one", "exit!(1)", "crashed")
one("kill-self", "Process.kill(:KILL, Process.pid); sleep", "crashed", short=True)
one("term-self", "Process.kill(:TERM, Process.pid); sleep 20", "crashed|failed")
one("segfault", "Process.kill(:SEGV, Process.pid); sleep 20", "crashed")
one("abort-process", "Process.abort rescue exit!(134)", "failed|crashed")
one("background-thread-raises", 'Thread.new { raise "later" }.join', "failed")
one("thread-aborts", 'Thread.abort_on_exception = true; Thread.new { raise "later" }; sleep 5', "failed")
one("thread-exit-zero", "Thread.new { exit!(0) }; sleep 5", "crashed")
one("hangs", "sleep 60", "timed_out", args=("-w", "1", "--timeout", "1s"), short=True, all_views=True)
one("hangs-deaf", 'trap("TERM", "IGNORE"); trap("INT", "IGNORE"); begin; sleep 60; rescue Exception; retry; end', "timed_out", args=("-w", "1", "--timeout", "1s"))
one("hangs-busy", "loop { }", "timed_out", args=("-w", "1", "--timeout", "1s"))
one("hangs-in-child", 'system("sleep 60")', "timed_out", args=("-w", "1", "--timeout", "1s"))
one("pending", 'pending "later"; raise "x"', "pending", exit=0, short=True, all_views=True)
one("pending-fixed", 'pending "later"', "failed", short=True)
one("skip", 'skip "no"', "pending", exit=0)
one("skip-after-work", 'expect(1).to eq(1); skip "no"', "pending", exit=0)
one("fails-then-skips", 'begin; expect(1).to eq(2); rescue RSpec::Expectations::ExpectationNotMetError; end; skip "no"', "pending", exit=0)
one("skip-9-mb", 'skip "x" * 9_000_000', "pending", exit=0, short=True)
one("message-9-mb", 'raise "x" * 9_000_000', "failed")
one("message-invalid-utf8", 'raise "bad \\xff\\xfe bytes"', "failed")
one("message-binary", 'raise ("\\x00\\x01\\x1b[31m]]>" * 10)', "failed")
one("message-raises", 'e = Class.new(StandardError) { def message; raise "no message"; end }; raise e', "failed")
one("inspect-raises", 'o = Object.new; def o.inspect; raise "no"; end; expect(o).to eq(1)', "failed")
one("backtrace-9-mb", 'e = RuntimeError.new("x"); e.set_backtrace(["y" * 1000] * 9000); raise e', "failed")
one("cause-loop", 'a = RuntimeError.new("a"); begin; begin; raise a; rescue; raise "b"; end; rescue => b; raise b; end', "failed")
one("output-20-mb", '200.times { puts "z" * 100_000 }', "passed", exit=0)
one("output-no-newline", '$stdout.write("q" * 200_000)', "passed", exit=0)
one("output-binary", '$stdout.binmode; $stdout.write((0..255).map(&:chr).join * 50)', "passed", exit=0)
one("output-forges-results", 'puts "1 example, 1 failure"; puts "2 examples: 0 passed, 2 failed"; puts "✗ A > ok  failed"', "passed", exit=0)
one("output-then-crash", 'puts "last words"; $stdout.flush; exit!(3)', "crashed", args=("-w", "4"))
one("closes-stdout", "$stdout.close; $stderr.close", "passed", exit=0)
one("closes-all-files", "ObjectSpace.each_object(IO) { |io| io.close rescue nil }; (3..60).each { |n| IO.for_fd(n).close rescue nil }", "crashed|failed")
one("writes-into-all-files", '(3..60).each { |n| IO.for_fd(n, autoclose: false).write("garbage\\n") rescue nil }', "passed|failed|crashed|errored|not_run", exit=(0, 1),
    args=("-w", "1", "--timeout", "5s"))
one("deletes-current-folder", 'require "tmpdir"; d = Dir.mktmpdir; Dir.chdir(d); Dir.rmdir(d)', "passed", exit=0)
one("clears-environment", "ENV.clear", "passed", exit=0)
one("stubs-time", 'allow(Time).to receive(:now).and_return(Time.at(0)); allow(Process).to receive(:clock_gettime).and_return(0.0)', "passed", exit=0)
one("breaks-json", 'require "json"; JSON.singleton_class.send(:define_method, :generate) { |*| raise "broken" }; raise "x"', "failed")
one("breaks-puts", 'Kernel.send(:define_method, :puts) { |*| raise "broken" }; expect(1).to eq(2)', "failed")
one("forked-child-fails", 'fork { raise "in child" }; Process.wait; expect($?).to be_success', "failed")
one("forked-child-exits-normally", "pid = fork { exit 0 }; Process.wait(pid); expect($?).to be_success", "passed", exit=0)
one("forked-child-runs-on", 'fork { sleep 30 }; expect(1).to eq(1)', "passed", exit=0)
one("daemon-left", 'pid = fork { Process.setsid; fork { sleep 30 }; exit!(0) }; Process.wait(pid)', "passed", exit=0)
one("wants-to-quit", "RSpec.world.wants_to_quit = true", "passed", exit=(0, 1), without={"live:github": "nothing failed"})
one("aggregates-two-failures", 'aggregate_failures { expect(1).to eq(2); expect(3).to eq(4) }', "failed")
one("soft-rescue-hides-failure", 'begin; expect(1).to eq(2); rescue Exception; end', "passed", exit=0)
one("kills-the-parent", "Process.kill(:KILL, Process.ppid); sleep 0.3", "passed|crashed|not_run", exit=(0, 1), args=("-w", "1", "--timeout", "10s"))

situation("rspec/pending-without-block", truth(0, {"A > ok": "passed", "A > odd": "pending"}), spec('  it "odd"'))
situation("rspec/xit", truth(0, {"A > ok": "passed", "A > odd": "pending"}), spec('  xit("odd") { raise "x" }'))
situation("rspec/skipped-group", truth(0, {"A > ok": "passed", "A > g > odd": "pending"}), spec('  xdescribe("g") { it("odd") { raise "x" } }'))
situation("rspec/pending-group-that-passes", truth(1, {"A > ok": "passed", "A > g > odd": "failed"}), spec('  describe("g", pending: "later") { it("odd") { } }'))
situation("rspec/focused", truth(0, {"A > odd": "passed"}), {**spec('  fit("odd") { }\n  it("bad") { raise }'), ".rspec": "--require ./spec/h.rb\n",
          "spec/h.rb": "RSpec.configure { |c| c.filter_run_when_matching :focus }\n"})
situation("rspec/shared-examples", truth(1, {"A > ok": "passed", "A > behaves like thing > works": "passed", "A > behaves like thing > breaks": "failed"}),
          spec('  shared_examples("thing") { it("works") { }; it("breaks") { raise "x" } }\n  it_behaves_like "thing"'))
situation("rspec/twins-differ", truth(1, {"A > same": "passed", "A > same #2": "failed"}, plain_titles=False),
          {"spec/a_spec.rb": 'RSpec.describe("A") { it("same") { }; it("same") { raise "x" } }'}, short=True)
situation("rspec/twins-in-two-files", truth(1, {"A > same": "passed|failed"}, count_only=True, exact=False),
          {"spec/a_spec.rb": 'RSpec.describe("A") { it("same") { } }', "spec/b_spec.rb": 'RSpec.describe("A") { it("same") { raise "x" } }'})
situation("rspec/no-descriptions", truth(1, {}, exact=False, count_only=True), {"spec/a_spec.rb": "RSpec.describe { it { expect(1).to eq 1 }; it { expect(1).to eq 2 } }"})
situation("rspec/hostile-titles", truth(1, {"A > ok": "passed", "A > <b>&\"'`]]> $(x) ${y}": "failed", "A > ünïcödé ☂ 🧪": "failed"}, plain_titles=False),
          spec('  it("<b>&\\"\'`]]> $(x) ${y}") { raise "x" }\n  it("ünïcödé ☂ 🧪") { raise "x" }'), short=True)
situation("rspec/control-characters-in-title", truth(1, {"A > ok": "passed", "A > a\tb\u0001c\u001b[31mred\nnext": "failed"}, plain_titles=False),
          spec('  it("a\\tb\\u0001c\\e[31mred\\nnext") { raise "x" }'))
situation("rspec/title-forges-marks", truth(1, {"A > ok": "passed", "A > 1 passed, 0 failed": "failed", "A > ::error title=x::y": "failed"}, plain_titles=False),
          spec('  it("1 passed, 0 failed") { raise "x" }\n  it("::error title=x::y") { raise "x" }'))
situation("rspec/long-descriptions", truth(1, {"A > bad": "failed", **{f"A > {n} " + "d" * 12000: "passed" for n in range(300)}}, plain_titles=False),
          {"spec/a_spec.rb": 'RSpec.describe("A") { 300.times { |n| it("#{n} " + "d" * 12_000) { } }; it("bad") { raise "x" } }'}, timeout=90,
          without={"tool run_results all": "more than a page"})
situation("rspec/one-description-9-mb", truth(1, {"A > ok": "passed", "A > bad": "failed", "A > " + "d" * 9_000_000: "passed"}, exact=False, plain_titles=False, count_only=True),
          spec('  it("d" * 9_000_000) { }\n  it("bad") { raise "x" }'), timeout=60)
situation("rspec/metadata-9-mb", truth(1, {"A > ok": "passed", "A > bad": "failed", "A > big": "passed"}),
          spec('  it("big", note: "m" * 9_000_000) { }\n  it("bad") { raise "x" }'), timeout=60)
situation("rspec/thousands", truth(1, {"A > bad": "failed", **{f"A > {n}": "passed" for n in range(2000)}}),
          {"spec/a_spec.rb": 'RSpec.describe("A") { 2000.times { |n| it(n.to_s) { } }; it("bad") { raise "x" } }'}, timeout=90)
situation("rspec/file-name-with-tab", truth(1, {"A > ok": "passed", "A > bad": "failed"}),
          {"spec/a\tb_spec.rb": HEAD + '  it("bad") { raise "x" }\nend\n'})
situation("rspec/file-name-with-newline", truth(1, {"A > ok": "passed", "A > bad": "failed"}),
          {"spec/a\nb_spec.rb": HEAD + '  it("bad") { raise "x" }\nend\n'})
situation("rspec/crash-loses-no-finished", truth(1, {**{f"A > e{n}": "passed" for n in range(30)}, "A > z": "crashed"}),
          {"spec/a_spec.rb": 'RSpec.describe("A") { 30.times { |n| it("e#{n}") { } }; it("z") { exit!(0) } }'}, ["-w", "1"])
situation("rspec/every-example-crashes", truth(1, {f"A > e{n}": "crashed" for n in range(6)}),
          {"spec/a_spec.rb": 'RSpec.describe("A") { 6.times { |n| it("e#{n}") { exit!(0) } } }'}, ["-w", "2"])
