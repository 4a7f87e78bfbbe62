"""Lies: one wrong verdict is planted in every surface's text, and the bench must report each of them on that surface."""

import json
import re

from collect import SURFACES, on_screen, recorded_surfaces, run_situation
from model import Situation, truth
from page import SURFACES as PAGE_SURFACES
from project import Project

# A failing run and a passing one. What each surface says of them is changed before it is read.
FAILING = Situation("planted/failing", truth(1, {"A > good": "passed", "A > bad": "failed", "A > flip": "flaky", "A > later": "pending"}), {
    "spec/a_spec.rb": 'RSpec.describe("A") { it("good") { }; it("bad") { raise "x" }; it("later") { skip "no" }; '
                      'it("flip") { f = "@ROOT@/n"; unless File.exist?(f); File.write(f, "1"); raise "first"; end } }'},
    ["-w", "1", "--retries", "1"], extra=("mcp", "list only-failures"))


def in_json(change):
    def lie(text):
        code, newline, rest = ("", "", text)
        if re.match(r"^\d+\n", text):
            code, newline, rest = text.partition("\n")
        data = json.loads(rest)
        change(data)
        if data == json.loads(rest):
            return text
        return code + newline + json.dumps(data)
    return lie


def walk(value, visit):
    if isinstance(value, dict):
        visit(value)
        for child in value.values():
            walk(child, visit)
    elif isinstance(value, list):
        for child in value:
            walk(child, visit)


def flip_words(data):
    """Every failed example is called passed: its verdict, and the status of all its attempts."""
    def visit(row):
        for key in ("status", "verdict"):
            if row.get(key) == "failed":
                row[key] = "passed"
    walk(data, visit)


def flip_exit(data):
    walk(data, lambda row: row.update(exit_code=0) if row.get("exit_code") == 1 else None)


def flip_counts(data):
    def visit(row):
        if isinstance(row.get("passed"), int) and isinstance(row.get("failed"), int) and row["failed"]:
            row["passed"], row["failed"] = row["passed"] + row["failed"], 0
    walk(data, visit)


def flip_state(data):
    walk(data, lambda row: row.update(state="died") if row.get("state") == "finished" else None)


def running_for_ever(data):
    """A finished example is shown as one that still runs."""
    walk(data, lambda row: row.update(verdict="running") if row.get("verdict") == "passed" and "bad" in row else None)


def no_failures(data):
    """The filter `failures` hides the failure."""
    for row in data["examples"]:
        row["bad"] = False
    data["failures"] = []


JSON_LIES = {"verdict": in_json(flip_words), "exit code": in_json(flip_exit), "count": in_json(flip_counts), "state": in_json(flip_state)}


def lines_lie(text):
    """The same in lines of JSON, with or without a page around them."""
    text = re.sub(r'("event_type":"SuiteFinished".*?"exit_code":)1', r"\g<1>0", text)
    return text


def count_lie(text):
    return re.sub(r"(\d+) passed, 1 failed", lambda match: f"{int(match.group(1)) + 1} passed", text)


def title_lie(text):
    """The failed example is called pending."""
    return re.sub(r"(?<![\w])failed(?=( ·|:| \(fault))", "pending", text).replace("FAILED A > bad", "TIMED OUT A > bad")


def junit_lie(text):
    text = re.sub(r"<failure\b.*?</failure>|<failure\b[^>]*/>", "", text, flags=re.S)
    return re.sub(r'failures="\d+"', 'failures="0"', text).replace('name="verdict" value="failed"', 'name="verdict" value="passed"')


def mark_lie(text):
    return text.replace("❌", "✅")


def drop_rows(data):
    """A list of failures from which the failure is missing."""
    def visit(row):
        for key in ("results", "rows", "examples"):
            if isinstance(row.get(key), list):
                row[key] = [r for r in row[key] if not (isinstance(r, dict) and ("failed" in (r.get("status"), r.get("verdict")) or r.get("id") == BAD_ID))]
    walk(data, visit)
    if isinstance(data, list):
        data[:] = [r for r in data if r.get("id") != BAD_ID]


def empty_list(text):
    return "[]"


BAD_ID = __import__("hashlib").sha256(b"./spec/a_spec.rb::A > bad").hexdigest()[:12]
TEXT = {"count": count_lie, "verdict": title_lie}
LIES = {
    "live:interleaved": TEXT, "live:grouped": TEXT, "live:quiet": TEXT, "live:terse": TEXT, "live:screen": TEXT, "show": TEXT,
    "watch": {"verdict": lambda text: re.sub(r"✗ (A > bad  )failed · attempt 2", r"✓ \1passed", text).replace("1 failed", "0 failed, 1 crashed")},
    "runs": {"verdict": lambda text: re.sub(r"(  )failed(  )", r"\1passed\2", text, count=1)},
    "live:json": JSON_LIES, "show json": JSON_LIES, "runs json": JSON_LIES, "api runs": JSON_LIES, "api run": JSON_LIES,
    "api examples": JSON_LIES, "api example": JSON_LIES, "tool run_status": JSON_LIES, "tool run_wait": JSON_LIES, "tool show_example": JSON_LIES,
    "tool run_results": {**JSON_LIES, "missing": in_json(drop_rows)}, "tool run_results all": {**JSON_LIES, "missing": in_json(drop_rows)},
    "mcp run_results": {**JSON_LIES, "missing": in_json(drop_rows)},
    "history": {"verdict": in_json(lambda data: data["runs"][0].update(examples=17))}, "history example": JSON_LIES, "flaky": {"list": empty_list},
    "live:junit": {"verdict": junit_lie}, "show junit": {"verdict": junit_lie},
    "live:markdown": {"mark": mark_lie, "count": count_lie}, "show markdown": {"mark": mark_lie, "count": count_lie}, "live:github summary": {"mark": mark_lie, "count": count_lie},
    "live:github": {"verdict": lambda text: re.sub(r"title=(?:failed%3A )?A > bad", "title=A > good", text)},
    "stream": {"exit code": lines_lie}, "live:html": {"exit code": lines_lie},
    "validate": {"verdict": lambda text: "1\n" + text.partition("\n")[2]},
    "compare": {"verdict": in_json(lambda data: data["counts"].update(regressions=1))},
    "list only-failures": {"list": empty_list},
    **{surface: {**JSON_LIES, "running": in_json(running_for_ever), "missing": in_json(drop_rows), "failures": in_json(no_failures)} for surface in PAGE_SURFACES},
    "baseline": {"verdict": in_json(flip_words), "missing": in_json(drop_rows), "count": in_json(lambda data: data.update(shown=data["shown"].replace('"passed": 2', '"passed": 3')))},
    "live:journal": {"outcome": in_json(lambda data: data[0]["entry"]["outcome"].update(status="confirmed")), "exit code": in_json(lambda data: walk(data, lambda row: row.update(exit=0) if row.get("exit") == 1 else None)),
                     "count": in_json(lambda data: walk(data, lambda row: row.update(passed=3, failed=0) if "skipped" in row else None))},
    # A server that has started no run has nothing to say; what it would say is written here, and must be read.
    "specs progress": {"total": lambda text: json.dumps({"status": "finished", "completed": 9, "total": 9, "failures": 0})},
}


def collect(program, base):
    """The texts of every surface about the failing run: all views, and the screen."""
    texts, names = {}, {}
    for view in ("interleaved", "grouped", "quiet", "terse", "screen"):
        project = Project(program, base)
        try:
            if view == "screen":
                collected = on_screen(FAILING, project)
            else:
                collected = run_situation(FAILING, project, ui=view, reports_too=view == "interleaved")
                if view == "interleaved":
                    recorded_surfaces(FAILING, project, collected)
            names.update(collected.names)
            for surface, text in collected.raw:
                texts.setdefault(surface, []).append(text)
        finally:
            project.remove()
    return texts, names


def main(program, base):
    """Plants every lie; prints what was planted and found, and gives the number that was not."""
    from claim import check
    import dataclasses
    the_truth = dataclasses.replace(FAILING.truth, validate=(0,))
    texts, names = collect(program, base)
    planted, missed, silent = 0, [], []
    for surface in SURFACES:
        if surface not in LIES or surface not in texts:
            missed.append(f"{surface}: no lie could be planted: it said nothing")
            planted += 1
            continue
        changed_any = False
        for kind, lie in LIES[surface].items():
            changed = [lie(text) for text in texts[surface]]
            if changed == texts[surface]:
                continue
            before = [check(surface, SURFACES[surface](text), the_truth, names) for text in texts[surface]]
            after = [check(surface, SURFACES[surface](text), the_truth, names) for text in changed]
            changed_any = True
            planted += 1
            if not any(set(told) - set(untold) for told, untold in zip(after, before)):
                missed.append(f"{surface}: {kind}")
        if not changed_any:
            silent.append(surface)
    for surface in silent:
        planted += 1
        missed.append(f"{surface}: no lie fits what it says")
    for line in missed:
        print(f"  not found: {line}")
    print(f"planted {planted}, found {planted - len(missed)}")
    return len(missed)
