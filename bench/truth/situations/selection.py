"""Selections, shards, stops after failures, and what is run again."""

from model import situation, truth

TWO = {"spec/a_spec.rb": 'RSpec.describe("A") { it("one", :slow) { }; it("two") { raise "x" } }'}
GOOD = {"spec/a_spec.rb": 'RSpec.describe("A") { it("one") { }; it("two") { } }'}
NOTHING = truth(2, {}, "nothing_found")


def select(name, the_truth, files, *args, **more):
    situation(f"selection/{name}", the_truth, files, list(args), **more)


select("text-matches-nothing", NOTHING, GOOD, "-e", "nowhere", short=True, all_views=True)
select("tag-matches-nothing", NOTHING, GOOD, "-t", "nowhere")
select("id-matches-nothing", NOTHING, GOOD, "--stable-id", "ffffffffffff")
select("suite-unknown", truth(2, {}, (None,)), GOOD, "--suite", "nowhere")
select("path-missing", truth(2, {}, (None,)), GOOD, "spec/nowhere_spec.rb")
select("line-beyond-the-end", truth((0, 2), {"A > one": "passed?", "A > two": "passed?"}, (None,)), GOOD, "spec/a_spec.rb:999")
select("rspec-filter-excludes-all", NOTHING, {**GOOD, ".rspec": "--tag nowhere\n"})
select("empty-project", truth(2, {}, (None,)), {})
select("allow-empty-nothing", truth(0, {}, ("nothing_found", "finished")), GOOD, "-e", "nowhere", "--allow-empty", short=True)
select("allow-empty-load-error", truth(2, {}, "did_not_load", exact=False), {"spec/a_spec.rb": "raise 'x'"}, "--allow-empty")
select("allow-empty-failure", truth(1, {"A > one": "passed", "A > two": "failed"}), TWO, "--allow-empty")
select("text-selects-pass", truth(0, {"A > one": "passed"}), TWO, "-e", "A one")
select("text-selects-failure", truth(1, {"A > two": "failed"}), TWO, "-e", "A two")
select("tag-selects", truth(0, {"A > one": "passed"}), TWO, "-t", "slow")
select("tag-leaves-out", truth(1, {"A > two": "failed"}), TWO, "-t", "~slow")
select("file-selects", truth(0, {"B > fine": "passed"}), {**TWO, "spec/b_spec.rb": 'RSpec.describe("B") { it("fine") { } }'}, "spec/b_spec.rb")
select("line-selects", truth(0, {"A > one": "passed"}), {"spec/a_spec.rb": 'RSpec.describe("A") do\n  it("one") { }\n  it("two") { raise "x" }\nend\n'}, "spec/a_spec.rb:2")
select("usage-unknown-option", truth(2, {}, (None,)), GOOD, "--no-such-option")
select("usage-bad-shard", truth(2, {}, (None,)), GOOD, "--shard", "3/2")
select("usage-bad-rate-of-repeats", truth(2, {}, (None,)), GOOD, "--repeat", "0")
select("config-broken", truth(2, {}, (None,)), {**GOOD, "proctor.toml": "[run\n"})
select("config-wrong-type", truth(2, {}, (None,)), {**GOOD, "proctor.toml": "[run]\nworkers = 'many'\n"})
select("ruby-missing", truth(2, {}, (None, "did_not_load"), exact=False), {**GOOD, "proctor.toml": "[tools]\nruby = 'no-such-ruby'\n"})

MANY = {"spec/a_spec.rb": 'RSpec.describe("A") { 4.times { |n| it("e#{n}") { raise "x" if n == 2 } } }'}


def shard_union(project, say):
    """Every example is in exactly one part, and the parts together fail as the whole does."""
    import json
    seen, codes = [], []
    for part in (1, 2, 3):
        ran = project.run("run", "--ui", "terse", "--shard", f"{part}/3", "--allow-empty")
        codes.append(ran.code)
        seen += [e["example_id"] for e in project.events() if e["event_type"] == "ExampleFinished"]
    if sorted(seen) != sorted(set(seen)) or len(seen) != 4 or sorted(codes) != [0, 0, 1]:
        say("exit", "4 examples, each in one of 3 parts, one part failing", json.dumps({"seen": len(seen), "codes": codes}))


select("shards-add-up", truth(1, {"A > e0": "passed", "A > e1": "passed", "A > e2": "failed", "A > e3": "passed"}), MANY, also=shard_union, short=True)

FAILING = {"spec/a_spec.rb": 'RSpec.describe("A") { 6.times { |n| it("e#{n}") { raise "x" } } }'}
STOPPED = ("finished", "stopped")


def fails_then_rest(count, of=6):
    """The first `count` fail, the others are not run: RSpec's own order, one worker."""
    return {f"A > e{n}": "failed" if n < count else "not_run" for n in range(of)}


select("fail-fast-one", truth(1, fails_then_rest(1), STOPPED), FAILING, "-w", "1", "--fail-fast", short=True, all_views=True)
select("fail-fast-three", truth(1, fails_then_rest(3), STOPPED), FAILING, "-w", "1", "--fail-fast=3")
select("fail-fast-six", truth(1, fails_then_rest(6), STOPPED), FAILING, "-w", "1", "--fail-fast=6")
select("fail-fast-more", truth(1, fails_then_rest(6)), FAILING, "-w", "1", "--fail-fast=7")
select("fail-fast-zero", truth((1, 2), {}, (None,), exact=False, count_only=True), FAILING, "-w", "1", "--fail-fast=0", short=True)
select("fail-fast-zero-in-file", truth((1, 2), {}, (None,), exact=False, count_only=True), {**FAILING, ".rspec": "--fail-fast=0\n"}, "-w", "1")
GROUPED = {"spec/a_spec.rb": 'RSpec.describe("A") { before(:context) { }; 6.times { |n| it("e#{n}") { raise "x" } } }'}
select("fail-fast-in-group", truth(1, fails_then_rest(1), STOPPED), GROUPED, "-w", "1", "--fail-fast", short=True)
select("fail-fast-three-in-group", truth(1, fails_then_rest(3), STOPPED), GROUPED, "-w", "1", "--fail-fast=3")
select("fail-fast-counts-examples-not-attempts", truth(1, {f"A > e{n}": "failed|not_run|cancelled" for n in range(6)}, STOPPED), FAILING,
       "-w", "1", "--fail-fast=2", "--retries", "1")
select("fail-fast-after-pass", truth(1, {"A > e0": "passed", "A > e1": "passed", "A > e2": "failed", "A > e3": "not_run"}, STOPPED), MANY, "-w", "1", "--fail-fast")
select("fail-fast-crash", truth(1, {"A > e0": "crashed", "A > e1": "not_run"}, STOPPED),
       {"spec/a_spec.rb": 'RSpec.describe("A") { 2.times { |n| it("e#{n}") { exit!(0) } } }'}, "-w", "1", "--fail-fast")
select("fail-fast-pending-is-none", truth(0, {"A > e0": "pending", "A > e1": "passed"}), {"spec/a_spec.rb": 'RSpec.describe("A") { it("e0") { skip }; it("e1") { } }'}, "-w", "1", "--fail-fast")


def first(*args):
    return lambda project: project.run("run", "--ui", "terse", *args)


select("only-failures-after-failure", truth(1, {"A > two": "failed"}), TWO, "--only-failures", before=first(), short=True)
select("only-failures-after-pass", truth((0, 2), {}, ("nothing_found", None)), GOOD, "--only-failures", before=first())
select("only-failures-without-run", truth((0, 1, 2), {}, (None,), exact=False, count_only=True), TWO, "--only-failures")
select("only-failures-mended", truth(0, {"A > two": "passed"}), TWO, "--only-failures",
       before=lambda project: (project.run("run", "--ui", "terse"), project.write("spec/a_spec.rb", GOOD["spec/a_spec.rb"])))
select("only-failures-after-crash", truth(1, {"A > odd": "crashed"}), {"spec/a_spec.rb": 'RSpec.describe("A") { it("ok") { }; it("odd") { exit!(0) } }'}, "--only-failures", before=first())
select("only-failures-of-not-run", truth(1, {f"A > e{n}": "failed" for n in range(6)}), FAILING, "--only-failures", "-w", "1", before=first("-w", "1", "--fail-fast"))

DRY = truth(0, {"A > one": "pending", "A > two": "pending"})
select("dry-run", DRY, TWO, "--", "--dry-run", short=True)
select("dry-run-in-file", DRY, {**TWO, ".rspec": "--dry-run\n"})

# The file that counts attempts makes an example fail as often as it says.
FLIP = 'RSpec.describe("A") { it("ok") { }; it("flip") { f = "@ROOT@/n"; n = File.exist?(f) ? File.read(f).to_i : 0; File.write(f, n + 1); %s } }'


def flip(name, the_truth, body, *args, **more):
    situation(f"attempts/{name}", the_truth, {"spec/a_spec.rb": FLIP % body}, ["-w", "1", *args], **more)


def ends(outcome, exit=1, **more):
    return truth(exit, {"A > ok": "passed", "A > flip": outcome}, **more)


flip("retry-passes", ends("flaky", 0), 'raise "x" if n < 1', "--retries", "1", short=True, all_views=True, extra=("list only-failures",))
flip("retry-passes-late", ends("flaky", 0), 'raise "x" if n < 3', "--retries", "3")
flip("retry-too-few", ends("failed"), 'raise "x" if n < 2', "--retries", "1")
flip("retry-never-passes", ends("failed"), 'raise "x"', "--retries", "2", short=True)
flip("retry-flaky-fails", ends("flaky"), 'raise "x" if n < 1', "--retries", "1", "--flaky", "fail", short=True, all_views=True)
flip("flaky-fail-without-retries", ends("failed"), 'raise "x" if n < 1', "--flaky", "fail")
flip("flaky-fail-nothing-flaky", ends("passed", 0), "", "--flaky", "fail", "--retries", "2")
flip("retry-after-crash", ends("flaky", 0), "exit!(0) if n < 1", "--retries", "1")
flip("retry-after-timeout", ends("flaky", 0), "sleep 60 if n < 1", "--retries", "1", "--timeout", "1s")
flip("retry-crash-every-time", ends("crashed"), "exit!(0)", "--retries", "1")
flip("retry-fails-then-crashes", ends("crashed"), 'n < 1 ? raise("x") : exit!(0)', "--retries", "1")
flip("retry-crashes-then-fails", ends("failed"), 'n < 1 ? exit!(0) : raise("x")', "--retries", "1")
flip("retry-then-pending", truth((0, 1), {"A > ok": "passed", "A > flip": "pending|flaky"}), 'n < 1 ? raise("x") : skip', "--retries", "1")
flip("repeat-all-pass", truth(0, {"A > ok": "passed", "A > flip": "passed"}), "", "--repeat", "3", short=True, all_views=True)
flip("repeat-one-fails", ends("failed", both_outcomes={"A > flip"}), 'raise "x" if n == 1', "--repeat", "3", short=True, all_views=True)
flip("repeat-last-fails", ends("failed", both_outcomes={"A > flip"}), 'raise "x" if n == 2', "--repeat", "3")
flip("repeat-first-fails", ends("failed", both_outcomes={"A > flip"}), 'raise "x" if n == 0', "--repeat", "3", short=True)
flip("repeat-all-fail", ends("failed"), 'raise "x"', "--repeat", "2")
flip("repeat-retry-flaky", ends("flaky", 0), 'raise "x" if n == 1', "--repeat", "3", "--retries", "1")
flip("repeat-retry-fails", ends("failed", both_outcomes={"A > flip"}), 'raise "x" if [1, 2].include?(n)', "--repeat", "2", "--retries", "1")
flip("repeat-retry-flaky-fail", ends("flaky"), 'raise "x" if n == 1', "--repeat", "3", "--retries", "1", "--flaky", "fail")
flip("repeat-crash-once", ends("crashed|failed", both_outcomes={"A > flip"}), "exit!(0) if n == 1", "--repeat", "3")
flip("repeat-pending-once", truth((0, 1), {"A > ok": "passed", "A > flip": "passed|pending"}), "skip if n == 1", "--repeat", "3")
flip("repeat-fail-fast", truth(1, {"A > ok": "passed|not_run|cancelled", "A > flip": "failed"}, STOPPED, both_outcomes={"A > flip"}), 'raise "x" if n == 1', "--repeat", "4", "--fail-fast")
