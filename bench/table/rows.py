"""The rows: what is measured by which script, and the aims. A row is a function that yields figures."""

import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import measure
from table.figures import Missing, figure, number, of_samples, printed

ROOT = measure.ROOT
# Scripts of their own build what they measure; the rows that start the program here heed $PROCTOR.
PROGRAM = Path(os.environ.get("PROCTOR", ROOT / "target/release/proctor"))
ROWS = {}
# A script that takes longer, builds included, hangs.
LIMIT_SECONDS = 3600


def row(minutes):
    """Adds a row; `minutes` is what it takes on two quiet cores."""
    def add(function):
        ROWS[function.__name__.replace("_", "-")] = (minutes, function)
        return function
    return add


def script(path, *words, **environment):
    """What a script prints. One that is not there, or fails, is said instead of a figure."""
    file = ROOT / path
    if not file.exists():
        raise Missing(f"`{path}` does not exist yet")
    # Of its own group, so that nothing of a script that hangs stays behind.
    running = subprocess.Popen([file, *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **environment}, start_new_session=True)
    try:
        output, errors = running.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        raise Missing(f"`{path}` was ended after {LIMIT_SECONDS / 60:.0f} minutes") from None
    except BaseException:
        os.killpg(running.pid, signal.SIGKILL)
        raise
    print(output, flush=True)
    if running.returncode != 0:
        raise Missing(f"`{path}` ended with {running.returncode}: {(errors or output).strip()[-300:]}")
    return output


def turns(commands, folder, rounds):
    """Wall-clock and processor milliseconds of each command, taking turns, after one round that does not count."""
    samples = {name: ([], []) for name in commands}
    for number_of_round in range(rounds + 1):
        for name, command in commands.items():
            wall, used = measure.once(command, folder)
            if number_of_round:
                samples[name][0].append(wall)
                samples[name][1].append(used)
    return samples


# A scenario with a set of no rows: everything of a run but the examples.
EMPTY = """\
describe: Empty
agent: {script: [{say: Booked}]}
sets: [{name: rows, file: rows.csv, examples: [{it: books, steps: [{user: hello}]}]}]
"""


@row(1)
def start():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "proctor.toml").write_text("")
        Path(folder, "empty.scenario.yaml").write_text(EMPTY)
        Path(folder, "rows.csv").write_text("n\n")
        commands = {
            "true": ["true"],
            "version": [PROGRAM, "--version"],
            "empty": [PROGRAM, "run", "--ui", "quiet", "--allow-empty", "--suite", "scenario"],
        }
        samples = turns(commands, folder, 41)
        bare = statistics.median(samples["true"][0])
        for name, what, aim in (("version", "`proctor --version`", "≤ 3"), ("empty", "an empty `proctor run`", "≤ 10")):
            wall = samples[name][0]
            yield of_samples(what, wall, "ms", aim, f"{statistics.median(wall) / bare:.1f} of `true` ({bare:.2f} ms)")


@row(4)
def conversations():
    text = script("bench/dialogue/run", "--figures")
    for each in json.loads(text.splitlines()[-1]):
        yield figure(**each)


RSPEC_AIMS = {("a", 2): "≤ 1.00 of `rspec`", ("a", 4): "≤ 0.95 of `rspec`", ("a", 16): "≤ 1.3 of the ideal"}


def rspec_suite(name):
    pattern = (r"^(?P<suite>\w) +(?P<workers>\d+) +(?P<ideal>[\d.]+)s +(?P<ours>[\d.]+)s +(?P<of_ideal>[\d.]+) +"
               r"plain rspec (?P<rspec>[\d.]+) s[^,]*(?:, parallel_rspec (?P<parallel>[\d.]+) s)?")
    text = script("bench/rspec/run", "--suites", name, "--workers", "2,4,16")
    for each in printed(pattern, text, "bench/rspec/run"):
        ours, rspec, workers = float(each["ours"]), float(each["rspec"]), int(each["workers"])
        parallel = float(each["parallel"]) if each["parallel"] else None
        aim = RSPEC_AIMS.get((name, workers), "≤ 1.05 of the ideal")
        held = ours / rspec if aim.endswith("`rspec`") else float(each["of_ideal"])
        # Within 50 ms of the peer counts as its time.
        if aim.endswith("`rspec`") and ours - rspec <= 0.05:
            held = min(held, 1.0 if aim.startswith("≤ 1.00") else held)
        ratio = f"{each['of_ideal']} of the ideal, {ours / rspec:.2f} of `rspec`"
        if parallel:
            ratio += f", {ours / parallel:.2f} of `parallel_rspec`"
        yield figure(f"suite {name.upper()} at {workers} workers", ours, "s", aim, ratio, "best of 3", counts=held)
        if name == "a" and workers < 16:
            if parallel:
                yield figure("the same against `parallel_rspec`", parallel, "s", "≤ 0.80", f"{ours / parallel:.2f}", counts=ours / parallel)
            else:
                raise Missing("`parallel_rspec` is not installed (Debian: ruby-parallel-tests)")
    if name == "a":
        one = printed(r"controller on suite a: (?P<micros>\d+) µs of CPU per example", text, "bench/rspec/run")[0]
        yield figure("controller, processor time an example of suite A", number(one["micros"]), "µs", "≤ 20", "start and end of the run included", "best of 3")


@row(2)
def rspec_a():
    yield from rspec_suite("a")


@row(4)
def rspec_b():
    yield from rspec_suite("b")


@row(2)
def rspec_c():
    yield from rspec_suite("c")


@row(2)
def rspec_d():
    yield from rspec_suite("d")


def trivial_suite(folder, examples):
    """So many examples that do nothing, a hundred in a file."""
    spec = Path(folder, "spec")
    spec.mkdir()
    for place in range(0, examples, 100):
        lines = "".join(f"  it('does {n}') {{ expect({n}).to eq({n}) }}\n" for n in range(place, min(place + 100, examples)))
        (spec / f"part_{place}_spec.rb").write_text(f"RSpec.describe('Part {place}') do\n{lines}end\n")


@row(2)
def rspec_many():
    with tempfile.TemporaryDirectory() as folder:
        trivial_suite(folder, 50_000)
        commands = {"rspec": "rspec > /dev/null", "ours": [PROGRAM, "run", "--ui", "quiet", "-w", "2"]}
        samples = turns(commands, folder, 3)
        ours, rspec = (statistics.median(samples[name][0]) for name in ("ours", "rspec"))
        spread = f"{min(samples['ours'][0]) / 1000:.1f}–{max(samples['ours'][0]) / 1000:.1f}"
        yield figure("50,000 trivial examples at 2 workers", ours / 1000, "s", "≤ 0.80 of `rspec`", f"{ours / rspec:.2f} of `rspec` ({rspec / 1000:.1f} s)", spread, counts=ours / rspec)


@row(2)
def rspec_memory():
    """The most memory of the first process, which is the controller."""
    for examples, aim in ((10_000, "≤ 30"), (100_000, "≤ 120")):
        with tempfile.TemporaryDirectory() as folder:
            trivial_suite(folder, examples)
            yield figure(f"controller, memory for {examples:,} RSpec examples", controller_memory(folder), "MB", aim)


def controller_memory(folder):
    run = subprocess.Popen([PROGRAM, "run", "--ui", "quiet", "-w", "2"], cwd=folder, stdout=subprocess.DEVNULL)
    most = 0
    while run.poll() is None:
        try:
            status = Path(f"/proc/{run.pid}/status").read_text()
        except OSError:
            break
        found = re.search(r"VmHWM:\s+(\d+)", status)
        most = max(most, int(found.group(1))) if found else most
        time.sleep(0.005)
    if run.wait() != 0:
        raise Missing(f"the run ended with {run.returncode}")
    return most / 1024


@row(3)
def rspec_limits():
    text = script("bench/rspec/limits", "--rounds", "3")
    bare = printed(r"10,000 examples: (?P<micros>\d+) µs of CPU each, (?P<memory>\d+) MB", text, "bench/rspec/limits")[0]
    yield figure("controller, processor time an example, bare protocol", number(bare["micros"]), "µs", "≤ 20", spread="best of 3")
    yield figure("controller, memory for 10,000 examples", number(bare["memory"]), "MB", "≤ 30", spread="greatest of 3")
    events = printed(r"(?P<rate>\d+) per second \(limit", text, "bench/rspec/limits")[0]
    yield figure("events recorded, whole process", number(events["rate"]), "/s", "≥ 100,000", spread="best of 3")


@row(15)
def real_suites():
    text = script("bench/rspec/real")
    yield from (figure(**each) for each in json.loads(text.splitlines()[-1]))


# What is asked of recordings, by the beginning of the words that the script prints, and the aims in milliseconds.
QUESTIONS = {"search": "≤ 200", "compare two such runs": "≤ 2,000", "open from the index": "≤ 300", "the slowest of 100 pages": "≤ 10",
             "list of the newest": "≤ 50", "one example": "≤ 20"}


@row(5)
def readers():
    """Ways of reading, and questions to one large recording and to many."""
    program = "bench/readers/run"
    text = script(program)
    pattern = r"^\| (?P<way>\w+) \| (?P<used>[\d.]+) s \| (?P<rate>\d+) \| (?P<ratio>[\d.]+) \| (?P<memory>\d+) MB \|"
    aims = {"validate": ("rate", "MB/s", "≥ 400"), "show": ("memory", "MB", "≤ 64"), "junit": ("memory", "MB", "≤ 64"),
            "json": ("memory", "MB", "≤ 64"), "markdown": ("memory", "MB", "≤ 64")}
    for each in printed(pattern, text, program):
        kind, unit, aim = aims.get(each["way"], ("used", "s", ""))
        yield figure(f"reading 1,000,000 events: `{each['way']}`", number(each[kind]), unit, aim, f"{each['ratio']} of a JSON reader that keeps nothing", "best of 5")
    for each in printed(r"^\| (?P<name>[^|]*?) \| (?P<elapsed>[\d.]+) ms \|(?P<used>[^|]*)\|", text, program):
        aim = next((aim for words, aim in QUESTIONS.items() if each["name"].startswith(words)), "")
        used = each["used"].strip()
        yield figure(each["name"], number(each["elapsed"]), "ms", aim, f"{used} of processor time" if used else "")


def medians(text, program):
    pattern = r"^\| (?P<name>.*?) \| (?P<median>\d+) ms \| (?P<slowest>\d+) \| (?P<used>\d+) \| (?P<ratio>[\d.]+) \|"
    return printed(pattern, text, program)


@row(3)
def compare():
    text = script("bench/compare/speed", "100000", "plain")
    shapes = ("10,000 × 10", "100,000 × 1", "1 × 100,000")
    parts = text.split("\n\n| |")[1:]
    if len(parts) != len(shapes):
        raise Missing("`bench/compare/speed` did not print what is expected of it")
    for shape, part in zip(shapes, parts):
        for each in medians(part, "bench/compare/speed"):
            if each["name"] == "`proctor compare`":
                yield figure(f"`compare`, {shape}", number(each["median"]) / 1000, "s", "≤ 2", f"{each['ratio']} of Python that counts the lines", f"at most {number(each['slowest']) / 1000:.2f}")


@row(5)
def history():
    text = script("bench/history/run", "10000")
    aims = {"`proctor history EXAMPLE`": "≤ 20", "`proctor flaky`": "≤ 50"}
    for each in medians(text.split("\n\n")[-1], "bench/history/run"):
        if each["name"] in aims:
            yield figure(f"{each['name']}, 10,000 runs of 200 examples", number(each["median"]), "ms", aims[each["name"]], f"{each['ratio']} of `find`", f"at most {each['slowest']}")


@row(3)
def live():
    """Clients of a live stream: what they lose, and how long after the run the last event comes."""
    lines = [json.loads(line) for line in script("bench/live/run").splitlines() if line.startswith("{")]
    loads = [each for each in lines if "clients" in each]
    if not loads:
        raise Missing("`bench/live/run` did not print what is expected of it")
    for each in loads:
        name = f"{each['clients']:,} clients, {each['events']:,} events"
        yield figure(f"{name}: lost", each["lost"], "events", "≤ 0", f"run slowed down by {each['slow_down_percent']} %")
        yield figure(f"{name}: last event after the end", each["last_event_after_end_ms"]["most"], "ms", "", "", "the slowest client")
        yield figure(f"{name}: memory of the server", each["server_memory_kb"]["peak"] / 1024, "MB")


@row(1)
def journal():
    text = script("bench/journal/run")
    pattern = r"^(?P<name>\w+) +p50 +(?P<ours>[\d.]+) ms, p95 +(?P<worst>[\d.]+) ms +bare .*ratio p50 (?P<ratio>[\d.]+)"
    for each in printed(pattern, text, "bench/journal/run"):
        yield figure(f"journal: {each['name']}", number(each["ours"]), "ms", "", f"{each['ratio']} of bare writes", f"95 %: {each['worst']}")


@row(2)
def observers():
    text = script("bench/observers/run", "2000", "3")
    for each in printed(r"^(?P<name>rspec|proctor run -w \d) +none .*? (?P<more>[+-][\d.]+) µs", text, "bench/observers/run"):
        yield figure(f"three observers under `{each['name']}`, an example", max(number(each["more"]), 0), "µs", "≤ 50", spread="least of 3")


@row(2)
def agents():
    text = script("bench/agents/run")
    rows = {
        "turns a second through the shim": ("a Python callable: turns a second", "≥ 2,000", ""),
        "first turn after the start": ("a Python callable: its first turn", "≤ 150", "ms"),
        "call of the model endpoint, median": ("a call of the model endpoint, client included", "≤ 1", "ms"),
    }
    for each in printed(r"^\| (?P<name>[^|]+?) \| (?P<measured>[\d.]+)(?: ms)? \| \d", text, "bench/agents/run"):
        what, aim, unit = rows[each["name"]]
        yield figure(what, number(each["measured"]), unit, aim)


@row(2)
def traces():
    text = script("bench/agents/traces")
    for each in printed(r"^spans a second, (?P<form>\w+): (?P<rate>\d+)", text, "bench/agents/traces"):
        yield figure(f"taking spans of an agent, {each['form']}", number(each["rate"]), "spans a second", "≥ 20,000")


@row(1)
def redact():
    text = script("bench/redact/run")
    for each in printed(r"^\| (?P<name>400 B, no hit|4 KB, no hit) \| (?P<ours>[\d.]+) \| .*? \| .*? \| .*? \| (?P<ratio>[\d.]+) \|", text, "bench/redact/run"):
        aim = "≤ 1,000" if each["name"].startswith("400") else ""
        yield figure(f"redacting a line of {each['name']}", number(each["ours"]), "ns", aim, f"{each['ratio']} of the patterns of before", "median of 21")


@row(1)
def sandbox():
    text = script("bench/sandbox/run")
    pattern = r"^(?P<name>.*?) +median +(?P<median>[\d.]+) ms, p90 +(?P<ninety>[\d.]+) ms, over bare +(?P<more>[+-][\d.]+) ms"
    for each in printed(pattern, text, "bench/sandbox/run"):
        aim = "≤ 15 more" if "proctor" in each["name"] else ""
        yield figure(f"starting a program, {each['name']}", number(each["median"]), "ms", aim, f"{each['more']} ms over a bare start", f"90 %: {each['ninety']}", counts=float(each["more"]))


@row(1)
def events():
    text = script("bench/events/run")
    for each in printed(r"^publish, (?P<subscribers>\d+) subscribers: (?P<count>\d+) instructions", text, "bench/events/run"):
        yield figure(f"publishing an event to {each['subscribers']} subscribers", number(each["count"]), "instructions")


class McpServer:
    """`proctor mcp` in a folder."""

    def __init__(self, folder):
        self.process = subprocess.Popen([PROGRAM, "mcp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.requests = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "bench", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **parameters):
        self.requests += 1
        self.send({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": parameters})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.requests:
                return answer["result"]
        raise Missing(f"`proctor mcp` ended without an answer to `{method}`")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def size_of(result):
    return len(json.dumps(result, separators=(",", ":")).encode())


@row(1)
def mcp():
    """What a model pays for before it has done anything, and from there to the reason of a failure."""
    reason = "expected: 3"
    with tempfile.TemporaryDirectory() as folder:
        trivial_suite(folder, 100)
        Path(folder, "spec/failing_spec.rb").write_text('RSpec.describe("Sum") { it("fails") { expect(1 + 1).to eq(3) } }\n')
        Path(folder, "proctor.toml").write_text("")
        server = McpServer(folder)
        tools = server.ask("tools/list")
        yield figure("MCP: default list of tools", size_of(tools) / 1024, "KB", "≤ 12", f"{len(tools['tools'])} tools")
        answers = [server.ask("tools/call", name="run_start", arguments={})]
        while reason not in json.dumps(answers) and len(answers) < 20:
            answers.append(server.ask("tools/call", name="run_wait", arguments={}))
        server.end()
    if reason not in json.dumps(answers):
        raise Missing(f"the reason of a failure did not come in {len(answers)} calls: {json.dumps(answers[-1])[:200]}")
    yield figure("MCP: calls from a start of a run to the reason of a failure", len(answers), "calls", "≤ 2")
    yield figure("MCP: their answers", sum(map(size_of, answers)) / 1024, "KB", "≤ 2")


@row(2)
def cover():
    """Reading Ruby. What `cover` itself reaches is measured by `bench/cover/run`, which takes hours."""
    library = subprocess.run(["ruby", "-e", "print RbConfig::CONFIG['rubylibdir']"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "proctor-ruby", "--example", "speed"], cwd=ROOT, check=True)
    text = subprocess.run([ROOT / "target/release/examples/speed", library], capture_output=True, text=True, check=True).stdout
    print(text)
    for each in printed(r"unreadable: (?P<rate>[\d.]+) MB/s, threads: (?P<threads>\d+)", text, "speed"):
        yield figure(f"reading Ruby's own library on {each['threads']} threads", number(each["rate"]), "MB/s", "≥ 40" if each["threads"] != "1" else "", spread="best of 3")


# A file of Ruby's own library of about 500 lines.
COVERED = "prettyprint.rb"


@row(1)
def cover_file():
    library = subprocess.run(["ruby", "-e", "print RbConfig::CONFIG['rubylibdir']"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lib").mkdir()
        Path(folder, "proctor.toml").write_text("")
        lines = len(Path(shutil.copy(Path(library, COVERED), Path(folder, "lib"))).read_text().splitlines())
        wall, used = measure.once([PROGRAM, "cover", f"lib/{COVERED}", "--yes"], folder)
        if not list(Path(folder, "spec").glob("*_spec.rb")):
            raise Missing(f"`proctor cover` wrote no spec for {COVERED}")
    yield figure(f"`cover` of {lines} lines (Ruby's {COVERED})", wall / 1000, "s", "≤ 45", f"{used / 1000:.1f} s of processor time")


@row(1)
def instructions():
    """Beside times: they do not depend on load."""
    text = script("bench/instructions/run")
    for each in printed(r"^\| (?P<name>[^|]*?) \| (?P<count>[\d,]+) \| (?P<reference>[\d,]+) \| \**(?P<ratio>[\d.]+)", text, "bench/instructions/run"):
        yield figure(each["name"], number(each["count"]), "instructions", "≤ 1.04 of its reference", f"{each['ratio']} of its reference", counts=number(each["ratio"]))


@row(8)
def build():
    """A whole release build from nothing, in a target folder of its own."""
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as target:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall, _ = measure.once(["cargo", "build", "--release", "--locked", "--quiet", "-p", "proctor", "--target-dir", target], ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        program, stripped = Path(target, "release", "proctor"), Path(target, "stripped")
        subprocess.run(["strip", "-o", stripped, program], check=True)
        whole, size = program.stat().st_size, stripped.stat().st_size
    # Of a machine that does other things besides only the processor time says something.
    yield figure("release build from nothing, on the clock", wall / 60_000, "min", "≤ 6", f"{used / 60:.1f} min of processor time")
    yield figure("size of the program, symbols apart", size / 1e6, "MB", "≤ 40", f"{whole / 1e6:.0f} MB with them")


def peers():
    """What others' tools are there, by name and version."""
    commands = {"rspec": ["rspec", "--version"], "parallel_rspec": ["parallel_rspec", "--version"], "ruby": ["ruby", "--version"],
                "valgrind": ["valgrind", "--version"], "rustc": ["rustc", "--version"], "python": [sys.executable, "--version"]}
    for name, command in commands.items():
        if not shutil.which(command[0]):
            yield f"{name} missing"
            continue
        text = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        words = " ".join(text[0].split()[:2] if text else ["?"])
        yield words if words.startswith(name) else f"{name} {words}"
