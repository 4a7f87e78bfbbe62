"""Reports that a run writes: JSON, JUnit, Markdown, GitHub's, HTML; and the end of the stream."""

import html
import json
import re
import xml.etree.ElementTree as ElementTree

from claim import Claim, word
from surfaces.common import COUNT, WORDS, counts_of, fault_of, parse, rows, state_in, state_of, summary_of, unreadable


def json_report(text):
    data = parse(text)
    if not isinstance(data, dict):
        return unreadable(text)
    run, summary = data.get("run") or {}, data.get("summary") or {}
    claim = Claim(exit=data.get("exit_code"), counts=counts_of(summary), total=summary.get("examples"), lists="all")
    claim.state = state_of(run) or state_of(summary) or state_of(data)
    value = run.get("verdict") or summary.get("verdict") or data.get("verdict")
    if isinstance(value, str):
        claim.passed = word(value) == "passed"
    rows(claim, data["verdicts"] if "verdicts" in data else run.get("examples") or [])
    for row in run.get("examples") or []:
        if fault_of(row):
            claim.faults.setdefault(row.get("id"), fault_of(row))
    return claim


def junit(text):
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return Claim(unreadable=f"no XML: {error}")
    claim = Claim(lists="all")
    number = lambda name: int(root.get(name) or 0)
    cases = [case for case in root.iter("testcase")]
    claim.total = number("tests")
    outside = 0
    for case in cases:
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        key = properties.get("example_id")
        if key is None:
            outside += 1  # an error outside examples, told as a case
            continue
        trouble = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        said = properties.get("verdict")
        if trouble is None:
            verdict = "flaky" if properties.get("flaky") == "true" else "passed"
        elif trouble.tag == "failure":
            verdict = "failed"
        else:
            verdict = word(trouble.get("type") or "") if re.fullmatch(WORDS, (trouble.get("type") or "").replace("_", " ")) else None
            verdict = verdict or ("skipped_case" if trouble.tag == "skipped" else "not_passed")
        if said:
            # The element that readers count must say the same as the word.
            said = word(said)
            # A pass that the run refuses (`--flaky fail`, `--unchecked fail`) is a failure, what it allows (`--inconclusive ok`) is skipped: the run's exit code holds them to the truth.
            fits = {"failure": {"failed", "timed_out", "crashed", "errored", "inconclusive", "flaky", "passed"}, "error": {"errored", "crashed", "timed_out", "inconclusive", "not_run", "cancelled", "unfinished"},
                    "skipped": {"pending", "not_run", "cancelled", "inconclusive"}, None: {"passed", "flaky", "within_rate"}}[trouble.tag if trouble is not None else None]
            verdict = said if said in fits else f"{said} shown as {trouble.tag if trouble is not None else 'passed'}"
        elif verdict == "passed":
            verdict = None if properties.get("pass_rate") else "passed"
        if verdict:
            claim.examples[key] = verdict
        if properties.get("fault"):
            claim.faults[key] = properties["fault"]
    tags = [child.tag for case in cases for child in case]
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        extra = sum(1 for suite in root.iter("testsuite") for child in suite if child.tag == tag)
        if number(name) < tags.count(tag) or number(name) > tags.count(tag) + extra + sum(1 for s in root.iter("testsuite") if s.get("name") in ("errors", "outside")):
            claim.unreadable = f"{name}=\"{number(name)}\" but {tags.count(tag)} elements"
    if number("tests") != len(cases):
        claim.unreadable = f"tests=\"{number('tests')}\" but {len(cases)} cases"
    claim.total -= outside
    # What a reader of the file takes for the run's verdict: the two numbers at its head.
    claim.passed = number("failures") + number("errors") == 0
    return claim


def markdown(text):
    if not text.strip():
        return Claim(unreadable="empty report")
    claim = Claim()
    lines = [line for line in text.splitlines() if line.startswith("#")]
    head = lines[0] if lines else text.splitlines()[0]
    claim.total, claim.counts, _ = summary_of(head)
    if claim.total is None:
        claim.total, claim.counts, _ = summary_of(text)
    claim.passed = True if "✅" in head else False if re.search("❌|🛑|💥|⚠|⏹", head) else None
    claim.state = state_in(text.split("<details", 1)[0])
    for verdict, title in re.findall(rf"<summary>(?:\W*)({WORDS}):? (.*?)</summary>", text):
        claim.examples[unescape(title)] = word(verdict)
    claim.lists = None
    return claim


def unescape(title):
    return re.sub(r"\\([\\`*_{}\[\]()#+\-.!<>|~@&])", r"\1", html.unescape(title)).replace("\u200b", "").strip()


def github(text):
    """The annotations among the lines of a run."""
    claim = Claim()
    annotations = [line for line in text.splitlines() if line.startswith("::error") or line.startswith("::warning")]
    for line in annotations:
        title = re.search(r"title=([^,:]*(?:%3A|%2C|[^,:])*)", line)
        if not title:
            continue
        said = title.group(1).replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        if re.match(r"(?i)error(s| outside|:)", said):
            continue  # outside examples
        match = re.match(rf"(?:({WORDS}): )?(.*?)(?: \(?({WORDS})\)?)?$", said)
        verdict = match.group(1) or match.group(3)
        claim.examples[match.group(2)] = word(verdict) if verdict else "not_passed"
    if annotations and any(line.startswith("::error") for line in annotations):
        claim.passed = False
    return claim


def html_page(text):
    """The data that the page carries: the events of the run."""
    match = re.search(r'<script type="application/x-ndjson" id="proctor-events">(.*?)</script>', text, re.S)
    if not match:
        return Claim(unreadable="no embedded events")
    return stream(match.group(1).replace("\\u003c", "<"))


def stream(text):
    """What the events say at their end."""
    events = []
    for line in text.splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    claim = Claim()
    last = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("event_type") == "ExampleFinished" and isinstance(event.get("verdict"), (str, dict)):
            claim.examples[event.get("example_id")] = word(event["verdict"] if isinstance(event["verdict"], str) else event["verdict"].get("verdict"))
        if event.get("event_type") == "SuiteFinished":
            last = event
    if last:
        claim.exit = last.get("exit_code")
        claim.total = last.get("example_count")
        claim.counts = counts_of(last.get("counts") or {})
        claim.state = state_of(last)
        if isinstance(last.get("verdict"), str):
            claim.passed = word(last["verdict"]) == "passed"
        for row in last.get("verdicts") or last.get("examples") or []:
            if isinstance(row, dict) and row.get("verdict"):
                claim.examples[row.get("example_id") or row.get("id")] = word(row["verdict"])
    return claim


def stream_ended(text):
    return '"SuiteFinished"' in text


__all__ = ["COUNT", "github", "html_page", "json_report", "junit", "markdown", "stream", "stream_ended"]
