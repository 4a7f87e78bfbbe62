"""Measures the specs of one file: branches, faults, pending examples, time, memory, orders, a second run."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import sets

HERE = Path(__file__).resolve().parent
PROGRAM_SECONDS = 600
RSPEC_SECONDS = 120


def descendants(pid):
    """A process and all that it started, directly or not."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    found, fresh = {pid}, {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def memory_of(pids):
    """Kilobytes that the processes hold; what several share counts once."""
    total = 0
    for pid in pids:
        try:
            total += int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
        except (OSError, TypeError):
            continue
    return total


class Watch(threading.Thread):
    """Notes the peak of memory of a process and its descendants, ten times a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.ended = pid, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            self.peak = max(self.peak, memory_of(descendants(self.pid)))


def run_watched(command, folder, seconds):
    """Runs a command; returns its exit code (None after a timeout), output, seconds and peak of memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    watch = Watch(process.pid)
    watch.start()
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        for pid in descendants(process.pid):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        output, code = process.communicate()[0], None
    watch.ended.set()
    watch.join()
    return code, output, time.monotonic() - started, watch.peak / 1024


def spec_files(root):
    """The bytes of everything below `spec`."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.glob("**/spec/**/*"))
            if path.is_file() and "node_modules" not in path.parts}


def copy_project(library, place):
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(sets.fetch(library), place, symlinks=True)


def write_specs(program, library, path, place):
    """Lets the program cover one file in a copy of its library; returns what it wrote and what it cost."""
    copy_project(library, place)
    before = spec_files(place)
    command = [*program, "cover", path, "--yes", "--root", str(place)]
    code, output, seconds, memory = run_watched(command, place, PROGRAM_SECONDS)
    after = spec_files(place)
    written = {name: data for name, data in after.items() if before.get(name) != data}
    (place.parent / f"{place.name}.log").write_text(output)
    return {"exit": code, "seconds": round(seconds, 1), "memory": round(memory)}, written


def plain_rspec(place, specs, measured):
    """Runs plain `rspec` once as it is and once under Ruby's Coverage."""
    out, counted = place / "bench-rspec.json", place / "bench-branches.json"
    command = ["rspec", "--format", "json", "--out", str(out), *specs]
    shown = {"cwd": place, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = dict(os.environ)
    try:
        green = subprocess.run(command, timeout=RSPEC_SECONDS, **shown).returncode == 0
        summary = json.loads(out.read_text())["summary"]
        environment.update(RUBYOPT=f"-r{HERE / 'branches.rb'}", BENCH_COVER_OUT=str(counted), BENCH_COVER_FILE=os.path.realpath(place / measured))
        subprocess.run(["rspec", *specs], timeout=RSPEC_SECONDS, env=environment, **shown)
        branches = json.loads(counted.read_text())
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError):
        return {"green": False}
    finally:
        out.unlink(missing_ok=True)
        counted.unlink(missing_ok=True)
    examples = summary["example_count"]
    return {"green": green and examples > 0, "examples": examples, "pending": summary["pending_count"], "failed": summary["failure_count"],
            "branches": branches["total"], "taken": branches["taken"], "open": branches["open"]}


def judge(place, path, specs, options, orders):
    """Runs the specs in several orders and against the benchmark's faults."""
    job = place / "bench-job.json"
    preload = ["active_record"] if (place / "app").is_dir() else []
    job.write_text(json.dumps({"root": str(place), "file": path, "specs": specs, "limit": options.faults, "orders": orders,
                               "preload": preload, "seconds": 30}))
    try:
        done = subprocess.run(["ruby", HERE / "judge.rb", job], capture_output=True, text=True, timeout=1800, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"green": False}
    finally:
        job.unlink(missing_ok=True)


def branches_of(place, path):
    """How many branches the file has, for one that got no spec. Compiling it is enough."""
    script = 'require "coverage"; Coverage.setup(branches: true); Coverage.resume; begin; load ARGV[0]; rescue Exception; end; ' \
             'r = Coverage.peek_result.find { |path, _| File.realpath(path) == File.realpath(ARGV[0]) rescue false }; ' \
             'STDERR.puts "branches=#{r ? r[1][:branches].values.sum(&:length) : 0}"; exit!(0)'
    done = subprocess.run(["ruby", "-Ilib", "-e", script, str(place / path)], cwd=place, capture_output=True, text=True, errors="replace",
                          timeout=60, stdin=subprocess.DEVNULL)
    found = re.search(r"branches=(\d+)", done.stderr)
    return int(found[1]) if found else 0


def faults_of(place, path, limit):
    done = subprocess.run(["ruby", HERE / "operators.rb", place / path], capture_output=True, text=True, timeout=120)
    try:
        return min(limit, len(json.loads(done.stdout)))
    except ValueError:
        return 0


def score(place, path, specs, options, orders):
    """What specs are worth. Specs that do not pass detect nothing."""
    result = plain_rspec(place, specs, path) if specs else {"green": False}
    if result["green"]:
        judged = judge(place, path, specs, options, orders)
        result.update(judged, green=result["green"] and judged["green"])
    if "faults" not in result:
        result.update(faults=faults_of(place, path, options.faults), detected=0)
    if not result.get("branches"):
        result.update(branches=branches_of(place, path), taken=0)
    return result


def blind(library, path, lines, options, place):
    """The same for the peer; examples that do not pass again are left out."""
    copy_project(library, place)
    lines = json.dumps(lines).replace(str(sets.fetch(library)), str(place))
    spec = place / "spec/blind_spec.rb"
    spec.parent.mkdir(exist_ok=True)
    confine = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = ["ruby", str(HERE / "blind.rb"), str(place), path, lines, str(spec)]
    code, _, _, _ = run_watched([*confine, *command], place, 120)
    if code != 0 or not spec.exists():
        return {"green": False, "taken": 0, "detected": 0}
    out = place / "bench-blind.json"
    for _ in range(3):
        try:
            subprocess.run(["rspec", "--format", "json", "--out", str(out), str(spec)], cwd=place, timeout=RSPEC_SECONDS,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            failed = {one["description"] for one in json.loads(out.read_text())["examples"] if one["status"] == "failed"}
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return {"green": False, "taken": 0, "detected": 0}
        kept = [line for line in spec.read_text().splitlines() if not ((found := re.match(r'  it\("(call \d+)"\)', line)) and found[1] in failed)]
        spec.write_text("\n".join(kept) + "\n")
        if not failed:
            break
    return score(place, path, ["spec/blind_spec.rb"], options, 0)


def loading_lines(library, path):
    """The lines that load a file without Proctor, or None."""
    project = sets.fetch(library)
    try:
        done = subprocess.run(["ruby", HERE / "loading.rb", project, path], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None


def measure(entry, options, program, place):
    """All figures of one file as a dictionary."""
    name, library, path, part = entry
    result = {"set": name, "library": library, "path": path, "share": part,
              "lines": len((sets.fetch(library) / path).read_bytes().splitlines())}
    lines = loading_lines(library, path)
    result["loads"] = lines is not None
    if lines is None:
        return result
    cost, written = write_specs(program, library, path, place)
    specs = [file for file in written if file.endswith("_spec.rb")]
    result.update(cost, **score(place, path, specs, options, options.orders))
    if options.again:
        _, second = write_specs(program, library, path, place.with_name(place.name + ".again"))
        result["same"] = second == written
    if options.peer:
        peer = blind(library, path, lines, options, place.with_name(place.name + ".blind"))
        result.update(peer_taken=peer.get("taken", 0), peer_detected=peer.get("detected", 0))
    return result


if __name__ == "__main__":
    sys.exit("run bench/cover/run")
