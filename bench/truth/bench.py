"""Runs situations, holds every surface against the truth, and reports what is wrong."""

import argparse
import atexit
import collections
import concurrent.futures
import importlib
import json
import os
import pathlib
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import page
import situations
from claim import Wrong, check, disagreements
from collect import SURFACES, on_screen, recorded_surfaces, run_situation
from model import SITUATIONS
from project import REPO, Project, kill_all_started

# In the short form these alone are run in every live view.
SHORT_VIEWS = {"rspec/fails", "attempts/retry-passes", "rate/4-of-5-at-0.8", "hooks/syntax-error"}


def load():
    for module in sorted(pkgutil.iter_modules(situations.__path__), key=lambda found: found.name):
        importlib.import_module(f"situations.{module.name}")


def uncut_events():
    """Says at which event types of the published schema no situation cuts a recording; gives how many."""
    from situations.recordings import CUT_TYPES
    schema = json.loads((REPO / "schema/events.schema.json").read_text())
    uncut = {rule["if"]["properties"]["event_type"]["const"] for rule in schema["allOf"]} - CUT_TYPES
    if uncut:
        print(f"no situation of recordings.py cuts a recording at: {', '.join(sorted(uncut))}")
    return len(uncut)


def binary():
    """$PROCTOR, else the newest of target/debug and target/release, which is built if there is none."""
    if os.environ.get("PROCTOR"):
        return pathlib.Path(os.environ["PROCTOR"]).resolve()
    built = [path for path in (REPO / "target/debug/proctor", REPO / "target/release/proctor") if path.exists()]
    if not built:
        subprocess.run(["cargo", "build", "--locked", "-p", "proctor"], cwd=REPO, check=True)
        built = [REPO / "target/debug/proctor"]
    return max(built, key=lambda path: path.stat().st_mtime)


def judge(truth, collected, claims, wrong):
    """Adds what is wrong with the collected texts."""
    if collected.late:
        wrong.append(Wrong("exit", "the run", "an end", "none in time: it was killed"))
    elif collected.exit is not None and collected.exit not in truth.exit:
        wrong.append(Wrong("exit", "exit code", " or ".join(map(str, truth.exit)), str(collected.exit)))
    for surface, text in collected.raw:
        adapter = SURFACES[surface]
        try:
            claim = adapter(text)
        except Exception as error:
            wrong.append(Wrong(surface, "surface", "readable", f"adapter: {error!r}"))
            continue
        if claim is None:
            continue
        if not truth.plain_titles and not surface.endswith(("json", "junit")) and not surface.startswith(("api", "tool", "mcp", "history", "stream", "compare", "list", "flaky", "page")):
            claim.examples, claim.lists = {}, None
        wrong.extend(check(surface, claim, truth, collected.names))
        if surface in claims:
            claims[surface].examples.update(claim.examples)
        else:
            claims[surface] = claim


def try_situation(situation, binary, base, views=True):
    """The wrong verdicts of one situation."""
    wrong, claims = [], {}
    project = Project(binary, base)
    try:
        collected = run_situation(situation, project)
        recorded_surfaces(situation, project, collected)
        collected.raw = [(surface, text) for surface, text in collected.raw if surface not in situation.without]
        judge(situation.truth, collected, claims, wrong)
        told = {w.what for w in wrong}
        # A process that cannot print exits with 2, after the run came to its own end.
        if collected.exit is not None and not collected.late and not situation.name.startswith("destination/"):
            for surface, claim in claims.items():
                if claim.exit is not None and claim.exit != collected.exit and claim.exit in situation.truth.exit:
                    wrong.append(Wrong(surface, "exit code", f"{collected.exit} as the process", str(claim.exit)))
        for what, said in disagreements(claims, collected.names):
            if situation.truth.count_only and what.startswith("example"):
                continue
            if not told & {what, f"{what} code", "number of examples" if what == "total" else what}:
                few = min(said.items(), key=lambda item: len(item[1]))
                many = max(said.items(), key=lambda item: len(item[1]))
                for surface in few[1]:
                    wrong.append(Wrong(surface, what, f"{many[0]}, as on {', '.join(many[1][:3])}", str(few[0])))
        if situation.also:
            situation.also(project, lambda surface, expected, got: wrong.append(Wrong(surface, "check", expected, got)))
    except Exception:
        wrong.append(Wrong("bench", "situation", "no error", traceback.format_exc(limit=4)))
    finally:
        keep(project)
    if situation.all_views and views:
        wrong += other_views(situation, binary, base)
    return wrong


def keep(project):
    if os.environ.get("TRUTH_KEEP"):
        print(f"kept: {project.root}", file=sys.stderr)
    else:
        project.remove()


def other_views(situation, binary, base):
    """The same run once more in every live view, the screen included."""
    wrong = []
    for view in ("interleaved", "grouped", "quiet", "terse", "screen"):
        project = Project(binary, base)
        try:
            if view == "screen":
                collected = on_screen(situation, project)
            else:
                collected = run_situation(situation, project, ui=view, reports_too=False)
            judge(situation.truth, collected, {}, wrong)
        except Exception:
            wrong.append(Wrong("bench", f"view {view}", "no error", traceback.format_exc(limit=4)))
        finally:
            keep(project)
    return wrong


def selected(options):
    chosen = SITUATIONS
    if options.only:
        chosen = [s for s in chosen if re.search(options.only, s.name)]
    if options.short:
        chosen = [s for s in chosen if s.short]
    return chosen


def table(title, wrong):
    """Wrong verdicts by surface."""
    by_surface = collections.Counter(item.surface for _, item in wrong)
    print(f"\n{title}: {len(wrong)} wrong in {len({name for name, _ in wrong})} situations")
    for surface, number in by_surface.most_common():
        print(f"  {number:5}  {surface}")
    for name, item in sorted(wrong, key=lambda pair: (pair[1].surface, pair[0])):
        got = item.got if len(item.got) < 300 or item.surface == "bench" else item.got[:300] + "…"
        print(f"  {item.surface:22} {name}: {item.what}: expected {item.expected}, got {got}")


def main():
    parser = argparse.ArgumentParser(prog="bench/truth/run", description="Situations whose truth is known, held against every surface of Proctor.")
    parser.add_argument("--short", action="store_true", help="a spread over all kinds, and the planted lies; at most 90 s on two cores")
    parser.add_argument("--only", metavar="PATTERN", help="situations whose name matches")
    parser.add_argument("--list", action="store_true", help="list the situations")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2) + 1, help="how many at once")
    parser.add_argument("--planted", action="store_true", help="plant a wrong verdict in every surface; each must be found")
    parser.add_argument("--times", action="store_true", help="list the slowest situations")
    options = parser.parse_args()
    load()
    chosen = selected(options)
    if options.list:
        for situation in chosen:
            print(f"{'s' if situation.short else ' '} {situation.name}")
        kinds = collections.Counter(s.kind for s in chosen)
        print(f"{len(chosen)} situations: " + ", ".join(f"{k} {n}" for k, n in kinds.items()))
        return uncut_events()
    base = tempfile.mkdtemp(prefix="tr-", dir="/tmp")
    atexit.register(lambda: os.environ.get("TRUTH_KEEP") or shutil.rmtree(base, ignore_errors=True))
    atexit.register(kill_all_started)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda received, frame: leave(base, received))
    program = binary()
    print(f"binary: {program}")
    missing = page.open_page(base)
    if missing:
        print(f"left out: the page's own fold ({', '.join(page.SURFACES)}): {missing}")
        for surface in page.SURFACES:
            SURFACES.pop(surface)
    planted_wrong = 0
    if options.planted or options.short:
        import planted
        planted_wrong = planted.main(program, base)
        if options.planted:
            return 1 if planted_wrong else 0
    uncut = uncut_events()
    return report(run_all(chosen, program, base, options), chosen, planted_wrong + uncut, options)


def leave(base, received):
    """Ends on a signal with nothing left behind; threads are not waited for."""
    kill_all_started()
    for _ in range(10):
        shutil.rmtree(base, ignore_errors=True)
        if not os.path.exists(base):
            break
        time.sleep(0.05)
    os._exit(128 + received)


def run_all(chosen, program, base, options):
    results, lock = {}, threading.Lock()

    def one(situation):
        from_time = time.monotonic()
        wrong = try_situation(situation, program, base, views=not options.short or situation.name in SHORT_VIEWS)
        with lock:
            results[situation.name] = (wrong, time.monotonic() - from_time)
            if not sys.stdout.isatty():
                sys.stdout.write("x" if wrong else ".")
                sys.stdout.flush()

    # The slow ones first, so that none is left alone at the end.
    order = sorted(chosen, key=lambda s: -s.timeout)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, order))
    return results


def report(results, chosen, planted_wrong, options):
    print()
    if options.times:
        for name, (_, took) in sorted(results.items(), key=lambda item: -item[1][1])[:25]:
            print(f"  {took:6.1f} s  {name}")
    wrong = [(s.name, item) for s in chosen for item in results[s.name][0]]
    table(f"{len(chosen)} situations", wrong)
    failed = len({name for name, _ in wrong})
    print(f"\n{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or planted_wrong else 0
