//! Command lines and what they start: `runner ⇥ command`; `?` for what may run tests, `-` for what runs none.
//!
//! `commands.tsv` was made up to cover what shells and runners allow. `real_commands.tsv` comes from CI files, package
//! scripts, makefiles and tox files of published packages, and was labelled by reading them. Of the real ones a half,
//! chosen by a hash of the command, is held out: the reading was changed by looking at the other half only.

use proctor_journal::capture::CommandReading;

use crate::support::is_held_out;

const MADE_UP: &str = include_str!("../corpus/commands.tsv");
const REAL: &str = include_str!("../corpus/real_commands.tsv");
/// More real ones, labelled after the reading was finished; nothing was changed for them.
const UNSEEN: &str = include_str!("../corpus/unseen_commands.tsv");

fn shown(reading: &CommandReading) -> String {
    match (reading.runners().next(), reading.unknown()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(_)) => "?".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

fn read(line: &str) -> String {
    shown(&CommandReading::of_line(line))
}

fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with("//")).map(|line| {
        let (expected, command) = line.split_once('\t').unwrap_or_else(|| panic!("{line}"));
        (expected, command.replace("\\n", "\n"))
    })
}

#[test]
fn v10_every_made_up_command_is_read_right() {
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (expected, command) in rows(MADE_UP).chain(rows(REAL)).chain(rows(UNSEEN)) {
        assert!(seen.insert(command.clone()), "twice: {command}");
        let found = read(&command);
        if found != expected && rows(MADE_UP).any(|(_, made_up)| made_up == command) {
            wrong.push(format!("{command}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() >= 300, "{}", seen.len());
}

/// What is called a test runner is that runner, and what is said to run no tests runs none. Where nothing is said (`?`),
/// nothing can be wrong: such a command decides only by the numbers it prints.
#[test]
fn v10_no_real_command_is_taken_for_another() {
    let mut wrong = Vec::new();
    let half = |wanted: bool| rows(REAL).filter(move |row| is_held_out(&row.1) == wanted).collect();
    let sets: [(&str, Vec<_>); 3] =
        [("tuned", half(false)), ("held out", half(true)), ("unseen", rows(UNSEEN).collect())];
    for (name, rows) in sets {
        let (mut open, mut exact) = (0, 0);
        for (expected, command) in &rows {
            match read(command) {
                found if found == *expected => exact += 1,
                found if found == "?" => open += 1,
                found => wrong.push(format!("{name}: {command}: {found}, not {expected}")),
            }
        }
        eprintln!("{name}: {} commands, {exact} exact, {open} said to be unknown", rows.len());
        assert!(rows.len() >= 50 && open * 5 < rows.len(), "{name}: {open}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Quoting a command, or putting it behind `echo`, `git commit -m` or `#`, runs nothing; wrapping it runs it.
#[test]
fn v10_wrapping_and_quoting_are_told_apart() {
    for (_, command) in rows(MADE_UP).chain(rows(REAL)).chain(rows(UNSEEN)) {
        if command.contains(['\'', '\\', '#', '<', '`', '\n']) || command.ends_with(';') {
            continue;
        }
        let expected = read(&command);
        for wrapped in [
            format!("sh -c '{command}'"),
            format!("cd app && {command}"),
            format!("({command}) 2>&1 | tee log"),
            format!("if {command}; then echo ok; fi"),
            format!("set -e\n{command}\necho done"),
            format!("x=$({command})"),
            format!("{{ {command}; }}"),
            format!("bash -euo pipefail -c '{command} | tail -3'"),
        ] {
            assert_eq!(read(&wrapped), expected, "{wrapped}");
        }
        for quoted in [
            format!("echo '{command}'"),
            format!("git commit -m '{command}'"),
            format!("ls # {command}"),
            format!("cat <<'EOF' > run.txt\n{command}\nEOF"),
            format!("grep -rn '{command}' ."),
            format!("printf '%s' '{command}' > run.sh"),
        ] {
            assert_eq!(read(&quoted), "-", "{quoted}");
        }
    }
}

#[test]
fn words_are_not_a_line() {
    let of = |words: &[&str]| {
        shown(&CommandReading::of_words(
            &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(),
        ))
    };
    assert_eq!(of(&["pytest", "-k", "a; rm"]), "pytest");
    assert_eq!(of(&["echo", "x; pytest"]), "-");
    assert_eq!(of(&["sh", "-c", "pytest FAILING | head -1"]), "pytest");
    assert_eq!(of(&[]), "-");
}

/// The value of an option is no request for help.
#[test]
fn a_test_called_help_is_run() {
    assert_eq!(read("pytest -k help"), "pytest");
    assert_eq!(read("cargo test help"), "cargo test");
    assert_eq!(read("go test -run Version ./..."), "go test");
    assert_eq!(read("go help test"), "-");
    assert_eq!(read("vitest run list"), "vitest");
}
