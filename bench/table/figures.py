"""What a row of the table consists of, and how a figure is held against its aim."""

import dataclasses
import re
import statistics


@dataclasses.dataclass
class Figure:
    """One measured figure."""
    what: str
    value: str
    spread: str = ""
    ratio: str = ""
    aim: str = ""
    verdict: str = ""


class Missing(Exception):
    """A row cannot be measured here; the text says what is missing."""


def reaches(value, aim):
    """Whether a number keeps an aim such as `≤ 1.05` or `≥ 25,000 /s`; nothing without an aim."""
    found = re.match(r"([≤≥<]) ?([\d.,]+)", aim)
    if not found:
        return None
    limit = float(found.group(2).replace(",", ""))
    return {"≤": value <= limit, "<": value < limit, "≥": value >= limit}[found.group(1)]


def verdict(reached):
    return "" if reached is None else ("reached" if reached else "**missed**")


def shown(value):
    """A number with three digits that count."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def figure(what, value, unit="", aim="", ratio="", spread="", counts=None):
    """`counts` is the number that the aim is about, where that is not the value itself."""
    held = value if counts is None else counts
    return Figure(what, f"{shown(value)} {unit}".strip(), spread, ratio, aim, verdict(reaches(held, aim)))


def of_samples(what, samples, unit="", aim="", ratio=""):
    """The median of some samples, with the least and the greatest as spread."""
    spread = f"{shown(min(samples))}–{shown(max(samples))}"
    return figure(what, statistics.median(samples), unit, aim, ratio, spread)


def printed(pattern, text, program):
    """All places where a program printed what the pattern says. That there is none is an error: a figure that was not found is not kept."""
    found = [each.groupdict() for each in re.finditer(pattern, text, re.M)]
    if not found:
        raise Missing(f"`{program}` did not print what is expected of it")
    return found


def number(text):
    return float(text.replace(",", ""))
