"""What benchmarks of single commands share: the program, turns, medians, a table."""

import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def program():
    """The proctor to measure: $PROCTOR, or a release build of this tree."""
    if "PROCTOR" in os.environ:
        return os.environ["PROCTOR"]
    subprocess.run([ROOT / "bench" / "build"], check=True)
    return str(ROOT / "target" / "release" / "proctor")


def machine():
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    return f"{os.cpu_count()} cores, load average {load}"


def once(command, folder):
    """Wall-clock and processor time of a command in milliseconds; one that fails ends the benchmark."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    shell = isinstance(command, str)
    subprocess.run(command, cwd=folder, shell=shell, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000


def compete(commands, peer, folder, rounds=9):
    """Runs all commands in turns; yields for each its name, median wall-clock and processor time, and the ratio to the peer."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(once(command, folder))
    medians = {name: [statistics.median(column) for column in zip(*all)] for name, all in times.items()}
    for name, (wall, used) in medians.items():
        slowest = max(wall for wall, _ in times[name])
        yield name, wall, slowest, used, wall / medians[peer][0]


def head(title):
    print(f"\n{title} ({machine()})\n")
    print("| | median | slowest | processor time | of the peer |\n|---|---|---|---|---|")


def row(name, wall, slowest, used, ratio):
    print(f"| {name} | {wall:.0f} ms | {slowest:.0f} | {used:.0f} | {ratio:.2f} |", flush=True)
