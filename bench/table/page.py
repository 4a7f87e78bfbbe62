"""The table in docs/figures.md, between two marks, from the results that were kept."""

import os
import re

from table.figures import Figure

BEGIN = "<!-- bench/all: what follows is written by the script -->"
END = "<!-- bench/all: end -->"
HEAD = "| row | measured | spread | beside | aim | verdict | of |\n|---|---|---|---|---|---|---|"


def lines_of(name, result):
    """The rows of the table for one result."""
    when = f"{result['date']}, load {result['load']}"
    if result.get("missing"):
        yield f"| {name} | **not measured** | | {cell(result['missing'])} | | | {when} |"
    for each in result["figures"]:
        figure = Figure(**each)
        words = [figure.what, figure.value, figure.spread, figure.ratio, figure.aim, figure.verdict, when]
        yield "| " + " | ".join(map(cell, words)) + " |"


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def table(results, order, versions):
    rows = [line for name in order if name in results for line in lines_of(name, results[name])]
    left_out = [name for name in order if name not in results]
    parts = [f"{os.cpu_count()} cores. {'; '.join(versions)}. *Spread* is least and greatest. Commit and load are those of each row.", "", HEAD, *rows]
    if left_out:
        parts += ["", f"Not run yet: {', '.join(left_out)}."]
    return "\n".join(parts)


def write(page, text):
    """Puts the table between the marks. A page without marks is an error: the table belongs to a place."""
    content = page.read_text()
    pattern = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.S)
    if not pattern.search(content):
        raise SystemExit(f"{page}: the marks are missing:\n{BEGIN}\n{END}")
    page.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", content))
