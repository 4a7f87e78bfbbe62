"""An orchestrator of the outward form of Ralph 2.10: calls its model until a limit or the promise, and records what is told."""

import datetime
import json
import os
import subprocess
import sys
import time

ARGUMENTS = sys.argv[1:]
EVENTS = ".ralph/events-1.jsonl"


def option(name):
    return ARGUMENTS[ARGUMENTS.index(name) + 1]


def note(**row):
    """A row of the events file, by the loop itself."""
    with open(EVENTS, "a", encoding="utf-8") as file:
        file.write(json.dumps({"ts": datetime.datetime.now(datetime.timezone.utc).isoformat(), "hat": "loop", **row}) + "\n")


def main():
    if ARGUMENTS == ["--version"]:
        print("ralph 2.10.1")
        return 0
    with open(option("-c"), encoding="utf-8") as file:
        config = json.load(file)
    if "refuse" in config:
        print(f"cannot begin: {config['refuse']}", file=sys.stderr)
        return 1
    os.makedirs(".ralph", exist_ok=True)
    note(iteration=0, topic="task.start", triggered="planner", payload="t")
    model = [config["cli"]["command"], *config["cli"]["args"]]
    reason, most, count = "max_iterations", int(option("--max-iterations")), 0
    while count < most:
        count += 1
        said = subprocess.run(model, input=b"prompt", stdout=subprocess.PIPE, env={**os.environ, "RALPH_EVENTS_FILE": EVENTS}, check=False).stdout
        note(iteration=count, topic="iteration.summary", payload="{}")
        if b"LOOP_COMPLETE" in said:
            reason = "completed"
            break
    with open(option("--record-session"), "a", encoding="utf-8") as file:
        payload = f"## Reason\n{reason}\n\n## Summary\n- Iterations: {count}\n"
        data = {"topic": "loop.terminate", "payload": payload, "source": None, "target": None}
        file.write(json.dumps({"ts": int(time.time() * 1000), "event": "bus.publish", "data": data}) + "\n")
    return 0 if reason == "completed" else 2


sys.exit(main())
