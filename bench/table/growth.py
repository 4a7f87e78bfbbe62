"""How work grows: one, ten and a hundred times as much, processor time and memory of the whole process, as pictures in docs/images."""

import subprocess
import tempfile
from pathlib import Path

from table.figures import Missing, figure
from table.pictures import picture, slope
from table.rows import PROGRAM, ROOT, row, trivial_suite

ROUNDS = 3

SCENARIO = """\
describe: Growth
agent: {script: [{say: %s, then: repeat}]}
sets:
  - name: rows
    file: rows.csv
    examples:
      - it: books
        steps:
          - user: hello number {{n}}
          - user: book number {{n}}
            expect: [{match: Booked}]
"""


def cost(command, folder):
    """The least processor seconds of some turns, and the most memory in megabytes."""
    used, memory = [], []
    for _ in range(ROUNDS):
        # `time` waits for this process alone and for what it waited for, which are its workers.
        done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", *map(str, command)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Missing(f"`{' '.join(map(str, command))}` ended with {done.returncode}: {done.stderr[-300:]}")
        user, system, kilobytes = done.stderr.split()[-3:]
        used.append(float(user) + float(system))
        memory.append(int(kilobytes) / 1024)
    return max(min(used), 0.001), max(memory)


def conversations(folder, count, say="Booked"):
    Path(folder, "proctor.toml").write_text("")
    Path(folder, "bench.scenario.yaml").write_text(SCENARIO % say)
    Path(folder, "rows.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(count)))


# Where the pictures go.
PICTURES = ROOT / "docs/images"


def grow(name, title, unit, sizes, command_of, prepare):
    """Measures every size, draws the picture, and gives what the last tenfold costs."""
    seconds, megabytes = [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder, size)
            used, memory = cost(command_of(size), folder)
            seconds.append((size, used))
            megabytes.append((size, memory))
    (PICTURES / f"growth-{name}.svg").write_text(
        picture(title, unit, "processor seconds and MB", {"seconds": seconds, "MB": megabytes}))
    beside = "; ".join(f"{size:,}: {used:.2f} s, {memory:.0f} MB" for (size, used), (_, memory) in zip(seconds, megabytes))
    return figure(f"growth of {title}, last tenfold", slope(seconds), "times the processor time", "≤ 11", beside, "least of 3")


def run(*words):
    return [PROGRAM, "run", "--ui", "quiet", *words]


@row(2)
def growth_examples():
    yield grow("examples", "RSpec examples at 2 workers", "examples", (500, 5_000, 50_000),
               lambda _: run("-w", "2"), trivial_suite)


@row(1)
def growth_conversations():
    yield grow("conversations", "scripted conversations", "conversations", (500, 5_000, 50_000),
               lambda _: run("--concurrency", "64"), conversations)


@row(2)
def growth_at_once():
    def prepare(folder, size):
        conversations(folder, 2_000, "{text: Booked, delay: 50ms}")
    yield grow("at-once", "2,000 conversations, so many at once", "at once", (10, 100, 1_000),
               lambda size: run("--concurrency", str(size)), prepare)


@row(1)
def growth_events():
    def prepare(folder, size):
        conversations(folder, size // 8)
        subprocess.run(run("--concurrency", "64"), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    yield grow("events", "events that `validate` reads", "events", (4_000, 40_000, 400_000),
               lambda _: [PROGRAM, "validate", "last"], prepare)


@row(2)
def growth_runs():
    def prepare(folder, size):
        subprocess.run([ROOT / "bench/history/recordings", folder, str(size), "20", "1", "plain"], check=True)
        subprocess.run([PROGRAM, "runs"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    yield grow("runs", "runs that `runs` lists, with its index", "runs", (100, 1_000, 10_000),
               lambda _: [PROGRAM, "runs"], prepare)
