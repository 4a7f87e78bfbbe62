"""RSpec: hooks, loading, exits and definitions that come late."""

from model import situation, truth


def spec(name, the_truth, text, args=("-w", "1"), files=None, **more):
    situation(f"hooks/{name}", the_truth, {"spec/a_spec.rb": text, **(files or {})}, args, **more)


A = 'RSpec.describe "A" do\n%s\n  it("one") { }\n  it("two") { }\nend\n'
PASS = {"A > one": "passed", "A > two": "passed"}
FAIL = {"A > one": "failed", "A > two": "failed"}

spec("before-raises", truth(1, FAIL), A % '  before { raise "x" }')
spec("after-raises", truth(1, FAIL), A % '  after { raise "x" }')
spec("around-raises-before", truth(1, FAIL), A % '  around { |e| raise "x" }')
spec("around-raises-after", truth(1, FAIL), A % '  around { |e| e.run; raise "x" }')
spec("around-runs-nothing", truth((0, 1), {"A > one": "pending|failed", "A > two": "pending|failed"}), A % "  around { |e| }")
spec("around-runs-twice", truth((0, 1), {"A > one": "passed|failed", "A > two": "passed|failed"}), A % "  around { |e| e.run; e.run }")
spec("let-raises", truth(1, FAIL), A.replace('{ }', '{ x }') % '  let(:x) { raise "x" }')
spec("after-exits-zero", truth(1, {"A > one": "failed|crashed", "A > two": "failed|crashed"}), A % "  after { exit!(0) }")
spec("before-context-raises", truth(1, FAIL), A % '  before(:context) { raise "x" }', short=True, all_views=True)
spec("after-context-raises", truth(1, PASS), A % '  after(:context) { raise "x" }', short=True, all_views=True)
spec("before-context-skips", truth(0, {"A > one": "pending", "A > two": "pending"}), A % '  before(:context) { skip "no" }')
spec("before-context-exits", truth(1, {"A > one": "failed|crashed|not_run", "A > two": "failed|crashed|not_run"}), A % "  before(:context) { exit!(0) }")
spec("after-context-exits", truth(1, {"A > one": "passed|crashed", "A > two": "passed|crashed"}), A % "  after(:context) { exit!(0) }")
spec("before-context-hangs", truth(1, {"A > one": "timed_out|not_run", "A > two": "timed_out|not_run"}), A % "  before(:context) { sleep 100 }",
     ("-w", "1", "--timeout", "300ms"), timeout=60)
spec("after-context-hangs", truth(1, {"A > one": "passed|timed_out", "A > two": "passed|timed_out"}), A % "  after(:context) { sleep 100 }",
     ("-w", "1", "--timeout", "300ms"), timeout=60)
spec("before-hangs", truth(1, {"A > one": "timed_out", "A > two": "timed_out"}), A % "  before { sleep 100 }", ("-w", "1", "--timeout", "500ms"))
spec("after-hangs", truth(1, {"A > one": "timed_out", "A > two": "timed_out"}), A % "  after { sleep 100 }", ("-w", "1", "--timeout", "500ms"))

SUITE = 'RSpec.configure { |c| c.%s { %s } }\n'
spec("before-suite-raises", truth((1, 2), {"A > one": "not_run", "A > two": "not_run"}, ("finished", "did_not_load")), SUITE % ("before(:suite)", 'raise "x"') + A % "", short=True)
spec("before-suite-exits", truth((1, 2), {"A > one": "not_run|crashed", "A > two": "not_run|crashed"}, ("finished", "did_not_load")), SUITE % ("before(:suite)", "exit 0") + A % "")
spec("after-suite-raises", truth(1, PASS), SUITE % ("after(:suite)", 'raise "x"') + A % "", short=True)
spec("after-suite-exits-zero", truth((0, 1), PASS), SUITE % ("after(:suite)", "exit 0") + A % "")
spec("before-each-in-config-raises", truth(1, FAIL), SUITE % ("before(:each)", 'raise "x"') + A % "")
spec("at-exit-zero-after-failure", truth(1, {"A > one": "failed", "A > two": "passed"}), "at_exit { exit! 0 }\n" + (A % "").replace('it("one") { }', 'it("one") { raise "x" }'), short=True)
spec("at-exit-status-after-pass", truth(1, PASS), "at_exit { exit 3 }\n" + A % "", short=True)
spec("at-exit-raises", truth(1, PASS), 'at_exit { raise "x" }\n' + A % "")
spec("at-exit-hangs", truth((0, 1), PASS), "at_exit { sleep 100 }\n" + A % "", timeout=60)
spec("at-exit-kills-itself", truth(1, PASS), "at_exit { Process.kill(:KILL, Process.pid); sleep }\n" + A % "")
spec("at-exit-in-example", truth((0, 1), PASS), (A % "").replace('it("one") { }', 'it("one") { at_exit { exit!(7) } }'))

LATE = 'RSpec.describe "A" do\n  it("one") { RSpec.describe("late") { it("inner") { %s } } }\n  it("two") { }\nend\n'
spec("defined-late-fails", truth((1, 2), {"A > one": "passed|failed|errored", "A > two": "passed", "late > inner": "failed|not_run?"}), LATE % 'raise "x"', short=True)
spec("defined-late-passes", truth((1, 2), {"A > one": "passed|failed|errored", "A > two": "passed", "late > inner": "passed|not_run?"}), LATE % "")
spec("defined-in-before-context", truth((1, 2), {"A > one": "passed|failed|errored", "A > two": "passed|failed|errored", "late > inner": "failed|not_run?"}, exact=False),
     A % '  before(:context) { RSpec.describe("late") { it("inner") { raise "x" } } }')
spec("defined-in-before-suite", truth((1, 2), {"A > one": "passed|not_run", "A > two": "passed|not_run", "late > inner": "failed|not_run?"}, ("finished", "did_not_load"), exact=False),
     SUITE % ("before(:suite)", 'RSpec.describe("late") { it("inner") { raise "x" } }') + A % "")
spec("example-added-to-running-group", truth((1, 2), {"A > one": "passed|failed|errored", "A > two": "passed", "A > inner": "failed|not_run?"}),
     'RSpec.describe "A" do\n  it("one") { self.class.it("inner") { raise "x" } }\n  it("two") { }\nend\n')

LOADED = {"spec/b_spec.rb": 'RSpec.describe("B") { it("fine") { } }'}
# Nothing is run when a file cannot be loaded; examples of other files may be named as not run.
NOT_LOADED = dict(state="did_not_load", exact=False)
spec("syntax-error", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), "RSpec.describe('A') { it('x' { } }", files=LOADED, short=True, all_views=True)
spec("missing-require", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), "require 'no_such_thing'", files=LOADED)
spec("raises-while-loading", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), 'raise "x"', files=LOADED)
spec("raises-in-describe", truth(2, {"B > fine": "not_run?", "A > one": "not_run?"}, **NOT_LOADED), 'RSpec.describe("A") { it("one") { }; raise "x" }', files=LOADED)
spec("exit-zero-while-loading", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), "exit 0", files=LOADED, short=True)
spec("exit-bang-while-loading", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), "exit! 0", files=LOADED)
spec("killed-while-loading", truth(2, {"B > fine": "not_run?"}, **NOT_LOADED), "Process.kill(:KILL, Process.pid); sleep", files=LOADED)
spec("helper-missing", truth(2, {}, **NOT_LOADED), A % "", files={".rspec": "--require ./spec/nowhere.rb\n"})
spec("option-unknown", truth(2, {}, **NOT_LOADED), A % "", files={".rspec": "--no-such-option\n"})
spec("gemfile-broken", truth(2, {}, **NOT_LOADED), A % "", files={"Gemfile": "gem 'no-such-gem-at-all'\n"}, timeout=60)
spec("load-prints-much", truth(0, PASS), 'puts "x" * 5_000_000\n' + A % "")
spec("load-warns", truth(0, PASS), 'warn "careful"\n' + A % "")
spec("file-without-examples", truth(2, {}, "nothing_found"), "RSpec.describe('A') { }", short=True)
spec("empty-file", truth(2, {}, "nothing_found"), "")
