"""Proves on code with known branches and faults that the measuring itself works, and that it can say no."""

import os
import shutil
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import score  # noqa: E402
import sets  # noqa: E402

# In `sign`: the condition negated, > changed, 0 changed, two texts changed. In `both`: the condition negated, && swapped, 1 and 2
# changed. The bodies are conditions, whose value is not replaced. Two conditions with two branches each.
FAULTS, BRANCHES = 9, 4
HEAD = 'require_relative "../lib/known"\n\nRSpec.describe Known do\n'
GOOD = HEAD + """  it("a") { expect(described_class.sign(1)).to eq("plus") }
  it("b") { expect(described_class.sign(0)).to eq("minus") }
  it("c") { expect(described_class.both(true, false)).to eq(2) }
  it("d") { expect(described_class.both(true, true)).to eq(1) }
  it("e") { skip "later" }
end
"""
# Takes one branch and pins one text: the condition, the 1 for 0 and that text are noticed.
THIN = HEAD + '  it("a") { expect(described_class.sign(1)).to eq("plus") }\nend\n'
EMPTY = HEAD + '  it("a") { described_class.sign(1); described_class.sign(-1); described_class.both(1, 2); described_class.both(1, nil) }\nend\n'
WRONG = HEAD + '  it("a") { expect(described_class.sign(1)).to eq("minus") }\nend\n'
FLAKY = HEAD + """  it("a") { $order = 1; expect(described_class.sign(1)).to eq("plus") }
  it("b") { expect($order).to eq(1) }
end
"""
failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r} instead of {wanted!r}")


def prepare(library):
    project = sets.WORK / "projects" / library
    shutil.rmtree(project, ignore_errors=True)
    (project / "lib").mkdir(parents=True)
    shutil.copy(HERE / "known" / "known.rb", project / "lib" / "known.rb")


def writer(folder, spec, differs=False):
    """A program in place of Proctor that writes this spec, and another one on every call if `differs`."""
    end = ' + f"# {time.time_ns()}\\n"' if differs else ""
    program = folder / "writer"
    program.write_text(f"#!{sys.executable}\nimport sys, time\nfrom pathlib import Path\nassert sys.argv[1] == 'cover'\n"
                       f"root = Path(sys.argv[-1])\n(root / 'spec').mkdir()\n(root / 'spec/known_spec.rb').write_text({spec!r}{end})\n")
    program.chmod(0o755)
    return [str(program)]


def measured(folder, spec, **changes):
    options = Namespace(**{"faults": 60, "orders": 0, "again": False, "peer": False, **changes})
    place = folder / "copy"
    return score.measure(("pure", "bench-known", "lib/known.rb", "tuned"), options, writer(folder, spec, changes.get("differs", False)), place)


def check_scores(folder):
    good = measured(folder, GOOD, orders=10, again=True, peer=True)
    for key, wanted in {"branches": BRANCHES, "taken": BRANCHES, "faults": FAULTS, "detected": FAULTS, "green": True, "flaky": 0,
                        "same": True, "examples": 5, "pending": 1}.items():
        expect(f"good spec, {key}", good.get(key), wanted)
    expect("the peer takes a branch", good.get("peer_taken", 0) > 0, True)
    thin = measured(folder, THIN)
    expect("thin spec, branches taken", thin.get("taken"), 1)
    expect("thin spec, faults detected", thin.get("detected"), 3)
    empty = measured(folder, EMPTY)
    expect("spec without expectations, branches taken", empty.get("taken"), BRANCHES)
    expect("spec without expectations, faults detected", empty.get("detected"), 0)


def check_refusals(folder):
    """Cases that must not look good."""
    wrong = measured(folder, WRONG)
    expect("wrong spec, green", wrong["green"], False)
    expect("wrong spec, faults detected", wrong["detected"], 0)
    expect("orders that fail are found", measured(folder, FLAKY, orders=10).get("flaky", 0) > 0, True)
    expect("another second run is found", measured(folder, GOOD, again=True, differs=True)["same"], False)
    none = measured(folder, "")
    expect("empty spec file, green", none["green"], False)
    expect("empty spec file, branches", (none["taken"], none["branches"]), (0, BRANCHES))


def check_memory():
    # One allocation: a copy would be there for a moment, and may or may not be seen.
    child = "import time; held = bytearray(150_000_000); time.sleep(2)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    code, _, seconds, memory = score.run_watched([sys.executable, "-c", parent], "/", 20)
    expect("exit code of a watched command", code, 0)
    expect("memory of a child is counted", 140 < memory < 260, True)
    code, _, seconds, _ = score.run_watched(["sleep", "30"], "/", 0.5)
    expect("a timeout ends the command", (code, seconds < 5), (None, True))


def check_list():
    """The list is the one of the rule, about a third of it tuned."""
    entries = sets.read_list()
    expect("shares in files.txt that the rule would not give", [entry for entry in entries if sets.share(entry[1], entry[2]) != entry[3]], [])
    by_hash = [entry for entry in entries if entry[1] not in sets.LOOKED_AT]
    tuned = sum(entry[3] == "tuned" for entry in by_hash) / len(by_hash)
    expect("part of the files that is tuned by the hash, about a third", 0.28 < tuned < 0.38, True)


def main():
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        sets.WORK = Path(folder) / "work"
        prepare("bench-known")
        check_scores(Path(folder))
        check_refusals(Path(folder))
    check_memory()
    check_list()
    for failure in failures:
        print(f"bench/cover: {failure}")
    print(f"bench/cover --short: {'failed' if failures else 'passed'} in {time.monotonic() - started:.1f} s")
    return int(bool(failures))


if __name__ == "__main__":
    os.environ.pop("RUBYOPT", None)
    sys.exit(main())
