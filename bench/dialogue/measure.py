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


def proctor(folder, count):
    command = [PROCTOR, "run", "--ui", "quiet", "--concurrency", "64", "bench.scenario.yaml"]
    taken, memory, output, cpu = execute(command, folder)
    if f": {count} passed, finished" not in output:
        sys.exit(f"not every conversation passed:\n{output[-500:]}")
    return taken, memory, cpu


def floor(count, latency):
    file = FOLDER / "floor.jsonl"
    taken, _, _, cpu = execute([HELPER, "floor", file, str(count), "64", str(latency)], FOLDER)
    return taken, cpu


def median(values):
    return statistics.median(values)


def say(what, figure, target="", reached=None):
    verdict = "" if reached is None else ("  reached" if reached else "  MISSED")
    print(f"{what:<58} {figure:>26}   {target}{verdict}", flush=True)


def rates(name, count, agent, latency):
    """Medians: proctor's conversations a second, the floor's, proctor's memory; CPU milliseconds for each; the folder."""
    folder = project(name, count, agent)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(proctor(folder, count))
        bare.append(floor(count, latency))
    return (
        count / median([taken for taken, _, _ in ours]),
        count / median([taken for taken, _ in bare]),
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
    return median(delays)


def events_each(folder, count):
    newest = max((folder / ".proctor/runs").iterdir()) / "events.jsonl"
    text = newest.read_bytes()
    return text.count(b"\n") / count, len(text) / count


def main():
    load = pathlib.Path("/proc/loadavg").read_text().split()[:3]
    print(f"load average before: {' '.join(load)}, {os.cpu_count()} cores; medians of {ROUNDS}, {COUNT} conversations of two turns")
    ours, bare, memory, (cpu, bare_cpu), folder = rates("plain", COUNT, "{script: [{say: Booked, then: repeat}]}", 0)
    events, size = events_each(folder, COUNT)
    say("no latency, in process", f"{ours:,.0f} /s", "≥ 10,000 /s", ours >= 10_000)
    say("  a bare loop that writes the same events", f"{bare:,.0f} /s", f"ratio {ours / bare:.2f}")
    say("  CPU for each conversation, ours and the bare loop's", f"{cpu:.3f} and {bare_cpu:.3f} ms")
    say("  peak memory", f"{memory:.0f} MB", "≤ 60 MB", memory <= 60)
    say("  recorded for each conversation", f"{events:.1f} events, {size:.0f} bytes")
    agent = f"{{command: ['{HELPER}', agent], processes: 2}}"
    worker, _, memory, _, _ = rates("worker", COUNT, agent, 0)
    say("no latency, through two worker processes", f"{worker:,.0f} /s", "≥ 1,300 /s", worker >= 1300)
    say("  peak memory", f"{memory:.0f} MB", "≤ 60 MB", memory <= 60)
    slow, bare_slow, _, _, _ = rates("slow", COUNT, "{script: [{say: {text: Booked, delay: 50ms}, then: repeat}]}", 50)
    say("50 ms an answer, 64 at once", f"{slow:.1f} /s", "(ideal 640 /s)")
    say("  a bare loop that writes the same events", f"{bare_slow:.1f} /s", f"{slow / bare_slow:.1%}, ≥ 97 %", slow / bare_slow >= 0.97)
    first = start_up()
    say("process start to first conversation", f"{first:.0f} ms", "< 50 ms", first < 50)
    peer = os.environ.get("PROCTOR_BENCH_PEER")
    if not peer:
        print("deepeval: not installed here, left out")
        return
    script = REPOSITORY / "bench/dialogue/peer_deepeval.py"
    taken, memory, output, _ = execute([peer, script, str(PEER_COUNT)], FOLDER)
    theirs = PEER_COUNT / taken
    version = output.strip().splitlines()[-1]
    say(f"{version}, {PEER_COUNT} conversations", f"{theirs:,.0f} /s", f"proctor is {ours / theirs:,.0f} times as fast")
    say("  peak memory", f"{memory:.0f} MB")


main()
