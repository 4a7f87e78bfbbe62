"""Holds the JSON schemas of scenario and workspace files to the tables mistakes.yaml and valid.yaml, with check-jsonschema.

    schemas.py CHECK_JSONSCHEMA ROOT

The schemas refuse every mistake that a schema can express and none of the valid files: those of the table, the examples and the
complete samples of the pages. The tool is held to the same tables by the tests `mistake_table`.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ruamel.yaml import YAML

FEWEST_MISTAKES = 80


def refused(check_jsonschema, schema, files):
    """The names of the files that the schema, or the parser before it, refuses."""
    command = [check_jsonschema, "--no-cache", "--output-format", "json", "--schemafile", schema, *files]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(answer.stdout)
    found = report.get("errors", []) + report.get("parse_errors", [])
    return {Path(error["filename"]).name: error.get("message", "") for error in found}


def completed(block):
    """A part of a scenario file as a whole one."""
    has = lambda *keys: any(re.search(rf"^{key}:", block, re.MULTILINE) for key in keys)
    title = "" if has("describe") else "describe: Sample\n"
    tests = "" if has("examples", "sets", "contexts") else "examples: [{it: works, pending: a sample}]\n"
    return title + block + tests


def samples(root, kind):
    """The files among the YAML samples of the pages. The page about scenarios shows parts of files too."""
    first_key = {"scenario": "describe:", "workspace": "name:"}[kind]
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
        for number, block in enumerate(blocks, 1):
            if kind == "scenario" and page.name == "conversations.md":
                block = completed(block)
            if re.search(rf"^{first_key}", block, re.MULTILINE):
                yield f"sample {number} of {page.name}", block


def main(check_jsonschema, root):
    tables = root / "crates/proctor/tests/formats"
    read = lambda name: YAML(typ="safe").load((tables / name).read_text())
    mistakes, valid = read("mistakes.yaml"), read("valid.yaml")
    wrong = []
    if len(mistakes) < FEWEST_MISTAKES:
        wrong.append(f"only {len(mistakes)} mistakes")
    counts = {"refuses": 0, "cannot": 0, "valid": 0}
    for kind, examples in [("scenario", "examples/*.scenario.yaml"), ("workspace", "examples/workspaces/*.workspace.yaml")]:
        right = {row["name"]: row["text"] for row in valid if row["kind"] == kind}
        right |= dict(samples(root, kind))
        right |= {str(path): path.read_text() for path in root.glob(examples)}
        rows = [row for row in mistakes if row["kind"] == kind]
        with tempfile.TemporaryDirectory() as folder:
            def write(prefix, number, text):
                path = Path(folder) / f"{prefix}-{number}.yaml"
                path.write_text(text)
                return path
            bad = {write("bad", number, row["text"]): row for number, row in enumerate(rows)}
            good = {write("good", number, text): name for number, (name, text) in enumerate(right.items())}
            found = refused(check_jsonschema, root / f"schema/{kind}.schema.json", [*bad, *good])
        for path, row in bad.items():
            said = path.name in found
            verdict, _, reason = row["schema"].partition(": ")
            counts[verdict] += 1
            if verdict == "refuses" and not said:
                wrong.append(f"the {kind} schema accepts: {row['name']}\n{row['text']}")
            if verdict == "cannot" and said:
                wrong.append(f"the {kind} schema refuses after all: {row['name']} ({found[path.name]}): write `schema: refuses`")
            if verdict == "cannot" and not reason:
                wrong.append(f"no reason why a schema cannot refuse: {row['name']}")
        for path, name in good.items():
            counts["valid"] += 1
            if path.name in found:
                wrong.append(f"the {kind} schema refuses a valid file: {name}: {found[path.name]}\n{path.name}: {right[name]}")
    print("\n".join(wrong))
    print(f"mistakes: {counts['refuses']} refused by the schemas, {counts['cannot']} that no schema can express; {counts['valid']} valid files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
