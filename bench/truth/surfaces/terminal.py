"""Text for people: the live views, the summary at their end, `show`, `watch`."""

import re

from claim import Claim, word
from surfaces.common import COUNT, WORDS, state_in, summary_of

NUMBERED = re.compile(r"^  (\d+)\) (.*)$")
MARKED = re.compile(rf"^(?:\[\d+\] )?([✓✗⏸◌⊘○●~≈!?■…⚠↻×·−-]) (.*?)(?:  (.*))?$")


def sections(text):
    """The lists under `Failures:`, `Pending:`, `Flaky:` and their like."""
    found, current = {}, None
    for line in text.splitlines():
        if re.match(r"^[A-Z][\w ]*:$", line):
            current = line[:-1].lower()
            found[current] = []
        elif current is not None and line and not line.startswith(" "):
            current = None
        elif current is not None:
            found[current].append(line)
    return found


def summary(text):
    """The end of every live view: lists and the line that counts."""
    claim = Claim()
    claim.total, claim.counts, line = summary_of(text)
    if line:
        claim.state = state_in(line)
    listed = sections(text)
    in_failures(claim, listed.get("failures", []))
    in_failures(claim, listed.get("inconclusive", []))
    for name, verdict in (("pending", "pending"), ("flaky", "flaky"), ("within their rate", "within_rate"), ("within their pass rate", "within_rate")):
        for line in listed.get(name, []):
            match = re.match(r"^  (\S.*?)(?:: .*|  \S.*)?$", line)
            if match and not line.startswith("   "):
                claim.examples.setdefault(match.group(1), verdict)
    if "failures" in listed:
        claim.lists = "bad"
    if line and not re.search(r"[1-9]\d* (?:failed|crashed|errored|timed out)", line) and claim.state == "finished":
        claim.passed = None
    return claim


def in_failures(claim, lines):
    title = None
    for line in lines:
        match = NUMBERED.match(line)
        if match:
            title = match.group(2)
        elif title is not None and line.startswith("     "):
            found = re.search(rf"(?:^|· )\s*({WORDS})(?: \(fault: (\w+)\))?(?= ·|$)", line.strip())
            if found:
                claim.examples[title] = word(found.group(1))
                if found.group(2):
                    claim.faults[title] = found.group(2)
                title = None


def mark_verdict(mark, rest):
    """What a line such as `✗ A > b  failed · attempt 2` says; None for starts and attempts that are tried again."""
    rest = rest or ""
    if "to be retried" in rest or mark in "○↻":
        return None, None
    found = re.match(rf"({WORDS})\b(?: \(fault: (\w+)\))?", rest)
    if re.search(r"· flaky\b|^flaky\b", rest):
        return "flaky", None
    if re.search(r"within (?:its|the) (?:pass )?rate", rest):
        return "within_rate", None
    if found:
        return word(found.group(1)), found.group(2)
    return ("passed", None) if mark == "✓" else (None, None)


def interleaved(text):
    claim = summary(text)
    live = {}
    for line in text.split("\nFailures:\n")[0].splitlines():
        match = MARKED.match(line)
        if match:
            attempts(live, match.group(2), *mark_verdict(match.group(1), match.group(3)), match.group(3) or "")
    join(claim, live)
    return claim


def grouped(text):
    claim = summary(text)
    live, chain = {}, []
    for line in text.split("\nFailures:\n")[0].splitlines():
        indent = len(line) - len(line.lstrip(" "))
        group = re.match(r"^(?: *)[▼▾] (.*)$", line)
        if group:
            depth = indent // 2
            chain = chain[:depth] + [group.group(1)]
            continue
        match = MARKED.match(line.strip())
        if match and indent == 2 * len(chain) or match and indent == 2:
            title = " > ".join([*chain[:max(indent // 2, 1)], match.group(2)])
            attempts(live, title, *mark_verdict(match.group(1), match.group(3)), match.group(3) or "")
    join(claim, live)
    return claim


def attempts(live, title, verdict, fault, rest):
    if verdict:
        live.setdefault(title, []).append((verdict, fault, "repeat" in rest))


def join(claim, live):
    """Live lines tell attempts as they end. Where an example has one alone, that is its verdict."""
    for title, told in live.items():
        if len(told) == 1 and not told[0][2]:
            claim.examples.setdefault(title, told[0][0])
            if told[0][1]:
                claim.faults.setdefault(title, told[0][1])


def terse(text):
    claim = Claim()
    claim.total, claim.counts, line = summary_of(text)
    claim.state = state_in(line) if line else None
    for match in re.finditer(rf"^({WORDS.upper().replace('[ _]', '[ _]')}) (.*?) \(([^()]*)\)(?: fault: (\w+))?$", text, re.M):
        claim.examples[match.group(2)] = word(match.group(1))
        if match.group(4):
            claim.faults[match.group(2)] = match.group(4)
    if line and claim.examples:
        claim.lists = "bad"
    return claim


def quiet(text):
    return summary(text)


def show(text):
    """`proctor show`: the head, then every example with its attempts."""
    claim = Claim()
    lines = text.splitlines()
    head = [line for line in lines[:6] if not MARKED.match(line)]
    for line in head:
        total, counts, found = summary_of(line)
        if found:
            claim.total, claim.counts = total, counts
    claim.state = state_in(head[0]) if head else None
    if claim.state is None and len(head) > 1:
        claim.state = state_in(head[1])
    live = {}
    for line in lines:
        match = MARKED.match(line)
        if match:
            rest = re.sub(r"(?:^|· )attempt \d+(?: ·|$)", "", match.group(3) or "").strip()
            attempts(live, match.group(2), *mark_verdict(match.group(1), rest), match.group(3) or "")
    for title, told in live.items():
        # Attempts one after the other: the last decides, and a pass after a failure is flaky.
        if len(told) > 1 and not any(repeat for *_, repeat in told):
            last = told[-1]
            live[title] = [("flaky" if last[0] == "passed" and any(v != "passed" for v, *_ in told) else last[0], last[1], False)]
    join(claim, live)
    return claim


def watch(text):
    claim = interleaved(text)
    match = re.search(r"^■ (\d+) examples?, (\d+) failures?(.*)$", text, re.M)
    if match:
        claim.total = int(match.group(1))
        claim.passed = False if int(match.group(2)) else None
        claim.state = claim.state or state_in(match.group(3))
    return claim


VIEWS = {"interleaved": interleaved, "grouped": grouped, "terse": terse, "quiet": quiet}
__all__ = ["COUNT", "VIEWS", "show", "watch"]
