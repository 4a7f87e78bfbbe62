#!/usr/bin/env bash
# Makes the corpus of real test-runner outputs by running the real tools on tiny projects.
#
#   tests/corpus/make.sh [TOOL…]     default: every tool that can be had here
#
# Each case leaves `TOOL/CASE.txt` (standard output and error, in order) and, where the tool can
# write one, a report `TOOL/CASE.xml` or `TOOL/CASE.json`; `TOOL/index.tsv` holds the exit code and
# the command of every case. Paths and host names of this machine are scrubbed, so that the files say
# only what the tool says; times and durations stay. A tool that cannot be had keeps its old files.
# Needs python3, node with npm, ruby, cargo, cargo-nextest; go is
# unpacked from Debian's packages into the scratch folder (nothing is installed on the system).
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
scratch=${CORPUS_SCRATCH:-$(mktemp -d)}
mkdir -p "$scratch"
export NO_COLOR=1 CI=1 CARGO_TERM_COLOR=never CARGO_TARGET_DIR="$scratch/target" FORCE_COLOR=0

scrub() {
  sed -E \
    -e '/^npm warn /d' \
    -e "s#(/private)?$scratch/[a-z]+/project#/project#g" \
    -e "s#$scratch/target#/target#g" \
    -e "s#$scratch#/scratch#g" \
    -e "s#$HOME#/home/user#g" \
    -e 's#/(root|home/[a-z]+)/\.(pyenv|cargo|rustup)[^ :)"]*#/toolchain#g' \
    -e 's#/var/lib/gems[^ :)"]*|/usr/share/rubygems-integration[^ :)"]*|/usr/lib/ruby[^ :)"]*#/ruby#g' \
    -e 's#/usr/lib/go[^ :)"]*#/go#g' \
    -e "s#hostname=\"[^\"]*\"#hostname=\"host\"#g" \
    -e "s#$(hostname)#host#g"
}

# capture TOOL CASE -- COMMAND…   runs in the tool's project folder
capture() {
  local tool=$1 case=$2; shift 3
  local out="$here/$tool/$case.txt" code
  "$@" >"$scratch/raw" 2>&1; code=$?
  scrub <"$scratch/raw" >"$out"
  printf '%s\t%s\t%s\n' "$case" "$code" "$*" | scrub >>"$here/$tool/index.tsv"
}

# report TOOL CASE FILE   keeps a report the tool has just written
report() {
  local tool=$1 case=$2 file=$3
  [ -f "$file" ] && scrub <"$file" >"$here/$tool/$case.${file##*.}"
}

begin() { # TOOL: an empty project
  rm -rf "${scratch:?}/$1"; mkdir -p "$scratch/$1/project"; cd "$scratch/$1/project" || exit 1
}

fresh() { # TOOL: an empty corpus folder, once it is clear that the tool can be had
  rm -rf "${here:?}/$1"; mkdir -p "$here/$1"
}

make_pytest() {
  begin pytest
  [ -x "$scratch/venv/bin/pytest" ] || { python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" -q install pytest pytest-json-report; } || return
  fresh pytest
  local run="$scratch/venv/bin/python -m pytest -p no:cacheprovider"
  printf 'def test_a(): assert 1 + 1 == 2\ndef test_b(): assert "x"\n' >test_pass.py
  printf 'def test_c(): assert 1 == 2\n' >test_fail.py
  cat >test_mixed.py <<'PY'
import pytest
def test_ok(): pass
def test_bad(): assert [1] == [2]
@pytest.mark.skip(reason="later")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def broken(): raise RuntimeError("fixture")
def test_error(broken): pass
PY
  printf 'x = 1\n' >test_none.py
  printf 'import not_a_module_anywhere\ndef test_x(): pass\n' >test_broken.py
  for case in pass fail mixed none broken; do
    capture pytest $case -- $run test_$case.py --junitxml=report.xml --json-report --json-report-file=report.json --json-report-omit environment collectors log
    report pytest $case report.xml; report pytest $case report.json; rm -f report.xml report.json
    capture pytest quiet_$case -- $run -q test_$case.py
  done
  capture pytest usage -- $run --no-such-option
  capture pytest filtered -- $run test_pass.py -k nothing_like_it
}

make_rspec() {
  begin rspec
  command -v rspec >/dev/null || return
  fresh rspec
  printf 'describe("sum") { it("adds") { expect(1 + 1).to eq 2 }; it("is true") { expect(true).to be true } }\n' >pass_spec.rb
  printf 'describe("sum") { it("adds") { expect(1 + 1).to eq 3 } }\n' >fail_spec.rb
  printf 'describe("sum") { it("adds") { expect(2).to eq 2 }; it("fails") { expect(2).to eq 3 }; xit("later") { } }\n' >mixed_spec.rb
  printf '# nothing here\n' >none_spec.rb
  printf 'require "not_a_gem_anywhere"\ndescribe("x") { it("y") { } }\n' >broken_spec.rb
  for case in pass fail mixed none broken; do
    capture rspec $case -- rspec --no-color ${case}_spec.rb --format progress --format json --out report.json
    report rspec $case report.json; rm -f report.json
  done
}

make_minitest() {
  begin minitest
  ruby -e 'require "minitest"' || return
  fresh minitest
  head='require "minitest/autorun"'
  printf '%s\nclass T < Minitest::Test; def test_a; assert true; end; def test_b; assert_equal 2, 1 + 1; end; end\n' "$head" >pass.rb
  printf '%s\nclass T < Minitest::Test; def test_a; assert false; end; end\n' "$head" >fail.rb
  printf '%s\nclass T < Minitest::Test; def test_a; assert true; end; def test_b; assert_equal 3, 2; end; def test_c; raise "x"; end; def test_d; skip "later"; end; end\n' "$head" >mixed.rb
  printf '%s\n' "$head" >none.rb
  printf '%s\nclass T < Minitest::Test; def test_a; end\n' "$head" >broken.rb
  for case in pass fail mixed none broken; do capture minitest $case -- ruby $case.rb --seed 1; done
}

rust_project() {
  rm -rf src tests; mkdir -p src tests
  printf '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[lib]\ndoctest = false\n[workspace]\n' >Cargo.toml
  printf '#[test]\nfn one() {}\n#[test]\nfn two() { assert_eq!(1 + 1, 2); }\n' >src/lib.rs
  case $1 in
    fail) printf '#[test]\nfn one() { assert_eq!(1, 2); }\n' >src/lib.rs ;;
    mixed) printf '#[test]\nfn passes() {}\n#[test]\n#[ignore]\nfn later() {}\n' >src/lib.rs
           printf '#[test]\nfn fails() { assert!(false, "no"); }\n#[test]\nfn also_passes() {}\n' >tests/second.rs ;;
    none) printf 'pub fn nothing() {}\n' >src/lib.rs ;;
    broken) printf '#[test]\nfn one() { let x: u32 = "text"; }\n' >src/lib.rs ;;
  esac
}

make_cargo() {
  begin cargo
  fresh cargo
  for case in pass fail mixed none broken; do
    rust_project $case; capture cargo $case -- cargo test --offline --no-fail-fast
  done
  rust_project pass; capture cargo filtered -- cargo test --offline nothing_like_it
}

make_nextest() {
  begin nextest
  cargo nextest --version >/dev/null || return
  fresh nextest
  mkdir -p .config; printf '[profile.default.junit]\npath = "junit.xml"\n' >.config/nextest.toml
  for case in pass fail mixed none broken; do
    rust_project $case; rm -rf target
    capture nextest $case -- cargo nextest run --offline --no-fail-fast
    report nextest $case target/nextest/default/junit.xml
  done
}

js_project() { # PREFIX of the import line
  printf '%s\ntest("adds", () => { expect(1 + 1).toBe(2); });\ntest("is", () => { expect(true).toBe(true); });\n' "$1" >pass.test.js
  printf '%s\ntest("adds", () => { expect(1 + 1).toBe(3); });\n' "$1" >fail.test.js
  printf '%s\ntest("adds", () => { expect(2).toBe(2); });\ntest("fails", () => { expect(2).toBe(3); });\ntest.skip("later", () => {});\n' "$1" >mixed.test.js
  printf '%s\nimport "./not-there-at-all.js";\ntest("x", () => {});\n' "$1" >broken.test.js
}

make_jest() {
  begin jest
  printf '{"name":"sample","private":true}\n' >package.json
  npm install --silent --no-audit --no-fund jest jest-junit >/dev/null 2>&1 || return
  fresh jest
  js_project ''; sed -i 's#import "./not-there#require("./not-there#; s#all.js";#all.js");#' broken.test.js
  for case in pass fail mixed none broken; do
    capture jest $case -- npx jest --reporters=default --reporters=jest-junit --outputFile=report.json $case.test
    report jest $case junit.xml; rm -f junit.xml
    npx jest --json --outputFile=report.json $case.test >/dev/null 2>&1; report jest $case report.json; rm -f report.json
  done
}

make_vitest() {
  begin vitest
  printf '{"name":"sample","private":true,"type":"module"}\n' >package.json
  npm install --silent --no-audit --no-fund vitest@3 >/dev/null 2>&1 || return
  fresh vitest
  js_project 'import { test, expect } from "vitest";'
  for case in pass fail mixed none broken; do
    capture vitest $case -- npx vitest run --reporter=default --reporter=junit --reporter=json --outputFile.junit=report.xml --outputFile.json=report.json $case.test
    report vitest $case report.xml; report vitest $case report.json; rm -f report.xml report.json
  done
}

make_go() {
  begin go
  if ! command -v go >/dev/null && [ ! -x "$scratch/gotree/usr/lib/go-1.19/bin/go" ]; then
    (cd "$scratch" && apt-get download -q golang-1.19-go golang-1.19-src >/dev/null 2>&1 && for deb in golang*.deb; do dpkg -x "$deb" gotree; done) || return
  fi
  if [ -d "$scratch/gotree" ]; then
    export GOROOT="$scratch/goroot" PATH="$scratch/goroot/bin:$PATH"
    [ -d "$GOROOT" ] || { cp -rL "$scratch/gotree/usr/lib/go-1.19" "$GOROOT" 2>/dev/null; cp -r "$scratch/gotree/usr/share/go-1.19/." "$GOROOT/"; }
  fi
  command -v go >/dev/null || return
  fresh go
  export GOCACHE="$scratch/gocache" GOPATH="$scratch/gopath" GOFLAGS=-mod=mod GO111MODULE=on CGO_ENABLED=0
  printf 'module sample\n\ngo 1.19\n' >go.mod
  mkdir -p pass fail mixed none broken
  go_file() { printf 'package %s\n\nimport "testing"\n\n%b' "$1" "$2" >"$1/x_test.go"; }
  go_file pass 'func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n'
  go_file fail 'func TestA(t *testing.T) { t.Fatal("no") }\n'
  go_file mixed 'func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Run("inner", func(t *testing.T) { t.Error("no") }) }\nfunc TestC(t *testing.T) { t.Skip("later") }\n'
  printf 'package none\n' >none/x.go
  go_file broken 'func TestA(t *testing.T) { undefined() }\n'
  for case in pass fail mixed none broken; do
    capture go $case -- go test -count=1 ./$case
    capture go verbose_$case -- go test -count=1 -v ./$case
    go test -count=1 -json ./$case 2>/dev/null | scrub >"$here/go/$case.json"
  done
  capture go all -- go test -count=1 ./pass ./mixed ./none
}

tools=("$@"); [ ${#tools[@]} -gt 0 ] || tools=(pytest rspec minitest cargo nextest jest vitest go)
for tool in "${tools[@]}"; do "make_$tool"; done
[ -n "${CORPUS_SCRATCH:-}" ] || rm -rf "$scratch"
