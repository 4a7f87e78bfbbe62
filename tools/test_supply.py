"""Tests of tools/yanked, tools/lock_files, tools/sbom and SECURITY.md; run by ./check with the Python of target/tools/formats. Those of tools/yanked need
the network.

    target/tools/formats/bin/python tools/test_supply.py
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

import cyclonedx.schema
import jsonschema
import referencing

TOOLS = pathlib.Path(__file__).resolve().parent
SCHEMAS = pathlib.Path(cyclonedx.schema.__file__).parent / "_res"
# Both were withdrawn by their authors for good; serde 1.0.200 was not.
YANKED = [("libc", "0.2.154"), ("tokio", "1.54.0")]


def load(name):
    loader = SourceFileLoader(name, str(TOOLS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Yanked(Temporary):
    def run_on(self, packages, source="registry+https://github.com/rust-lang/crates.io-index", **environment):
        lock = self.folder / "Cargo.lock"
        entries = [f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{source}"\n' for name, version in packages]
        lock.write_text("version = 4\n" + "\n".join(entries))
        return subprocess.run([TOOLS / "yanked", lock], env=os.environ | environment, capture_output=True, text=True)

    def test_every_yanked_version_is_named(self):
        done = self.run_on([*YANKED, ("serde", "1.0.200")])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for name, version in YANKED:
            self.assertIn(f"{name} {version} is yanked", done.stdout)
        self.assertNotIn("serde", done.stdout)

    def test_a_lock_file_without_one_passes(self):
        done = self.run_on([("serde", "1.0.200")])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 packages, none is yanked", done.stdout)

    def test_without_network_nothing_is_claimed(self):
        nothing_listens = "http://127.0.0.1:9"
        done = self.run_on(YANKED, CARGO_HTTP_PROXY=nothing_listens, CARGO_NET_OFFLINE="true")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("NOT CHECKED", done.stdout)
        self.assertNotIn("none is yanked", done.stdout)

    def test_a_crate_from_elsewhere_is_not_claimed_to_be_checked(self):
        done = self.run_on([("serde", "1.0.200")], source="git+https://example.com/serde#0000")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("NOT CHECKED", done.stdout)


class LockFiles(Temporary):
    def problems(self, kind, text):
        path = self.folder / "file"
        path.write_text(text)
        return list(getattr(load("lock_files"), kind)(path))

    def test_requirements(self):
        good = "a==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n"
        self.assertEqual(self.problems("requirements", good), [])
        for bad in ["a==1.0\n", "a>=1.0 --hash=sha256:" + "0" * 64, "--index-url https://example.com\n" + good, "a @ https://example.com/a.whl"]:
            self.assertEqual(len(self.problems("requirements", bad)), 1, bad)

    def test_npm(self):
        for package, wrong in [({"integrity": "sha512-x"}, 0), ({}, 1), ({"integrity": "sha1-x"}, 1), ({"integrity": "sha512-x", "resolved": "https://example.com"}, 1)]:
            self.assertEqual(len(self.problems("npm", json.dumps({"packages": {"": {}, "node_modules/a": package}}))), wrong, package)


def sbom():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sbom.json"
        subprocess.run([TOOLS / "sbom", path], check=True, capture_output=True)
        return path.read_bytes()


class Sbom(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.written = sbom()
        cls.document = json.loads(cls.written)

    def validator(self):
        def retrieve(address):
            name = address.rsplit("/", 1)[-1].replace(".schema.json", "").removesuffix(".SNAPSHOT")
            return referencing.Resource.from_contents(json.loads((SCHEMAS / f"{name}.SNAPSHOT.schema.json").read_text()))

        schema = json.loads((SCHEMAS / "bom-1.6.SNAPSHOT.schema.json").read_text())
        return jsonschema.Draft7Validator(schema, registry=referencing.Registry(retrieve=retrieve))

    def test_it_is_valid_and_the_validator_can_say_no(self):
        document = self.document
        self.assertEqual([error.message for error in self.validator().iter_errors(document)], [])
        for place, value in [("type", "thing"), ("scope", "sometimes"), ("hashes", [{"alg": "SHA-256", "content": "x"}])]:
            broken = document | {"components": [document["components"][0] | {place: value}], "dependencies": []}
            self.assertFalse(self.validator().is_valid(broken), place)

    def test_it_lists_what_is_in_the_program_and_nothing_else(self):
        document = self.document
        names = {component["name"]: component for component in document["components"]}
        for inside in ["tokio", "rusqlite", "preact", "@preact/signals", "@preact/signals-core", "proctor-server"]:
            self.assertEqual(names[inside]["scope"], "required", inside)
        self.assertEqual(names["serde_derive"]["scope"], "excluded")
        for outside in ["insta", "proptest", "vite", "windows-sys", "proctor-testkit"]:
            self.assertNotIn(outside, names)
        references = {document["metadata"]["component"]["bom-ref"], *(component["bom-ref"] for component in document["components"])}
        for dependency in document["dependencies"]:
            self.assertLessEqual({dependency["ref"], *dependency["dependsOn"]}, references)
        reached, waiting = set(), [document["metadata"]["component"]["bom-ref"]]
        edges = {dependency["ref"]: dependency["dependsOn"] for dependency in document["dependencies"]}
        while waiting:
            reference = waiting.pop()
            if reference not in reached:
                reached.add(reference)
                waiting += edges[reference]
        self.assertEqual(references - reached, set())

    def test_crates_from_the_registry_have_their_checksum(self):
        for component in self.document["components"]:
            self.assertEqual("hashes" in component, not component["name"].startswith("proctor"), component["name"])

    def test_the_same_commit_gives_the_same_bytes(self):
        self.assertEqual(sbom(), self.written)


class SecurityPage(unittest.TestCase):
    def test_every_test_it_names_exists(self):
        root = TOOLS.parent
        named = re.findall(r"`([\w./-]+)::(\w+)`", (root / "SECURITY.md").read_text())
        self.assertGreater(len(named), 30)
        for path, function in named:
            self.assertRegex((root / path).read_text(), rf"\b(fn|def) {function}\(", f"{path}::{function}")


if __name__ == "__main__":
    unittest.main()
