"""What several adapters need: reading verdicts out of JSON and out of lines of text."""

import json
import re

from claim import Claim, word

WORDS = r"passed|failed|errored|inconclusive|crashed|timed[ _]out|flaky|(?:passed )?within (?:its|their|the) (?:pass )?rate|unfinished|within[ _]rate|pending|skipped|not[ _]run|cancelled"
COUNT = re.compile(rf"(\d+) ({WORDS})\b")
SUMMARY = re.compile(r"^\W*(?:\S+: )?(\d[\d,]*) examples?\b:?(.*)$")
STATE_PHRASES = (
    ("nothing_found", r"found nothing|no examples? (?:was |were )?(?:found|matched|match)|nothing (?:was )?found|found no example|no example"),
    ("did_not_load", r"did not load|could not be loaded|cannot be loaded|not loaded"),
    ("died", r"\bdied\b|its process is gone|was killed"),
    ("stopped", r"\bstopped\b"),
    ("finished", r"\bfinished\b"),
)


def parse(text):
    """JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return None


def unreadable(text):
    data = parse(text)
    if isinstance(data, dict) and isinstance(data.get("error"), (dict, str)):
        error = data["error"]
        return Claim(unreadable="error: " + str(error.get("message") if isinstance(error, dict) else error)[:160])
    first = (text or "").strip().splitlines()
    return Claim(unreadable="no answer: " + (first[0][:160] if first else "nothing"))


def verdict_of(row):
    """The verdict that a JSON object gives an example: a word of its own, or what its attempts say to a plain reader."""
    value = row.get("verdict")
    if isinstance(value, dict):
        value = value.get("verdict") or value.get("word") or value.get("name") or value.get("status")
    if isinstance(value, str):
        return word(value)
    attempts = row.get("attempts")
    if not isinstance(attempts, list) or not attempts:
        return word(row["status"]) if isinstance(row.get("status"), str) else None
    if row.get("pass_rate") is not None:
        return None
    last, again = {}, False
    for attempt in attempts:
        attempt = attempt.get("result", attempt)
        earlier = last.get(attempt.get("repeat") or 1)
        again = again or (earlier is not None and earlier.get("status") not in ("passed", None) and attempt.get("status") == "passed")
        last[attempt.get("repeat") or 1] = attempt
    # A status in another spelling is another status.
    statuses = {attempt["status"] if attempt.get("status") else "running" for attempt in last.values()}
    if statuses == {"passed"} and (again or any((a.get("result", a)).get("flaky") for a in attempts)):
        return "flaky"
    if len(statuses) == 1:
        return statuses.pop()
    return next((w for w in ("failed", "crashed", "timed_out", "errored", "inconclusive", "cancelled", "not_run") if w in statuses), None)


def fault_of(row):
    if isinstance(row.get("fault"), str):
        return row["fault"]
    verdict = row.get("verdict")
    if isinstance(verdict, dict) and isinstance(verdict.get("fault"), str):
        return verdict["fault"]
    attempts = row.get("attempts")
    if isinstance(attempts, list) and attempts and row.get("pass_rate") is None:
        last = attempts[-1].get("result", attempts[-1])
        return last.get("fault")
    return None


def rows(claim, listed, key="id"):
    """Puts JSON rows of examples into a claim."""
    for row in listed:
        verdict = verdict_of(row)
        if verdict is not None:
            claim.examples[row.get(key)] = verdict
        fault = fault_of(row)
        if fault:
            claim.faults[row.get(key)] = fault


def state_of(row):
    value = row.get("state")
    if isinstance(value, dict):
        value = value.get("state") or value.get("word") or value.get("name")
    return word(value) if isinstance(value, str) else None


def counts_of(mapping):
    """Counts by verdict, without numbers that are about something else."""
    other = {"examples", "attempts", "errors", "other", "running", "unchecked", "repetitions", "decided", "total", "planned", "known", "soft_failures", "failures", "flaky_attempts"}
    # In a run that is over, what is counted as running has no end.
    mapping = {"unfinished": mapping["running"], **mapping} if "running" in mapping else mapping
    return {word(key): value for key, value in mapping.items() if isinstance(value, int) and not isinstance(value, bool) and key not in other}


def summary_of(text):
    """The last line that counts examples: (total, counts, line)."""
    found = None
    for line in text.splitlines():
        match = SUMMARY.match(line.strip().lstrip("#").strip())
        if match and (COUNT.search(match.group(2)) or match.group(1) == "0"):
            found = match, line
    if not found:
        return None, {}, None
    match, line = found
    counts = {}
    for number, name in COUNT.findall(match.group(2)):
        counts[word(name)] = int(number)
    return int(match.group(1).replace(",", "")), counts, line


def state_in(text):
    """The first state that a line names."""
    for state, phrase in STATE_PHRASES:
        if re.search(phrase, text or ""):
            return state
    return None
