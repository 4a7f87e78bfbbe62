"""The HTTP interface, the page's own fold of events, and the tools of agents."""

from claim import Claim, word
from surfaces.common import counts_of, parse, rows, state_of, unreadable, verdict_of


def run_row(row):
    counts = row.get("counts") or {}
    claim = Claim(exit=row.get("exit_code"), counts=counts_of(counts), state=state_of(row))
    if isinstance(row.get("verdict"), str):
        claim.passed = word(row["verdict"]) == "passed"
    return claim


def api_runs(text):
    data = parse(text)
    if not isinstance(data, dict) or not data.get("runs"):
        return unreadable(text)
    return run_row(data["runs"][0])


def api_run(text):
    data = parse(text)
    if not isinstance(data, dict) or "error" in data:
        return unreadable(text)
    claim = run_row(data)
    if isinstance(data.get("examples"), int):
        claim.total = data["examples"]
    return claim


def api_examples(text):
    data = parse(text)
    if not isinstance(data, dict) or "rows" not in data:
        return unreadable(text)
    claim = Claim(state=state_of(data), total=data.get("total"), lists="all")
    rows(claim, data["rows"])
    return claim


def api_example(text):
    data = parse(text)
    if not isinstance(data, dict):
        return unreadable(text)
    row = data.get("example") if isinstance(data.get("example"), dict) else data
    if "attempts" not in row:
        return None
    claim = Claim()
    rows(claim, [{**row, "verdict": data["verdict"]} if "verdict" in data else row])
    return claim


def page(text):
    """What the page's own code shows of a run (`programs/page.ts`)."""
    data = parse(text)
    if not isinstance(data, dict) or "error" in data:
        return unreadable(text)
    claim = run_row(data)
    claim.state, claim.total, claim.lists = data["state"], len(data["examples"]), "all"
    if claim.state == "finished":
        claim.passed = word(data["verdict"]) == "passed"
    elif word(data["verdict"]) != claim.state:
        claim.unreadable = f"state {claim.state}, but the badge says {data['verdict']}"
    for row in data["examples"]:
        # `running` is a word as any other here: a page that nobody adds to any more shows it for ever.
        claim.examples[row["id"]] = word(row["verdict"])
        if row["fault"] and row["pass_rate"] is None:
            claim.faults[row["id"]] = row["fault"]
    bad = [row["id"] for row in data["examples"] if row["bad"]]
    if sorted(bad) != sorted(data["failures"]):
        claim.unreadable = "the filter `failures` and the marks of examples differ"
    if claim.exit == 0 and bad:
        claim.unreadable = f"exit code 0, but {len(bad)} examples are listed as failures"
    hidden = [row["id"] for row in data["examples"] if not row["bad"] and row["verdict"] in ("failed", "errored", "crashed", "timed_out", "unfinished")]
    if hidden:
        claim.unreadable = f"not listed as failures: {', '.join(hidden)}"
    return claim


def progress(text):
    """`/specs/progress`: idle, or how far the run that this server started is."""
    data = parse(text)
    if not isinstance(data, dict):
        return unreadable(text)
    if data.get("status") == "idle":
        return None
    status = word(data["status"]) if isinstance(data.get("status"), str) else None
    claim = Claim(state=state_of(data) or status, total=data.get("total"))
    if status in ("passed", "failed"):
        claim.passed = status == "passed"
        claim.state = state_of(data) or "finished"
    return claim


def tool_run(text):
    """`run_status`, `run_wait`, `run_results`: the run, and results."""
    data = parse(text)
    if not isinstance(data, dict) or "error" in data:
        return unreadable(text)
    run = data.get("run") if isinstance(data.get("run"), dict) else data
    claim = run_row(run)
    claim.state = claim.state or state_of(data)
    if isinstance(run.get("total"), int):
        claim.total = run["total"]
    elif isinstance(run.get("examples"), int):
        claim.total = run["examples"]
    by_example = {}
    for row in data.get("results") or []:
        by_example.setdefault(row.get("id"), []).append(row)
    for key, listed in by_example.items():
        row = listed[-1]
        if len(listed) > 1 and not row.get("verdict"):
            continue
        verdict = verdict_of(row)
        if verdict:
            claim.examples[key] = "flaky" if verdict == "passed" and row.get("flaky") else verdict
        if row.get("fault"):
            claim.faults[key] = row["fault"]
    return claim


def tool_results(text):
    claim = tool_run(text)
    if claim.unreadable is None:
        claim.lists = "bad"
    return claim


def tool_results_all(text):
    claim = tool_run(text)
    if claim.unreadable is None:
        claim.lists = "all"
    # A pass after a failure is told by the number of the attempt, where no word says it.
    data = parse(text) or {}
    for row in data.get("results") or []:
        if not row.get("verdict") and row.get("status") == "passed" and (row.get("attempt") or 1) > 1:
            claim.examples[row["id"]] = "flaky"
    return claim


def tool_example(text):
    data = parse(text)
    if not isinstance(data, dict) or "error" in data:
        return unreadable(text)
    attempts = data.get("attempts") or []
    if not attempts:
        return None
    key = data.get("id") or (attempts[-1].get("result") or attempts[-1]).get("id")
    claim = Claim()
    verdict = verdict_of(data)
    if verdict:
        claim.examples[key] = verdict
    return claim
