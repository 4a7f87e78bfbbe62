use super::*;

/// `runner ⇥ command`; `?` for what may run tests, `-` for what does not.
const CORPUS: &str = include_str!("corpus.tsv");

fn shown(reading: &CommandReading) -> String {
    match reading {
        Tests(name) => (*name).to_owned(),
        Unknown(_) => "?".to_owned(),
        NoTests => "-".to_owned(),
    }
}

#[test]
fn v10_every_command_of_the_corpus_is_read_right() {
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for line in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (expected, command) = line.split_once('\t').unwrap_or_else(|| panic!("{line}"));
        let command = command.replace("\\n", "\n");
        assert!(seen.insert(command.clone()), "twice: {command}");
        let found = shown(&CommandReading::of_line(&command));
        if found != expected {
            wrong.push(format!("{command}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Quoting a runner's whole command, or putting it behind `echo`, `git commit -m` or `#`, runs nothing; wrapping it runs it.
#[test]
fn v10_wrapping_and_quoting_are_told_apart() {
    for line in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (expected, command) = line.split_once('\t').unwrap();
        if expected == "?" || command.contains(['\'', '\\', '#', '<']) {
            continue;
        }
        let reading = |line: String| shown(&CommandReading::of_line(&line));
        for wrapped in [
            format!("sh -c '{command}'"),
            format!("cd app && {command}"),
            format!("({command}) 2>&1 | tee log"),
            format!("if {command}; then echo ok; fi"),
            format!("set -e\n{command}\necho done"),
            format!("x=$({command})"),
        ] {
            assert_eq!(reading(wrapped.clone()), expected, "{wrapped}");
        }
        for quoted in [
            format!("echo '{command}'"),
            format!("git commit -m '{command}'"),
            format!("ls # {command}"),
            format!("cat <<'EOF' > run.txt\n{command}\nEOF"),
            format!("grep -rn '{command}' ."),
        ] {
            assert_eq!(reading(quoted.clone()), "-", "{quoted}");
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
