"""Tests of the frame of bench/all: no figure counts as reached that is not, and nothing that fails is left out. No program is measured."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from table import figures, page, pictures, rows


class Aims(unittest.TestCase):
    def test_a_limit_is_kept_or_missed(self):
        for value, aim, expected in [(1.0, "≤ 1.00 of `rspec`", True), (1.001, "≤ 1.00", False), (25_000, "≥ 25,000 /s", True),
                                     (24_999, "≥ 25,000 /s", False), (50, "< 50 ms", False), (7, "", None), (7, "as fast as can be", None)]:
            self.assertIs(figures.reaches(value, aim), expected, (value, aim))

    def test_a_figure_without_an_aim_is_not_called_reached(self):
        self.assertEqual(figures.figure("it", 3, "ms").verdict, "")

    def test_what_the_aim_is_about_counts_and_not_the_value(self):
        made = figures.figure("it", 0.6, "s", "≤ 1.00 of `rspec`", counts=1.36)
        self.assertEqual((made.value, made.verdict), ("0.60 s", "**missed**"))


class Scripts(unittest.TestCase):
    def test_a_missing_script_is_said(self):
        with self.assertRaisesRegex(figures.Missing, "`bench/no-such/run` does not exist"):
            rows.script("bench/no-such/run")

    def test_a_script_that_fails_gives_no_figure(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(rows, "ROOT", Path(folder)):
            script = Path(folder, "run")
            script.write_text("#!/bin/sh\necho '| validate | 0.85 s | 999 | 1.90 | 59 MB |'\necho broken >&2\nexit 1\n")
            script.chmod(0o755)
            with self.assertRaisesRegex(figures.Missing, "ended with 1: broken"):
                rows.script("run")

    def test_a_script_that_hangs_is_ended_with_its_children(self):
        ended = []
        kill = rows.os.killpg

        def noted(group, signal):
            ended.append(group)
            kill(group, signal)

        with (tempfile.TemporaryDirectory() as folder, mock.patch.object(rows, "ROOT", Path(folder)),
              mock.patch.object(rows, "LIMIT_SECONDS", 0.5), mock.patch.object(rows.os, "killpg", noted)):
            script = Path(folder, "run")
            script.write_text("#!/bin/sh\nsleep 600 &\nsleep 600\n")
            script.chmod(0o755)
            with self.assertRaisesRegex(figures.Missing, "was ended after"):
                rows.script("run")
        # Who was killed may still wait for init to take notice: it runs no more all the same.
        states = subprocess.run(["ps", "-o", "stat=", "-g", str(*ended)], capture_output=True, text=True).stdout.split()
        self.assertFalse([state for state in states if not state.startswith("Z")])

    def test_a_changed_output_gives_no_figure(self):
        for name, (_, function) in rows.ROWS.items():
            if name in ("start", "rspec-many", "rspec-memory", "mcp", "cover", "cover-file", "build") or name.startswith("growth"):
                continue
            with self.subTest(name), mock.patch.object(rows, "script", lambda *_, **__: "all is well\n"):
                with self.assertRaises((figures.Missing, ValueError)):
                    list(function())


class Page(unittest.TestCase):
    def test_the_table_stands_between_the_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "page.md")
            file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
            page.write(file, "new | \\1")
            self.assertEqual(file.read_text(), f"before\n{page.BEGIN}\n\nnew | \\1\n\n{page.END}\nafter\n")

    def test_a_page_without_marks_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "page.md")
            file.write_text("before\n")
            with self.assertRaises(SystemExit):
                page.write(file, "new")
            self.assertEqual(file.read_text(), "before\n")

    def test_rows_that_failed_or_were_not_run_are_named(self):
        result = {"date": "2026-11-18", "load": "0.5", "figures": [], "missing": "no `x` | here"}
        text = page.table({"a": result}, ["a", "b"], ["rspec 3.12"])
        self.assertIn("| a | **not measured** | | no `x` \\| here |", text)
        self.assertIn("Not run yet: b.", text)


class Pictures(unittest.TestCase):
    def test_growth_in_proportion_is_a_straight_line(self):
        place, ticks = pictures.scale([1, 10, 100], 0, 100)
        self.assertEqual([place(1), place(10), place(100)], [0, 50, 100])
        self.assertEqual(ticks, [1, 10, 100])

    def test_one_size_alone_has_room(self):
        place, _ = pictures.scale([1, 1], 0, 100)
        self.assertEqual(place(1), 0)


unittest.main()
