"""Measures `proctor run` on two scripted turns with one check, beside a bare loop that writes the same events.

Everything that is compared is measured in the same run, taking turns; medians are printed. A rate counts the whole
process, start-up and reading of the scenario files included.
"""

import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

COUNT = 5000
PEER_COUNT = 1000
ROUNDS = 3
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROCTOR = REPOSITORY / "target/release/proctor"
HELPER = REPOSITORY / "target/release/bench_dialogue"
FOLDER = pathlib.Path(os.environ["PROCTOR_BENCH_FOLDER"])

SCENARIO = """\
describe: Bench
agent: {agent}
sets:
  - name: rows
    file: rows.csv
    examples:
      - it: books
        steps:
          - user: hello number {{{{n}}}}
          - user: book number {{{{n}}}}
            expect: [{{match: Booked}}]
"""


def project(name, count, agent):
    """A project with one scenario of so many rows."""
    folder = FOLDER / name
    folder.mkdir()
    (folder / "proctor.toml").write_text("")
    (folder / "bench.scenario.yaml").write_text(SCENARIO.format(agent=agent))
    (folder / "rows.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(count)))
    return folder


def execute(command, folder):
    """Wall time in seconds, peak memory in MB (the greatest of the process and those it waited for), output, CPU seconds."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(FOLDER), "NO_COLOR": "1", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    began = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - began
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {child.returncode}:\n{output[-2000:]}")
    return taken, usage.ru_maxrss / 1024, output, usage.ru_utime + usage.ru_stime


def proctor(folder, count, at_once=64):
    command = [PROCTOR, "run", "--ui", "quiet", "--concurrency", str(at_once), "bench.scenario.yaml"]
    taken, memory, output, cpu = execute(command, folder)
    if f": {count} passed, finished" not in output:
        sys.exit(f"not every conversation passed:\n{output[-500:]}")
    return taken, memory, cpu


def floor(count, latency, at_once=64):
    file = FOLDER / "floor.jsonl"
    taken, _, _, cpu = execute([HELPER, "floor", file, str(count), str(at_once), str(latency)], FOLDER)
    return taken, cpu


def median(values):
    return statistics.median(values)


# What was said with an aim or a peer, for `--figures`.
FIGURES = []


def say(what, samples, unit, aim="", ratio="", counts=None):
    """Prints the median of some samples and keeps it. `counts` is the number that the aim is about, where that is another."""
    value = median(samples)
    held = value if counts is None else counts
    limit = float(aim.split()[1].replace(",", "")) if aim else 0
    reached = "" if not aim else ("reached" if (held >= limit if aim[0] == "≥" else held <= limit) else "MISSED")
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    spread = f"{min(samples):,.4g}–{max(samples):,.4g}" if len(samples) > 1 else ""
    print(f"{what:<56} {shown:>9} {unit:<3} {spread:>16}   {ratio:<34} {aim} {reached}", flush=True)
    FIGURES.append({"what": what, "value": value, "unit": unit, "aim": aim, "ratio": ratio, "spread": spread, "counts": counts})


def rates(name, count, agent, latency, at_once=64):
    """Of each round: proctor's conversations a second, those of the bare loop, memory; processor milliseconds for each; the folder."""
    folder = project(name, count, agent)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(proctor(folder, count, at_once))
        bare.append(floor(count, latency, at_once))
    return (
        [count / taken for taken, _, _ in ours],
        [count / taken for taken, _ in bare],
        max(memory for _, memory, _ in ours),
        (median([cpu for _, _, cpu in ours]) * 1000 / count, median([cpu for _, cpu in bare]) * 1000 / count),
        folder,
    )


def start_up():
    """From the start of the process to the first user message, in milliseconds."""
    folder = project("first", 1, "{script: [{say: Booked, then: repeat}]}")
    delays = []
    for _ in range(11):
        began = datetime.datetime.now(datetime.timezone.utc)
        proctor(folder, 1)
        newest = max((folder / ".proctor/runs").iterdir()) / "events.jsonl"
        events = map(json.loads, newest.read_text().splitlines())
        first = next(event for event in events if event["event_type"] == "UserMessage")
        said = datetime.datetime.fromisoformat(first["time"].replace("Z", "+00:00"))
        delays.append((said - began).total_seconds() * 1000)
    return delays


def events_each(folder, count):
    newest = max((folder / ".proctor/runs").iterdir()) / "events.jsonl"
    text = newest.read_bytes()
    return text.count(b"\n") / count, len(text) / count


def slow_agents(at_once):
    """An agent that takes 50 ms, many conversations at once: what is left of a bare loop's rate."""
    count = max(COUNT, 10 * at_once)
    slow, bare, _, _, _ = rates(f"slow{at_once}", count, "{script: [{say: {text: Booked, delay: 50ms}, then: repeat}]}", 50, at_once)
    share = median(slow) / median(bare)
    say(f"50 ms an answer, {at_once:,} at once", slow, "/s", "≥ 0.98 of a bare loop", f"{share:.3f} of a bare loop ({median(bare):,.0f} /s)", share)


def main():
    load = pathlib.Path("/proc/loadavg").read_text().split()[:3]
    print(f"load average before: {' '.join(load)}, {os.cpu_count()} cores; medians of {ROUNDS}, {COUNT} conversations of two turns")
    ours, bare, memory, (cpu, bare_cpu), folder = rates("plain", COUNT, "{script: [{say: Booked, then: repeat}]}", 0)
    events, size = events_each(folder, COUNT)
    print(f"recorded for each conversation: {events:.1f} events, {size:.0f} bytes")
    say("scripted conversations in process", ours, "/s", "≥ 25,000 /s", f"{median(ours) / median(bare):.2f} of a bare loop ({median(bare):,.0f} /s)")
    say("  processor time for each, in process", [cpu * 1000], "µs", "", f"{cpu / bare_cpu:.2f} of a bare loop ({bare_cpu * 1000:.0f} µs)")
    say("  peak memory, in process", [memory], "MB", "≤ 45 MB")
    agent = f"{{command: ['{HELPER}', agent], processes: 2}}"
    worker, _, memory, (cpu, _), _ = rates("worker", COUNT, agent, 0)
    say("scripted conversations through two agent processes", worker, "/s", "≥ 10,000 /s")
    say("  processor time for each, agent processes included", [cpu * 1000], "µs")
    say("  peak memory, with two agent processes", [memory], "MB", "≤ 45 MB")
    slow_agents(64)
    slow_agents(1024)
    say("process start to first conversation", start_up(), "ms", "≤ 50 ms")
    peer = os.environ.get("PROCTOR_BENCH_PEER")
    if peer:
        script = REPOSITORY / "bench/dialogue/peer_deepeval.py"
        taken, memory, output, _ = execute([peer, script, str(PEER_COUNT)], FOLDER)
        theirs = PEER_COUNT / taken
        say(f"peer: {output.strip().splitlines()[-1]}, {PEER_COUNT} conversations", [theirs], "/s", "", f"proctor makes {median(ours) / theirs:,.0f} times as many")
        say("  peak memory of deepeval", [memory], "MB")
    else:
        print("deepeval: not installed here, left out")
    if "--figures" in sys.argv:
        print(json.dumps(FIGURES))


main()
