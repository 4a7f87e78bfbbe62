"""Commands over recordings: runs, history, flaky, validate, compare, baseline, and the list of what failed."""

import re

from claim import Claim, word
from surfaces.common import COUNT, counts_of, parse, rows, state_in, state_of, unreadable, verdict_of


RECORDING_WORDS = {"complete", "interrupted", "incomplete", "cut_off", "damaged", "torn", "changed", "empty"}


def runs_json(text):
    data = parse(text)
    if isinstance(data, dict):
        data = data.get("runs")
    if not isinstance(data, list) or not data:
        return unreadable(text)
    row = data[0]
    counts = row.get("counts") or {}
    claim = Claim(exit=row.get("exit_code"), counts=counts_of(counts), total=counts.get("examples"), state=state_of(row))
    if isinstance(row.get("verdict"), str):
        claim.passed = word(row["verdict"]) == "passed"
    return claim


def runs_text(text):
    lines = [line for line in text.splitlines() if re.match(r"^\W*[0-9a-f]{8}", line)]
    if not lines:
        return Claim(unreadable="no row: " + text.strip()[:120])
    parts = re.split(r"  +", lines[0])
    status = parts[2] if len(parts) > 2 else ""
    numbers = parts[3] if len(parts) > 3 else ""
    claim = Claim()
    said = word(re.split(r"[ (:,]", status)[0]) if status else None
    if said in ("passed", "failed"):
        claim.passed, claim.state = said == "passed", "finished"
    else:
        claim.state = state_in(status) or word(status)
    for number, name in COUNT.findall(numbers):
        claim.counts[word(name)] = int(number)
    # `4 not` sums up what did not pass: no count of one word, so none is held to be absent.
    rest = re.search(r"(\d+) not\b(?! run)", numbers)
    if rest:
        claim.counts["not_passed"] = int(rest.group(1))
    return claim


def history_json(text):
    data = parse(text)
    if not isinstance(data, dict):
        return unreadable(text)
    runs = data.get("runs") or []
    if not runs:
        return None
    row = runs[0]
    claim = Claim(state=state_of(row), total=row.get("examples"))
    if isinstance(row.get("verdict"), str):
        claim.passed = word(row["verdict"]) == "passed"
    return claim


def history_example(text):
    """The history of one example: its newest row."""
    data = parse(text)
    if not isinstance(data, dict):
        return unreadable(text)
    example, runs = data.get("example") or {}, data.get("runs") or []
    if not runs or not example.get("id"):
        return None
    claim = Claim()
    verdict = verdict_of(runs[0])
    if verdict:
        claim.examples[example["id"]] = verdict
    return claim


def flaky_json(text):
    data = parse(text)
    if isinstance(data, dict):
        data = data.get("examples") or data.get("flaky")
    if not isinstance(data, list):
        return unreadable(text)
    return Claim(both={row.get("id") for row in data})


def validate(text):
    """`text` begins with the exit code."""
    code, _, rest = text.partition("\n")
    data = parse(rest)
    claim = Claim(incomplete=code != "0")
    if isinstance(data, dict):
        # Its own words are about the recording, not about the run: they must fit the exit code.
        if data.get("findings") and code == "0":
            claim.unreadable = "findings, but exit code 0"
        said = data.get("state")
        if isinstance(said, str):
            # What was interrupted is whole as a recording: everything that happened is in it.
            if (word(said) in RECORDING_WORDS) and (said in ("complete", "interrupted")) != (code == "0"):
                claim.unreadable = f"exit code {code}, but {said}"
            if word(said) not in RECORDING_WORDS:
                claim.state = word(said)
    return claim


def compare_self(text):
    """A run beside itself: whatever it is, nothing changed, and both sides are told alike."""
    code, _, rest = text.partition("\n")
    data = parse(rest)
    if not isinstance(data, dict):
        # A side that did not finish, or that holds no result, may be refused: that is no verdict.
        return Claim(unreadable="exit code 0 without a comparison") if code == "0" else None
    claim = Claim()
    before, after = data.get("before") or {}, data.get("after") or {}
    if {k: v for k, v in before.items() if k != "label"} != {k: v for k, v in after.items() if k != "label"}:
        claim.unreadable = "two sides of one run differ"
    counts = data.get("counts") or {}
    if counts.get("regressions") or counts.get("improvements"):
        claim.unreadable = f"a run beside itself: {counts.get('regressions')} regressions, {counts.get('improvements')} improvements"
    # Rates of one are passes, rates of none are failures; what lies between says nothing about a verdict.
    for row in data.get("examples") or []:
        side = row.get("after") or {}
        if side.get("attempts") == 1 and row.get("id"):
            claim.examples[row["id"]] = "passed" if side.get("passed") == 1 else "not_passed"
    claim.lists = "loose"
    claim.state = state_of(after)
    return claim


def baseline(text):
    """What a baseline made from the run keeps of it, and what `baseline show` says of that. A run without an end may be refused."""
    data = parse(text)
    kept = data["kept"]
    if kept is None:
        return Claim(unreadable="exit code 0, but nothing is kept") if data["code"] == 0 else None
    if data["code"] != 0:
        return Claim(unreadable=f"exit code {data['code']}, but a baseline is kept")
    claim = Claim(total=len(kept["examples"]), lists="all")
    rows(claim, [{"id": row["id"], "status": row["status"]} for row in kept["examples"]])
    shown = next((row for row in parse(data["shown"]) or [] if row.get("name") == "truth"), {})
    trials = [trial for row in kept["examples"] for trial in row["trials"]]
    numbers = (len(kept["examples"]), sum(1 for trial in trials if trial["passed"]), len(trials))
    if (shown.get("examples"), shown.get("passed"), shown.get("attempts")) != numbers:
        claim.unreadable = f"`baseline show` counts {shown.get('examples')}, {shown.get('passed')} of {shown.get('attempts')}; the file has {numbers}"
    for row in kept["examples"]:
        if row["status"] in ("failed", "errored", "crashed", "timed_out", "inconclusive") and row["trials"] and all(trial["passed"] for trial in row["trials"]):
            claim.unreadable = f"{row['title']}: {row['status']}, but every trial passed"
    return claim


def journal(text):
    """What `--resolve-journal=pass` made of an entry that predicted a pass: confirmed, falsified, or left open."""
    data = parse(text)
    if not isinstance(data, list) or not data:
        return Claim(unreadable="no entry: " + text.strip()[:120])
    entry = data[0].get("entry") or data[0]
    evidence = (entry.get("evidence") or [None])[-1]
    status = (entry.get("outcome") or {}).get("status")
    if status not in (None, "confirmed", "falsified"):
        return Claim(unreadable=f"outcome {status}")
    if evidence is None:
        return Claim(unreadable=f"{status} without evidence") if status else None
    claim = Claim(exit=evidence.get("exit"), passed=None if status is None else status == "confirmed")
    counts = evidence.get("counts")
    # Evidence that decides nothing (a stopped run) has numbers of nothing.
    if counts and status:
        # What gave no evidence (pending, inconclusive, not run) is counted as skipped.
        claim.counts = {"passed": counts["passed"], "rest": counts["failed"] + counts["errors"] + counts["skipped"]}
    if status == "confirmed" and not (counts and counts["passed"] and not counts["failed"] and not counts["errors"]):
        claim.unreadable = f"confirmed by {counts}"
    return claim


def only_failures(text):
    """`list --only-failures`: everything that did not pass in the last run."""
    data = parse(text)
    if isinstance(data, dict):
        data = data.get("examples")
    if not isinstance(data, list):
        return unreadable(text)
    claim = Claim(lists="bad")
    for row in data:
        claim.examples[row.get("id") or row.get("stable_id")] = "not_passed"
    return claim


__all__ = ["baseline", "compare_self", "flaky_json", "history_example", "history_json", "journal", "only_failures", "rows", "runs_json", "runs_text", "validate"]
