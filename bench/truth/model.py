"""What a situation is, and how its truth is written down.

The truth of a situation stands in the situation: it is fixed by how the situation is built, and nothing of Proctor computes it.
"""

from dataclasses import dataclass, field
from typing import Callable

# The words of an example's verdict, and of a run's state. A surface that uses another word is wrong.
VERDICTS = ("passed", "failed", "errored", "inconclusive", "crashed", "timed_out", "flaky", "within_rate", "pending", "not_run", "cancelled", "unfinished")
STATES = ("loading", "running", "finished", "stopped", "died", "did_not_load", "nothing_found")
FAULTS = ("agent", "simulator", "judge", "tool", "harness")

# Verdicts that are no problem, verdicts that are one, and verdicts of examples that were not decided.
GOOD = {"passed", "flaky", "within_rate", "pending"}
BAD = {"failed", "errored", "crashed", "timed_out", "inconclusive"}
UNDECIDED = {"not_run", "cancelled", "unfinished"}


@dataclass(frozen=True)
class Outcome:
    """What must be said of one example: one of `verdicts`, with `fault` where it is given."""

    verdicts: frozenset
    fault: str | None = None
    # An example that a run did not decide may be absent from a surface.
    optional: bool = False

    @staticmethod
    def of(text):
        """Reads `failed`, `failed:agent`, `cancelled|not_run`, `not_run?` (may be absent)."""
        if isinstance(text, Outcome):
            return text
        optional = text.endswith("?")
        words, _, fault = text.rstrip("?").partition(":")
        verdicts = frozenset(words.split("|"))
        unknown = verdicts - set(VERDICTS)
        if unknown or (fault and fault not in FAULTS):
            raise ValueError(f"no such outcome: {text}")
        return Outcome(verdicts, fault or None, optional)

    def __str__(self):
        return "|".join(sorted(self.verdicts)) + (f" (fault {self.fault})" if self.fault else "") + ("?" if self.optional else "")


@dataclass
class Truth:
    """The truth of a run: its exit code, its state, and the verdict of every example, by title (`A > b`)."""

    exit: tuple
    examples: dict
    state: tuple = ("finished",)
    # Whether titles stand in text views as they were written (not so for control characters or 12 KB of text).
    plain_titles: bool = True
    # Whether the list of examples is all that a surface may name.
    exact: bool = True
    # Examples that gave both outcomes in this run, as `proctor flaky` lists them; None: those whose verdict is flaky.
    both_outcomes: set | None = None
    # What `proctor validate` must exit with; None: 0 for a finished run, anything for others.
    validate: tuple | None = None
    # Whether examples are counted alone, because two have the same title.
    count_only: bool = False

    @property
    def passed(self):
        return self.exit == (0,)


def truth(exit, examples=None, state="finished", **more):
    """`Truth` with plain values."""
    tuple_of = lambda value: tuple(value) if isinstance(value, (tuple, list, set)) else (value,)
    examples = {title: Outcome.of(text) for title, text in (examples or {}).items()}
    states = tuple_of(state)
    for word in states:
        if word is not None and word not in STATES:
            raise ValueError(f"no such state: {word}")
    if more.get("validate") is not None:
        more["validate"] = tuple_of(more["validate"])
    return Truth(tuple_of(exit), examples, states, **more)


@dataclass
class Situation:
    """One mechanism in one kind of suite, with its truth."""

    name: str
    truth: Truth
    files: dict = field(default_factory=dict)
    args: list = field(default_factory=list)
    # Done in the project before the run that counts.
    before: Callable | None = None
    # Done while the run goes on: gets the project and the process.
    during: Callable | None = None
    # Done to the recording after the run.
    after: Callable | None = None
    # Makes the run in another way than `proctor run`; gives the exit code, or None where there is none.
    drive: Callable | None = None
    # Live views to try: one, chosen by name, or all.
    all_views: bool = False
    timeout: float = 40.0
    env: dict = field(default_factory=dict)
    # Surfaces that are not asked, each with its reason.
    without: dict = field(default_factory=dict)
    # More surfaces that this situation asks.
    extra: tuple = ()
    # Further checks on the finished situation: (project, say) where say(surface, expected, got) reports.
    also: Callable | None = None
    short: bool = False

    @property
    def kind(self):
        return self.name.split("/")[0]


SITUATIONS = []


def situation(name, the_truth, files=None, args=(), **more):
    """Registers a situation. Names are `kind/mechanism`."""
    if any(other.name == name for other in SITUATIONS):
        raise ValueError(f"two situations are called {name}")
    made = Situation(name, the_truth, dict(files or {}), list(args), **more)
    SITUATIONS.append(made)
    return made
