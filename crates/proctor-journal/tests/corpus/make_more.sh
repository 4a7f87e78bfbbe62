#!/usr/bin/env bash
# Makes the second part of the corpus: more runners, killed, missing, piped and truncated runs.
#
#   CORPUS_SCRATCH=DIR [CORPUS_ROOT=TREE] tests/corpus/make_more.sh [TOOL…]
#
# As make.sh, with another form: each case is one line for a shell, and its name says what is true of it by construction. What ends in
# `pass` passed two tests, what ends in `fail` failed one, what ends in `mixed` passed one and failed one; everything else (`none`,
# `broken`, `killed`, `missing`, …) shows nothing either way. CORPUS_ROOT is a Debian tree (debootstrap) with phpunit, cmake, g++, bats,
# maven, libsurefire-java, maven-debian-helper, golang-go and elixir; without it those tools keep their old files.
# Of each output at most 8,000 bytes are kept, the end.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
scratch=${CORPUS_SCRATCH:-$(mktemp -d)}
root=${CORPUS_ROOT:-}
mkdir -p "$scratch"
export NO_COLOR=1 CI=1 FORCE_COLOR=0 CARGO_TERM_COLOR=never CARGO_TARGET_DIR="$scratch/target" TERM=dumb

scrub() {
  tail -c 8000 | sed -E \
    -e '/^npm (warn|notice) /d' \
    -e "s#$scratch/[a-z_]+/project#/project#g" \
    -e "s#$scratch/venv#/venv#g" \
    -e "s#$scratch/target#/target#g" \
    -e "s#$scratch#/scratch#g" \
    -e "s#/tmp/[A-Za-z0-9._/-]*#/scratch/file#g" \
    -e "s#$HOME/\.pyenv[^ :)\"]*#/python#g" \
    -e "s#$HOME/[^ :)\"]*#/scratch/file#g" \
    -e 's#/var/lib/gems[^ :)"]*|/usr/share/rubygems-integration[^ :)"]*|/usr/lib/ruby[^ :)"]*#/ruby#g' \
    -e 's#https?://[^ )"]*#https://example.org/#g' \
    -e "s#$(hostname)#host#g"
}

# capture CASE LINE   runs a line for a shell in the tool's project folder; $inside: in the Debian tree
capture() {
  local case=$1 line=$2 code
  if [ -n "${inside:-}" ]; then
    chroot "$root" sh -c "cd /project/$tool && $line" >"$scratch/$tool.raw" 2>&1; code=$?
  else
    sh -c "$line" >"$scratch/$tool.raw" 2>&1; code=$?
  fi
  # A shell that runs one command becomes it; a signal then is the shell's own.
  scrub <"$scratch/$tool.raw" >"$here/$tool/$case.txt"
  printf '%s\t%s\t%s\n' "$case" "$code" "$line" | scrub >>"$here/$tool/index.tsv"
}

begin() { # TOOL: an empty project and an empty corpus folder
  tool=$1; inside=
  rm -rf "${here:?}/$tool"; mkdir -p "$here/$tool"
  rm -rf "${scratch:?}/$tool"; mkdir -p "$scratch/$tool/project"; cd "$scratch/$tool/project" || exit 1
}

begin_inside() { # the same in the Debian tree
  begin "$1"; inside=yes
  rm -rf "${root:?}/project/$tool"; mkdir -p "$root/project/$tool"; cd "$root/project/$tool" || exit 1
}

make_unittest() {
  begin unittest
  printf 'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(2, 1 + 1)\n    def test_b(self): pass\n' >test_pass.py
  printf 'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(3, 1 + 1)\n' >test_fail.py
  printf 'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): self.assertEqual(1, 2)\n    @unittest.skip("later")\n    def test_c(self): pass\n' >test_mixed.py
  printf 'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): raise RuntimeError("x")\n' >test_error_fail.py
  printf 'x = 1\n' >test_none.py
  printf 'import not_a_module_anywhere\n' >test_broken.py
  printf 'import unittest, os, time\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): time.sleep(60)\n' >test_killed.py
  printf 'import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_a(self): self.fail()\n    @unittest.skip("later")\n    def test_b(self): pass\n' >test_skipped_none.py
  for case in pass fail mixed error_fail none broken skipped_none; do capture $case "python3 -m unittest test_$case"; done
  capture verbose_pass "python3 -m unittest -v test_pass"
  capture discover_pass "python3 -m unittest discover -p test_pass.py"
  capture discover_none "python3 -m unittest discover -s . -p nothing*.py"
  capture missing "python3 -m unittest test_not_there"
  capture killed "timeout -s KILL 2 python3 -m unittest -v test_killed"
  capture piped_fail "python3 -m unittest test_fail 2>&1 | tail -3"
  capture piped_pass "python3 -m unittest test_pass 2>&1 | tail -3"
  capture truncated_fail "python3 -m unittest test_fail 2>&1 | head -2"
  capture help_none "python3 -m unittest --help"
}

make_pytest_more() {
  begin pytest_more
  local run="$scratch/venv/bin/python -m pytest -p no:cacheprovider"
  printf 'def test_a(): pass\ndef test_b(): pass\n' >test_pass.py
  printf 'def test_c(): assert 1 == 2\n' >test_fail.py
  printf 'def test_a(): pass\ndef test_b(): assert False\n' >test_mixed.py
  printf 'import time\ndef test_a(): pass\ndef test_b(): time.sleep(60)\n' >test_killed.py
  printf 'import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit("stop")\n' >test_stopped.py
  printf 'import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n' >test_vanished.py
  capture killed "timeout -s KILL 3 $run test_killed.py"
  capture missing "$run test_not_there.py"
  capture version_none "$run --version"
  capture collect_none "$run --collect-only -q test_pass.py"
  capture piped_fail "$run test_fail.py | tail -1"
  capture piped_pass "$run test_pass.py | tail -1"
  capture piped_mixed "$run -q test_mixed.py | tail -3"
  capture truncated_fail "$run test_fail.py | head -1"
  capture grepped_mixed "$run -q test_mixed.py | grep -o '[0-9]* passed.*'"
  capture stopped "$run test_stopped.py"
  capture piped_stopped "$run test_stopped.py | tail -1"
  capture vanished "$run test_vanished.py"
  capture pipefail_fail "bash -o pipefail -c '$run test_fail.py | tail -1'"
  capture pipefail_pass "bash -o pipefail -c '$run test_pass.py | tail -1'"
  capture ignored_fail "$run -q test_fail.py || true"
  capture before_another_fail "$run -q test_fail.py; ls"
  capture parallel_mixed "$run -n 2 -q test_mixed.py"
  capture redirected "$run -q test_pass.py > out.txt"
  capture uninstalled "python3 -I -S -m pytest"
}

node_files() {
  printf '%s\n%s("adds", () => { assert.equal(2, 1 + 1); });\n%s("is", () => { assert.ok(true); });\n' "$1" "$2" "$2" >"pass$3"
  printf '%s\n%s("adds", () => { assert.equal(3, 1 + 1); });\n' "$1" "$2" >"fail$3"
  printf '%s\n%s("adds", () => { assert.ok(1); });\n%s("fails", () => { assert.equal(2, 3); });\n%s.skip("later", () => {});\n' "$1" "$2" "$2" "$2" >"mixed$3"
  printf '%s\n' "$1" >"none$3"
  printf '%s\nrequire("./not-there-at-all.js");\n%s("x", () => {});\n' "$1" "$2" >"broken$3"
  printf '%s\n%s("a", () => {});\n%s("b", () => new Promise((done) => setTimeout(done, 60000)));\n' "$1" "$2" "$2" >"killed$3"
}

make_node() {
  begin node
  node_files 'const assert = require("node:assert"); const { test } = require("node:test");' test .test.cjs
  for case in pass fail mixed none broken; do capture $case "node --test $case.test.cjs"; done
  for case in pass mixed none; do capture spec_$case "node --test --test-reporter=spec $case.test.cjs"; done
  capture tap_mixed "node --test --test-reporter=tap mixed.test.cjs"
  capture two_mixed "node --test pass.test.cjs fail.test.cjs | cat"
  capture missing "node --test not-there.test.cjs"
  capture killed "timeout -s KILL 3 node --test killed.test.cjs"
  capture piped_fail "node --test fail.test.cjs | tail -40"
  capture truncated_fail "node --test fail.test.cjs | head -1"
}

make_mocha() {
  begin mocha
  ln -s "$scratch/npm/node_modules" node_modules
  node_files 'const assert = require("node:assert");' it .spec.js
  for case in pass fail mixed none broken; do capture $case "npx mocha $case.spec.js"; done
  for case in pass mixed; do capture dot_$case "npx mocha --reporter dot $case.spec.js"; done
  capture json_mixed "npx mocha --reporter json mixed.spec.js"
  capture min_pass "npx mocha --reporter min pass.spec.js"
  capture tap_mixed "npx mocha --reporter tap mixed.spec.js"
  capture missing "npx mocha not-there.spec.js"
  capture dry_none "npx mocha --dry-run pass.spec.js"
  capture killed "timeout -s KILL 3 npx mocha --timeout 90000 killed.spec.js"
  capture piped_fail "npx mocha fail.spec.js | tail -12"
}

make_playwright() {
  begin playwright
  ln -s "$scratch/npm/node_modules" node_modules
  printf 'module.exports = { testDir: ".", workers: 1, reporter: process.env.PW_REPORTER || "list" };\n' >playwright.config.js
  node_files 'const { test } = require("@playwright/test"); const assert = require("node:assert");' test .spec.js
  for case in pass fail mixed none broken; do capture $case "npx playwright test $case.spec.js"; done
  for case in pass mixed; do capture line_$case "npx playwright test --reporter=line $case.spec.js"; capture dot_$case "npx playwright test --reporter=dot $case.spec.js"; done
  capture list_none "npx playwright test --list pass.spec.js"
  capture missing "npx playwright test not-there.spec.js"
  capture killed "timeout -s KILL 5 npx playwright test --timeout 90000 killed.spec.js"
  printf 'const { test } = require("@playwright/test"); const assert = require("node:assert");\nlet n = 0;\ntest("adds", () => {});\ntest("flaky", ({}, info) => { assert.equal(info.retry, 1); });\n' >flaky.spec.js
  capture flaky_pass "npx playwright test --retries 1 flaky.spec.js"
  capture piped_fail "npx playwright test fail.spec.js | tail -5"
}

make_ava() {
  begin ava
  ln -s "$scratch/npm/node_modules" node_modules; printf '{"name":"sample"}\n' >package.json
  printf 'const test = require("ava");\ntest("a", (t) => t.pass());\ntest("b", (t) => t.is(2, 1 + 1));\n' >pass.js
  printf 'const test = require("ava");\ntest("a", (t) => t.is(3, 1 + 1));\n' >fail.js
  printf 'const test = require("ava");\ntest("a", (t) => t.pass());\ntest("b", (t) => t.fail());\ntest.skip("c", (t) => t.pass());\n' >mixed.js
  printf 'const test = require("ava");\n' >none.js
  printf 'require("./not-there-at-all");\n' >broken.js
  for case in pass fail mixed none broken; do capture $case "npx ava $case.js"; done
  capture tap_mixed "npx ava --tap mixed.js"
  capture missing "npx ava not-there.js"
}

make_bun() {
  begin bun
  printf 'import { test, expect } from "bun:test";\ntest("a", () => expect(2).toBe(2));\ntest("b", () => {});\n' >pass.test.js
  printf 'import { test, expect } from "bun:test";\ntest("a", () => expect(3).toBe(2));\n' >fail.test.js
  printf 'import { test, expect } from "bun:test";\ntest("a", () => {});\ntest("b", () => expect(3).toBe(2));\ntest.skip("c", () => {});\n' >mixed.test.js
  printf 'import { test } from "bun:test";\n' >none.test.js
  printf 'import "./not-there-at-all.js";\n' >broken.test.js
  export PATH="$scratch/npm/node_modules/.bin:$PATH"
  for case in pass fail mixed none broken; do capture $case "bun test ./$case.test.js"; done
  capture missing "bun test ./not-there.test.js"
}

make_deno() {
  begin deno
  printf 'Deno.test("a", () => {});\nDeno.test("b", () => {});\n' >pass_test.js
  printf 'Deno.test("a", () => { throw new Error("x"); });\n' >fail_test.js
  printf 'Deno.test("a", () => {});\nDeno.test("b", () => { throw new Error("x"); });\nDeno.test({ name: "c", ignore: true, fn() {} });\n' >mixed_test.js
  printf 'export {};\n' >none_test.js
  printf 'import "./not_there_at_all.js";\n' >broken_test.js
  export PATH="$scratch/npm/node_modules/.bin:$PATH"
  for case in pass fail mixed none broken; do capture $case "deno test ${case}_test.js"; done
  capture missing "deno test not_there_test.js"
  capture no_run_none "deno test --no-run pass_test.js"
}

make_testunit() {
  begin testunit
  printf 'require "test/unit"\nclass T < Test::Unit::TestCase; def test_a; assert true; end; def test_b; assert_equal 2, 1 + 1; end; end\n' >pass_test.rb
  printf 'require "test/unit"\nclass T < Test::Unit::TestCase; def test_a; assert_equal 3, 1 + 1; end; end\n' >fail_test.rb
  printf 'require "test/unit"\nclass T < Test::Unit::TestCase; def test_a; assert true; end; def test_b; assert false; end; def test_c; omit "later"; end; end\n' >mixed_test.rb
  printf 'require "test/unit"\n' >none_test.rb
  printf 'require "test/unit"\nrequire "not_a_gem_anywhere"\n' >broken_test.rb
  for case in pass fail mixed none broken; do capture $case "ruby ${case}_test.rb"; done
  capture missing "ruby not_there_test.rb"
}

make_minitest_more() {
  begin minitest_more
  local head='require "minitest/autorun"'
  printf '%s\nclass T < Minitest::Test; def test_a; end; def test_b; sleep 60; end; i_suck_and_my_tests_are_order_dependent!; end\n' "$head" >killed_test.rb
  printf '%s\nclass T < Minitest::Test; def test_a; assert false; end; end\n' "$head" >fail_test.rb
  printf '%s\ndescribe("x") { it("a") { _(1).must_equal 1 }; it("b") { } }\n' "$head" >pass_test.rb
  capture spec_pass "ruby pass_test.rb --seed 1"
  capture verbose_pass "ruby pass_test.rb --verbose --seed 1"
  capture killed "timeout -s KILL 3 ruby killed_test.rb"
  capture missing "ruby not_there_test.rb"
  capture piped_fail "ruby fail_test.rb --seed 1 | tail -3"
  capture filtered_none "ruby pass_test.rb --seed 1 -n /nothing_like_it/"
}

make_rspec_more() {
  begin rspec_more
  printf 'describe("a") { it("b") { expect(1).to eq 2 } }\n' >fail_spec.rb
  printf 'describe("a") { it("b") { }; it("c") { sleep 60 } }\n' >killed_spec.rb
  printf 'describe("a") { it("b") { }; it("c") { } }\n' >pass_spec.rb
  printf 'describe("a") { it("b") { }; it("c") { }; it("d") { RSpec.world.wants_to_quit = true } }\n' >quit_spec.rb
  capture killed "timeout -s KILL 3 rspec killed_spec.rb"
  capture interrupted "timeout -s INT 3 rspec killed_spec.rb"
  capture missing "rspec not_there_spec.rb"
  capture dry_none "rspec --dry-run pass_spec.rb"
  capture piped_fail "rspec fail_spec.rb | tail -4"
  capture piped_pass "rspec pass_spec.rb | tail -2"
  capture json_pass "rspec --format json pass_spec.rb"
  capture doc_pass "rspec --format doc pass_spec.rb"
  capture excused_fail "rspec --failure-exit-code 0 fail_spec.rb"
}

make_prove() {
  begin prove
  printf 'use Test::More tests => 2; ok(1, "a"); is(2, 1 + 1, "b");\n' >pass.t
  printf 'use Test::More tests => 1; is(3, 1 + 1, "a");\n' >fail.t
  printf 'use Test::More tests => 3; ok(1, "a"); ok(0, "b"); SKIP: { skip "later", 1; }\n' >mixed.t
  printf 'use Test::More; done_testing();\n' >none.t
  printf 'use Not::A::Module::Anywhere; use Test::More tests => 1; ok(1);\n' >broken.t
  printf 'use Test::More tests => 3; ok(1, "a"); ok(1, "b");\n' >plan_missed.t
  for case in pass fail mixed none broken plan_missed; do capture $case "prove $case.t"; done
  capture verbose_pass "prove -v pass.t"
  capture missing "prove not_there.t"
  capture piped_fail "prove fail.t 2>&1 | tail -2"
}

make_cargo_more() {
  begin cargo_more
  mkdir -p src tests
  printf '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[lib]\ndoctest = false\n[workspace]\n' >Cargo.toml
  printf '#[test]\nfn one() {}\n#[test]\nfn two() { assert_eq!(1 + 1, 2); }\n' >src/lib.rs
  capture pass "cargo test --offline"
  capture quiet_pass "cargo test --offline -q"
  capture piped_pass "cargo test --offline 2>&1 | tail -2"
  capture list_none "cargo test --offline -- --list"
  capture no_run_none "cargo test --offline --no-run"
  capture missing "cargo test --offline --test not_there"
  capture unknown_command "cargo tset --offline"
  printf '#[test]\nfn fails() { assert!(false); }\n' >tests/a.rs
  printf '#[test]\nfn passes() {}\n' >tests/b.rs
  capture hidden_mixed "cargo test --offline --no-fail-fast 2>/dev/null | tail -3"
  printf '#[test]\nfn dies() { std::process::abort(); }\n' >tests/a.rs
  capture aborted "cargo test --offline"
  capture piped_aborted "cargo test --offline 2>/dev/null | cat"
  printf '#[test]\nfn hangs() { std::thread::sleep(std::time::Duration::from_secs(90)); }\n' >tests/a.rs
  capture killed "timeout -s KILL 8 cargo test --offline"
}

make_jest_more() {
  begin jest_more
  ln -s "$scratch/npm/node_modules" node_modules; printf '{"name":"sample","private":true}\n' >package.json
  printf 'test("a", () => { expect(2).toBe(2); });\ntest("b", () => {});\n' >pass.test.js
  printf 'test("a", () => { expect(3).toBe(2); });\n' >fail.test.js
  printf 'require("./not-there-at-all");\ntest("a", () => {});\n' >broken.test.js
  printf 'test("a", () => {});\ntest("b", () => new Promise((d) => setTimeout(d, 60000)), 90000);\n' >killed.test.js
  capture none_allowed_none "npx jest --passWithNoTests nothing-like-it"
  capture list_none "npx jest --listTests"
  capture killed "timeout -s KILL 6 npx jest killed.test.js"
  capture piped_fail "npx jest fail.test.js 2>&1 | tail -6"
  capture piped_pass "npx jest pass.test.js 2>&1 | tail -6"
  capture piped_broken "npx jest pass.test.js broken.test.js 2>&1 | tail -5"
  capture partly_broken "npx jest pass.test.js broken.test.js"
  capture bail_fail "npx jest --bail fail.test.js"
  capture json_pass "npx jest --json pass.test.js"
}

make_vitest_more() {
  begin vitest_more
  ln -s "$scratch/npm/node_modules" node_modules; printf '{"name":"sample","private":true,"type":"module"}\n' >package.json
  local head='import { test, expect } from "vitest";'
  printf '%s\ntest("a", () => { expect(2).toBe(2); });\ntest("b", () => {});\n' "$head" >pass.test.js
  printf '%s\ntest("a", () => { expect(3).toBe(2); });\n' "$head" >fail.test.js
  printf '%s\ntest("a", () => {});\ntest("b", () => { setTimeout(() => { throw new Error("late"); }, 0); return new Promise((d) => setTimeout(d, 50)); });\n' "$head" >unhandled.test.js
  printf '%s\ntest("a", () => {});\ntest("b", () => new Promise((d) => setTimeout(d, 60000)), 90000);\n' "$head" >killed.test.js
  capture dot_pass "npx vitest run --reporter=dot pass.test.js"
  capture verbose_fail "npx vitest run --reporter=verbose fail.test.js"
  capture unhandled "npx vitest run unhandled.test.js"
  capture list_none "npx vitest list pass.test.js"
  capture killed "timeout -s KILL 6 npx vitest run killed.test.js"
  capture piped_fail "npx vitest run fail.test.js 2>&1 | tail -8"
  capture none_allowed_none "npx vitest run --passWithNoTests nothing-like-it"
}

make_make() { # what a build tool or a script starts cannot be seen in the command
  begin make
  ln -s "$scratch/npm/node_modules" node_modules
  printf '{"name":"sample","private":true,"scripts":{"test":"jest pass.test.js","bad":"jest fail.test.js","build":"node -e 0"}}\n' >package.json
  printf 'test("a", () => { expect(2).toBe(2); });\ntest("b", () => {});\n' >pass.test.js
  printf 'test("a", () => { expect(3).toBe(2); });\n' >fail.test.js
  printf 'describe("a") { it("b") { expect(1).to eq 2 } }\n' >fail_spec.rb
  printf 'describe("a") { it("b") { }; it("c") { } }\n' >pass_spec.rb
  printf 'pass:\n\trspec pass_spec.rb\nfail:\n\trspec fail_spec.rb\nignored:\n\t-rspec fail_spec.rb\nlint:\n\t@echo all fine\n' >Makefile
  capture make_pass "make pass"
  capture make_fail "make fail"
  capture ignored_fail "make ignored"
  capture lint_none "make lint"
  capture missing "make not-there"
  capture npm_pass "npm test"
  capture npm_fail "npm run bad"
  capture npm_build_none "npm run build"
  capture npm_missing "npm run not-there"
  capture script_missing "sh ./not-there.sh"
}

make_phpunit() {
  [ -n "$root" ] || return
  begin_inside phpunit
  local head='<?php use PHPUnit\\Framework\\TestCase; final class'
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class PassTest extends TestCase { function testA() { $this->assertTrue(true); } function testB() { $this->assertSame(2, 1 + 1); } }\n' >PassTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class FailTest extends TestCase { function testA() { $this->assertSame(3, 1 + 1); } }\n' >FailTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class MixedTest extends TestCase { function testA() { $this->assertTrue(true); } function testB() { $this->assertTrue(false); } function testC() { $this->markTestSkipped("later"); } }\n' >MixedTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class ErrorTest extends TestCase { function testA() { throw new Exception("x"); } }\n' >ErrorTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class NoneTest extends TestCase { }\n' >NoneTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class RiskyTest extends TestCase { function testA() { } function testB() { $this->assertTrue(true); } }\n' >RiskyTest.php
  printf '<?php require "not_there_at_all.php";\n' >BrokenTest.php
  printf '<?php use PHPUnit\\Framework\\TestCase;\nfinal class KilledTest extends TestCase { function testA() { $this->assertTrue(true); } function testB() { sleep(60); } }\n' >KilledTest.php
  for case in Pass Fail Mixed None Broken; do capture "$(printf %s "$case" | tr A-Z a-z)" "phpunit ${case}Test.php"; done
  capture error_fail "phpunit ErrorTest.php"
  capture risky_pass "phpunit RiskyTest.php"
  capture testdox_pass "phpunit --testdox PassTest.php"
  capture filtered_none "phpunit --filter nothingLikeIt PassTest.php"
  capture missing "phpunit NotThereTest.php"
  capture list_none "phpunit --list-tests PassTest.php"
  capture killed "timeout -s KILL 3 phpunit KilledTest.php"
  capture piped_mixed "phpunit MixedTest.php | tail -3"
}

make_ctest() {
  [ -n "$root" ] || return
  begin_inside ctest
  ctest_project() { printf 'cmake_minimum_required(VERSION 3.10)\nproject(s NONE)\nenable_testing()\n%b' "$1" >CMakeLists.txt; rm -rf build; chroot "$root" sh -c "cd /project/ctest && cmake -S . -B build" >/dev/null; }
  ctest_project 'add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND true)\n'
  capture pass "ctest --test-dir build"
  capture list_none "ctest --test-dir build -N"
  capture filtered_none "ctest --test-dir build -R nothing_like_it"
  ctest_project 'add_test(NAME a COMMAND false)\n'; capture fail "ctest --test-dir build"
  capture output_fail "ctest --test-dir build --output-on-failure"
  capture piped_fail "ctest --test-dir build | tail -5"
  ctest_project 'add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND false)\nadd_test(NAME c COMMAND true)\nset_tests_properties(c PROPERTIES DISABLED TRUE)\n'; capture mixed "ctest --test-dir build"
  ctest_project ''; capture none "ctest --test-dir build"
  ctest_project 'add_test(NAME a COMMAND not_a_program_anywhere)\n'; capture broken "ctest --test-dir build"
  ctest_project 'add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND sleep 60)\n'; capture killed "timeout -s KILL 3 ctest --test-dir build"
  capture missing "ctest --test-dir not-there"
}

make_bats() {
  [ -n "$root" ] || return
  begin_inside bats
  printf '@test "a" { true; }\n@test "b" { [ 2 -eq 2 ]; }\n' >pass.bats
  printf '@test "a" { [ 3 -eq 2 ]; }\n' >fail.bats
  printf '@test "a" { true; }\n@test "b" { false; }\n@test "c" { skip later; }\n' >mixed.bats
  printf '# nothing\n' >none.bats
  printf '@test "a" {\n' >broken.bats
  for case in pass fail mixed none broken; do capture $case "bats $case.bats"; done
  capture pretty_mixed "bats --pretty mixed.bats"
  capture missing "bats not-there.bats"
  capture count_none "bats --count pass.bats"
  capture piped_fail "bats fail.bats | tail -3"
}

make_surefire() {
  [ -n "$root" ] || return
  begin_inside surefire
  mkdir -p src/test/java src/main/java
  printf '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>sample</artifactId><version>1</version><properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies></project>\n' >pom.xml
  local mvn="mvn -B -o -Dmaven.repo.local=/usr/share/maven-repo test"
  java_file() { rm -rf target src/test/java/*; printf 'import org.junit.*;\npublic class %s { %s }\n' "$1" "$2" >"src/test/java/$1.java"; }
  java_file ATest '@Test public void a() {} @Test public void b() { Assert.assertEquals(2, 1 + 1); }'; capture pass "$mvn"
  capture quiet_pass "$mvn -q"
  capture piped_pass "$mvn | tail -20"
  capture skip_none "$mvn -DskipTests"
  capture filtered_none "$mvn -Dtest=NothingLikeIt"
  java_file ATest '@Test public void a() { Assert.assertEquals(3, 1 + 1); }'; capture fail "$mvn"
  capture ignored_fail "$mvn -Dmaven.test.failure.ignore=true"
  capture piped_fail "$mvn | tail -30"
  java_file ATest '@Test public void a() {} @Test public void b() { Assert.fail(); } @Ignore @Test public void c() {}'; capture mixed "$mvn"
  java_file ATest '@Test public void a() { throw new RuntimeException("x"); }'; capture error_fail "$mvn"
  rm -rf target src/test/java/*; capture none "$mvn"
  java_file ATest '@Test public void a() { int x = "text"; }'; capture broken "$mvn"
  java_file ATest '@Test public void a() { System.exit(0); }'; capture vanished "$mvn"
  rm -f pom.xml; capture missing "$mvn"
}

make_mix() {
  [ -n "$root" ] || return
  begin_inside mix
  mkdir -p lib test; printf 'defmodule S.MixProject do\n  use Mix.Project\n  def project, do: [app: :s, version: "0.1.0"]\nend\n' >mix.exs
  printf 'ExUnit.start()\n' >test/test_helper.exs
  mix_file() { rm -f test/*_test.exs; [ -z "$1" ] || printf 'defmodule STest do\n  use ExUnit.Case\n%b\nend\n' "$1" >test/s_test.exs; }
  mix_file '  test "a" do assert 1 end\n  test "b" do assert 2 == 1 + 1 end'; capture pass "LC_ALL=C.UTF-8 mix test"
  mix_file '  test "a" do assert 3 == 1 + 1 end'; capture fail "LC_ALL=C.UTF-8 mix test"
  mix_file '  test "a" do assert 1 end\n  test "b" do assert 1 == 2 end\n  @tag :skip\n  test "c" do assert 1 end'; capture mixed "LC_ALL=C.UTF-8 mix test"
  mix_file ''; capture none "LC_ALL=C.UTF-8 mix test"
  mix_file '  test "a" do not_there() end'; capture broken "LC_ALL=C.UTF-8 mix test"
  capture missing "LC_ALL=C.UTF-8 mix test test/not_there_test.exs"
}

tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(unittest pytest_more node mocha playwright ava bun deno testunit minitest_more rspec_more prove cargo_more jest_more vitest_more make phpunit ctest bats surefire mix)
for each in "${tools[@]}"; do "make_$each"; done
