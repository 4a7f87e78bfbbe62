"""What a surface says, in one shape, and how that is held against the truth and against the other surfaces."""

from dataclasses import dataclass, field

from model import BAD, GOOD, STATES, UNDECIDED, VERDICTS

SYNONYMS = {
    "timedout": "timed_out", "timeout": "timed_out", "within_its_rate": "within_rate", "within_its_pass_rate": "within_rate", "within_pass_rate": "within_rate",
    "passed_within_its_pass_rate": "within_rate", "passed_within_its_rate": "within_rate", "notrun": "not_run", "skipped": "pending", "canceled": "cancelled", "didnt_load": "did_not_load",
    "no_examples": "nothing_found", "no_examples_found": "nothing_found", "found_nothing": "nothing_found",
}


def word(text):
    """A verdict or state as surfaces write it, in the spelling of the tables."""
    plain = str(text).strip().lower().replace("-", "_").replace(" ", "_")
    return SYNONYMS.get(plain, plain)


@dataclass
class Claim:
    """What one surface says of a run. What it does not say is None or absent."""

    exit: int | None = None
    state: str | None = None
    passed: bool | None = None
    # Title or id of an example → verdict; → fault.
    examples: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)
    # Which examples the surface lists: `all`, `bad` (all that are a problem), or None (some).
    lists: str | None = None
    counts: dict = field(default_factory=dict)
    total: int | None = None
    # Whether it says that something is missing or damaged.
    incomplete: bool | None = None
    # Titles that it says gave both outcomes.
    both: set | None = None
    # What could not be read; a surface that is broken is wrong.
    unreadable: str | None = None


@dataclass(frozen=True)
class Wrong:
    """One wrong verdict on one surface."""

    surface: str
    what: str
    expected: str
    got: str


def check(surface, claim, truth, names):
    """The wrong verdicts of a claim. `names` gives the title of an id."""
    if claim is None:
        return []
    found = []
    wrong = lambda what, expected, got: found.append(Wrong(surface, what, str(expected), str(got)))
    # A damaged recording may be refused.
    refused = (claim.unreadable or "").startswith(("no answer", "no row", "error:")) and truth.validate is not None and truth.validate != (0,)
    if claim.unreadable and not refused:
        wrong("surface", "readable", claim.unreadable)
    if claim.exit is not None and claim.exit not in truth.exit:
        wrong("exit code", one_of(truth.exit), claim.exit)
    if claim.state is not None:
        if claim.state not in STATES:
            wrong("state", f"one of {', '.join(STATES)}", claim.state)
        elif None not in truth.state and claim.state not in truth.state:
            wrong("state", one_of(truth.state), claim.state)
    if claim.passed is not None and claim.passed and 0 not in truth.exit:
        wrong("run", "not passed", "passed")
    if claim.passed is False and truth.exit == (0,):
        wrong("run", "passed", "not passed")
    check_counts(claim, truth, wrong)
    if not truth.count_only:
        check_examples(claim, truth, names, wrong)
    if claim.incomplete is not None and truth.validate is not None and not {0, 1} <= set(truth.validate):
        expected = truth.validate != (0,)
        if claim.incomplete != expected:
            wrong("recording", "incomplete" if expected else "complete", "incomplete" if claim.incomplete else "complete")
    if claim.both is not None:
        check_both(claim, truth, names, wrong)
    return found


def one_of(values):
    return " or ".join(str(value) for value in values)


def check_both(claim, truth, names, wrong):
    listed = {names.get(key, key) for key in claim.both}
    if truth.both_outcomes == "any":
        return
    for title, outcome in truth.examples.items():
        if truth.both_outcomes is not None:
            must = title in truth.both_outcomes
        elif outcome.verdicts == {"flaky"}:
            must = True
        elif "flaky" in outcome.verdicts or "within_rate" in outcome.verdicts:
            continue
        else:
            must = False
        if must != (title in listed):
            wrong(f"flaky list: {title}", "listed" if must else "not listed", "listed" if title in listed else "not listed")


def count_range(truth, verdict):
    outcomes = truth.examples.values()
    low = sum(1 for o in outcomes if o.verdicts == {verdict} and not o.optional)
    high = sum(1 for o in outcomes if verdict in o.verdicts)
    return low, high


def check_counts(claim, truth, wrong):
    if claim.total is not None and truth.exact:
        low = sum(1 for outcome in truth.examples.values() if not outcome.optional)
        if not low <= claim.total <= len(truth.examples):
            wrong("number of examples", low, claim.total)
    if not claim.counts or not truth.exact:
        return
    if "rest" in claim.counts:
        # Two numbers alone: what passed, and everything else.
        good = {"passed", "flaky", "within_rate"}
        outcomes = [outcome for outcome in truth.examples.values() if not outcome.optional]
        for name, low, high in (("passed", sum(o.verdicts <= good for o in outcomes), sum(bool(o.verdicts & good) for o in truth.examples.values())),
                                ("rest", sum(not o.verdicts & good for o in outcomes), sum(bool(o.verdicts - good) for o in truth.examples.values()))):
            if not low <= claim.counts[name] <= high:
                wrong(f"number {name}", low, claim.counts[name])
        return
    summed = claim.counts.get("not_passed")
    if summed is not None:
        summed_up = (BAD | UNDECIDED) - set(claim.counts)
        low = sum(count_range(truth, verdict)[0] for verdict in summed_up if verdict in BAD)
        high = sum(1 for outcome in truth.examples.values() if outcome.verdicts & summed_up)
        if not low <= summed <= high:
            wrong("number not passed", low, summed)
    for verdict in VERDICTS:
        low, high = count_range(truth, verdict)
        got = claim.counts.get(verdict)
        if summed is not None and got is None and verdict in BAD | UNDECIDED:
            continue
        if verdict == "passed":
            high += count_range(truth, "flaky")[1] + count_range(truth, "within_rate")[1]
        if got is None:
            # Flaky examples and those within their rate may be counted among the passed ones.
            if low == 0 or verdict in ("flaky", "within_rate"):
                continue
            got = 0
        if not low <= got <= high:
            wrong(f"number {verdict}", low if low == high else f"{low} to {high}", got)
    for verdict in set(claim.counts) - set(VERDICTS) - {"not_passed"}:
        if claim.counts[verdict]:
            wrong("word of a count", f"one of {', '.join(VERDICTS)}", verdict)


def check_examples(claim, truth, names, wrong):
    said = {names.get(key, key): word(value) for key, value in claim.examples.items()}
    for title, verdict in said.items():
        outcome = truth.examples.get(title)
        if outcome is None:
            if truth.exact:
                wrong(f"example: {title[:80]}", "no such example", verdict)
        elif verdict == "skipped_case":
            # JUnit has one element for what was not run on purpose and for what was not run.
            if not outcome.verdicts & {"pending", *UNDECIDED}:
                wrong(f"example: {title[:80]}", outcome, "skipped")
        elif verdict == "not_passed":
            if claim.lists == "loose" and outcome.verdicts & {"flaky", "within_rate"}:
                continue  # a comparison counts first attempts
            if not outcome.verdicts & (BAD | UNDECIDED):
                wrong(f"example: {title[:80]}", outcome, "not passed")
        elif verdict not in outcome.verdicts and not (verdict == "passed" and claim.lists == "loose" and outcome.verdicts & GOOD):
            wrong(f"example: {title[:80]}", outcome, verdict)
    for key, fault in claim.faults.items():
        title = names.get(key, key)
        outcome = truth.examples.get(title)
        if outcome is not None and outcome.fault is not None and fault != outcome.fault:
            wrong(f"fault: {title[:80]}", outcome.fault, fault)
    for title, outcome in truth.examples.items():
        if title in said or outcome.optional:
            continue
        if claim.lists == "all" or (claim.lists == "bad" and outcome.verdicts <= BAD and truth.exit != (0,)):
            wrong(f"example: {title[:80]}", outcome, "not shown")


def disagreements(claims, names):
    """Surfaces that say different things, each of which the truth allows: one is wrong all the same."""
    found = []
    for what in ("exit", "state", "total"):
        said = {}
        for surface, claim in claims.items():
            value = getattr(claim, what) if claim else None
            if value is not None:
                said.setdefault(value, []).append(surface)
        if len(said) > 1:
            found.append((what, said))
    for verdict in VERDICTS:
        said = {}
        for surface, claim in claims.items():
            if claim and verdict in claim.counts:
                said.setdefault(claim.counts[verdict], []).append(surface)
        if len(said) > 1:
            found.append((f"number {verdict}", said))
    by_title = {}
    for surface, claim in claims.items():
        for key, value in (claim.examples if claim else {}).items():
            if word(value) not in ("not_passed", "skipped_case") and claim.lists != "loose":
                by_title.setdefault(names.get(key, key), {}).setdefault(word(value), []).append(surface)
    found += [(f"example: {title[:80]}", said) for title, said in by_title.items() if len(said) > 1]
    return found
