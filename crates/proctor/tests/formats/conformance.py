"""Runs the official conformance suite of the Model Context Protocol against `/mcp` of `proctor serve`.

    conformance.py PROCTOR NODE SUITE [--write]

PROCTOR is the binary, NODE a Node.js of version 22 or later, SUITE the suite's index.js. Every check of every protocol version that
Proctor speaks must pass, except those in mcp-expected-failures.txt. That list may only shrink: a check in it that passes, or is no
longer made, fails this script. `--write` writes the list anew, without reasons.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

VERSIONS = ["2025-06-18", "2025-11-25", "2026-07-28"]
EXPECTED = Path(__file__).with_name("mcp-expected-failures.txt")
FEWEST_PASSED = 60


def started(command, **options):
    """A process and the first line that it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    return process, process.stdout.readline()


def checks(node, suite, url, version, folder):
    """Every check of one protocol version: (version, scenario, check) -> None, or why it failed."""
    command = [node, suite, "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", folder]
    subprocess.run(command, capture_output=True, check=False, timeout=120)
    results = {}
    for path in Path(folder).glob("server-*/checks.json"):
        # The folder's name ends in a time of 25 characters.
        scenario = path.parent.name.removeprefix("server-")[:-25]
        for check in json.loads(path.read_text()):
            name = (version, scenario, check["id"])
            failed = check["status"] in ("FAILURE", "WARNING")
            results[name] = check.get("errorMessage", "failed") if failed else results.get(name)
    return results


def all_checks(proctor, node, suite):
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (project / "proctor.toml").touch()
        server, line = started([proctor, "serve", "--root", project, "--format", "json", "--tools", "all", "--structured"])
        try:
            served = json.loads(line)
            proxy_script = Path(__file__).with_name("add_token.mjs")
            proxy, port = started([node, proxy_script, served["address"], served["token"]])
            try:
                url = f"http://127.0.0.1:{port.strip()}/mcp"
                results = {}
                for version in VERSIONS:
                    results |= checks(node, suite, url, version, f"{folder}/{version}")
                return results
            finally:
                proxy.terminate()
                proxy.wait()
        finally:
            server.terminate()
            server.wait()


def expected_failures():
    lines = [line.split("#")[0].split() for line in EXPECTED.read_text().splitlines()]
    return {tuple(words) for words in lines if words}


def main(proctor, node, suite, *options):
    results = all_checks(proctor, node, suite)
    failed = {name: why for name, why in results.items() if why is not None}
    passed = len(results) - len(failed)
    if "--write" in options:
        EXPECTED.write_text("".join(" ".join(name) + f"  # {why[:100]}\n" for name, why in sorted(failed.items())))
    expected = expected_failures()
    wrong = [f"{' '.join(name)}: {why}" for name, why in sorted(failed.items()) if name not in expected]
    wrong += [f"{' '.join(name)}: passes: remove this line from {EXPECTED.name}" for name in sorted(expected & (results.keys() - failed.keys()))]
    wrong += [f"{' '.join(name)}: no such check: remove this line from {EXPECTED.name}" for name in sorted(expected - results.keys())]
    if passed < FEWEST_PASSED:
        wrong.append(f"only {passed} checks passed: did the suite run?")
    print("\n".join(wrong))
    print(f"MCP conformance: {passed} checks passed, {len(failed.keys() & expected)} failures expected, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
