//! Whether a command runs tests, and with what.
//!
//! Every command of the line is looked at, behind whatever wraps it. Asking for help, versions, lists or builds is no
//! run; neither is a runner's name in quotes, comments, file names or behind `install`. What a `make` target or a script
//! does cannot be seen from here.

mod shell;

/// What is known of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandReading {
    /// It starts this test runner.
    Tests(&'static str),
    /// It starts something that may run tests.
    Unknown(String),
    /// It runs no tests.
    NoTests,
}

impl CommandReading {
    /// What a line for a shell does.
    pub fn of_line(line: &str) -> Self {
        Self::of_all(&shell::commands(line), DEEPEST)
    }

    /// What a program with its arguments does.
    pub fn of_words(words: &[String]) -> Self {
        of(&words.iter().map(String::as_str).collect::<Vec<_>>(), DEEPEST)
    }

    fn of_all(commands: &[Vec<String>], depth: usize) -> Self {
        let readings = commands
            .iter()
            .map(|words| of(&words.iter().map(String::as_str).collect::<Vec<_>>(), depth));
        let mut best = Self::NoTests;
        for reading in readings {
            match (&best, reading) {
                (_, found @ Self::Tests(_)) => return found,
                (Self::NoTests, found @ Self::Unknown(_)) => best = found,
                _ => {}
            }
        }
        best
    }
}

use CommandReading::{NoTests, Tests, Unknown};

/// How many wrappers may stand around a command.
const DEEPEST: usize = 12;

/// A runner: its programs, the words that make it run tests (none: it always does), what keeps it from running any.
struct Runner {
    name: &'static str,
    programs: &'static [&'static str],
    verbs: &'static [&'static str],
    idle: &'static [&'static str],
}

const fn runner(
    name: &'static str,
    programs: &'static [&'static str],
    verbs: &'static [&'static str],
    idle: &'static [&'static str],
) -> Runner {
    Runner { name, programs, verbs, idle }
}

/// What keeps every runner from running.
const ALWAYS_IDLE: [&str; 4] = ["--version", "--help", "-h", "help"];

const RUNNERS: &[Runner] = &[
    runner(
        "pytest",
        &["pytest", "py.test", "pytest-3"],
        &[],
        &[
            "-V",
            "--collect-only",
            "--co",
            "--collectonly",
            "--fixtures",
            "--funcargs",
            "--fixtures-per-test",
            "--markers",
            "--setup-plan",
            "--setupplan",
            "--cache-show",
            "--trace-config",
        ],
    ),
    runner(
        "jest",
        &["jest"],
        &[],
        &["-v", "--listTests", "--showConfig", "--clearCache", "--init", "--listFailedTests"],
    ),
    runner("vitest", &["vitest"], &[], &["-v", "list", "init", "bench", "--mergeReports"]),
    runner("mocha", &["mocha", "_mocha"], &[], &["-V", "--dry-run", "--list-files"]),
    runner("ava", &["ava"], &[], &[]),
    runner("jasmine", &["jasmine"], &[], &["-v", "init", "examples", "enumerate"]),
    runner("tap", &["tap"], &[], &["list", "build", "dump-config", "versions"]),
    runner("playwright", &["playwright"], &["test"], &["--list", "-V"]),
    runner("cypress", &["cypress"], &["run"], &["-v"]),
    runner("karma", &["karma"], &["start"], &[]),
    runner("rspec", &["rspec"], &[], &["-v", "--dry-run", "--init"]),
    runner("cucumber", &["cucumber"], &[], &["--dry-run", "-d", "--init"]),
    runner("minitest", &["minitest"], &[], &[]),
    runner("rails test", &["rails"], &["test", "test:all", "test:system", "spec"], &[]),
    runner("go test", &["go"], &["test"], &["-c", "-n", "-list", "--list"]),
    runner("go test", &["gotestsum", "ginkgo"], &[], &["--dry-run", "version", "outline"]),
    runner(
        "phpunit",
        &["phpunit", "paratest", "pest"],
        &[],
        &["--list-tests", "--list-suites", "--list-groups"],
    ),
    runner("dotnet test", &["dotnet"], &["test", "vstest"], &["--list-tests", "-t", "-lt"]),
    runner("swift test", &["swift"], &["test"], &["list"]),
    runner("mix test", &["mix"], &["test"], &[]),
    runner("flutter test", &["flutter", "dart"], &["test"], &[]),
    runner("deno test", &["deno"], &["test"], &["--no-run"]),
    runner("bun test", &["bun"], &["test"], &[]),
    runner("ctest", &["ctest"], &[], &["-N", "--show-only", "--print-labels"]),
    runner(
        "tox",
        &["tox"],
        &[],
        &["-l", "-a", "--listenvs", "list", "config", "--notest", "-n", "devenv"],
    ),
    runner("nox", &["nox"], &[], &["-l", "--list", "--list-sessions", "--install-only"]),
    runner("nose2", &["nose2"], &[], &[]),
    runner("behave", &["behave"], &[], &["--dry-run", "-d", "--steps-catalog"]),
    runner("bats", &["bats"], &[], &["-c", "--count"]),
    runner(
        "maven",
        &["mvn", "mvnw"],
        &["test", "verify", "integration-test", "surefire:test"],
        &["-DskipTests", "-Dmaven.test.skip=true", "-DskipTests=true", "-v"],
    ),
    runner(
        "gradle",
        &["gradle", "gradlew"],
        &["test", "check", "build"],
        &["-m", "--dry-run", "-v"],
    ),
    runner("proctor", &["proctor"], &["run", "rejudge"], &["--dry-run"]),
];

/// Programs that start others by name, whose rules nobody here knows.
const BUILDERS: [&str; 19] = [
    "make", "gmake", "just", "task", "rake", "invoke", "inv", "ninja", "bazel", "bazelisk", "sbt",
    "ant", "nx", "turbo", "lerna", "grunt", "gulp", "meson", "scons",
];
/// What keeps these from building.
const BUILDER_IDLE: [&str; 9] =
    ["-n", "--dry-run", "--just-print", "-q", "--question", "-T", "--tasks", "-l", "--list"];

/// What a simple command does.
fn of(words: &[&str], depth: usize) -> CommandReading {
    let (Some(depth), Some((first, rest))) = (depth.checked_sub(1), words.split_first()) else {
        return NoTests;
    };
    if is_assignment(first)
        || ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "&&"]
            .contains(first)
    {
        return of(rest, depth);
    }
    let program = program(first);
    match program.as_str() {
        "env" | "cross-env" | "dotenv" => {
            of(after_options(rest, &["-u", "-C", "-S", "-e", "-f"]), depth)
        }
        "sudo" | "doas" => of(after_options(rest, &["-u", "-g", "-p", "-h", "-C", "-U"]), depth),
        "command" if rest.first().is_some_and(|flag| ["-v", "-V"].contains(flag)) => NoTests,
        "nohup" | "exec" | "command" | "builtin" | "setsid" | "stdbuf" | "chronic" | "unbuffer"
        | "caffeinate" | "chrt" | "catchsegv" | "tsp" => of(after_options(rest, &[]), depth),
        "nyc" | "c8" => of(after_options(rest, &["-r", "--reporter", "-n", "-x"]), depth),
        "nice" | "ionice" => of(after_options(rest, &["-n", "-c", "-p"]), depth),
        "xvfb-run" => of(after_options(rest, &["-s", "-e", "-f", "-n", "-p", "-w"]), depth),
        "timeout" | "gtimeout" => {
            of(after_options(rest, &["-s", "-k"]).get(1..).unwrap_or_default(), depth)
        }
        "bundle" => behind(rest, &["exec"], depth),
        "npx" | "bunx" | "pnpx" | "uvx" => of_package(rest, depth),
        "npm" | "pnpm" | "yarn" => of_package_manager(&program, rest, depth),
        "bun" if rest.first().is_some_and(|verb| ["x", "run"].contains(verb)) => {
            of_package_manager("bun", rest, depth)
        }
        "uv" | "poetry" | "pipenv" | "rye" | "hatch" | "pdm" | "pixi" | "conda" | "mamba"
        | "micromamba" => of_environment(&program, rest, depth),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => of_shell(rest, depth),
        "eval" => CommandReading::of_all(&shell::commands(&rest.join(" ")), depth),
        "xargs" => {
            of(after_options(rest, &["-n", "-P", "-I", "-L", "-d", "-a", "-s", "-E"]), depth)
        }
        "coverage" | "kcov" => match rest.split_first() {
            Some((&"run", rest)) => of_python(rest, depth),
            _ => NoTests,
        },
        "ruby" | "jruby" => of_ruby(rest, depth),
        "node" | "nodejs" | "tsx" | "ts-node" => of_node(rest, depth),
        "cargo" => of_cargo(rest),
        "docker" | "podman" | "docker-compose" | "kubectl" | "ssh" | "vagrant" | "heroku"
        | "act" => inside(&program, rest, depth),
        name if name.starts_with("python") || name.starts_with("pypy") => of_python(rest, depth),
        name if BUILDERS.contains(&name) => {
            let idle = rest.iter().any(|word| is_idle(word) || BUILDER_IDLE.contains(word));
            if idle { NoTests } else { Unknown(words.join(" ")) }
        }
        name => direct(name, first, rest),
    }
}

/// A runner by its own name, or a script.
fn direct(name: &str, path: &str, arguments: &[&str]) -> CommandReading {
    let known = RUNNERS.iter().find(|runner| {
        runner.programs.contains(&name)
            && (runner.verbs.is_empty()
                || verbs(arguments).any(|word| runner.verbs.contains(&word)))
    });
    if let Some(runner) = known {
        let own = arguments.iter().take_while(|word| **word != "--");
        let idle = own.clone().any(|word| {
            is_idle(word)
                || runner.idle.contains(word)
                || word.split_once('=').is_some_and(|(flag, _)| runner.idle.contains(&flag))
        });
        return if idle { NoTests } else { Tests(runner.name) };
    }
    let is_script =
        path.contains('/') || name.rsplit_once('.').is_some_and(|(_, ending)| ending == "sh");
    let may_test = ["test", "spec", "check", "ci"].iter().any(|word| name.contains(word));
    if is_script && may_test && !arguments.iter().any(|word| is_idle(word)) {
        return Unknown(path.to_owned());
    }
    NoTests
}

fn is_idle(word: &str) -> bool {
    ALWAYS_IDLE.contains(&word)
}

/// The words that are no options.
fn verbs<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    words.iter().copied().filter(|word| !word.starts_with('-'))
}

/// The name of a program without its folder, version and ending.
fn program(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name =
        name.split_once('@').filter(|(name, _)| !name.is_empty()).map_or(name, |(name, _)| name);
    [".js", ".mjs", ".cjs", ".cmd", ".exe", ".phar"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name)
        .to_owned()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// What follows the options; some take a word of their own.
fn after_options<'a, 'b>(words: &'b [&'a str], with_value: &[&str]) -> &'b [&'a str] {
    let mut place = 0;
    while let Some(word) = words.get(place).filter(|word| word.starts_with('-')) {
        place += 1;
        if *word == "--" {
            break;
        }
        place += usize::from(with_value.contains(word));
    }
    words.get(place..).unwrap_or_default()
}

/// What stands behind one of these words.
fn behind(words: &[&str], verbs: &[&str], depth: usize) -> CommandReading {
    match words.split_first() {
        Some((verb, rest)) if verbs.contains(verb) => of(after_options(rest, &[]), depth),
        _ => NoTests,
    }
}

fn of_package(words: &[&str], depth: usize) -> CommandReading {
    if let Some(place) = words.iter().position(|word| ["-c", "--call"].contains(word)) {
        let line = words.get(place + 1).copied().unwrap_or_default();
        return CommandReading::of_all(&shell::commands(line), depth);
    }
    of(after_options(words, &["-p", "--package", "--from", "--with", "--python"]), depth)
}

fn of_package_manager(name: &str, words: &[&str], depth: usize) -> CommandReading {
    let words =
        after_options(words, &["--prefix", "-C", "--filter", "-F", "--cwd", "-w", "--workspace"]);
    match words.split_first() {
        Some((&("exec" | "dlx" | "x"), rest)) => of_package(rest, depth),
        Some((&"workspace", [_, rest @ ..])) => of_package_manager(name, rest, depth),
        Some((&("run" | "run-script" | "test" | "t" | "tst"), rest)) => {
            if rest.iter().any(|word| is_idle(word))
                || (words[0].starts_with("run") && rest.is_empty())
            {
                return NoTests;
            }
            Unknown(format!("{name} {}", words.join(" ")))
        }
        // `yarn jest` starts a program or a script of that name.
        Some((verb, _)) if name != "npm" => match of(words, depth) {
            NoTests if verb.starts_with("test") => Unknown(format!("{name} {verb}")),
            reading => reading,
        },
        _ => NoTests,
    }
}

/// Python's and other environments: `uv run …`, `poetry run …`.
fn of_environment(name: &str, words: &[&str], depth: usize) -> CommandReading {
    let with_value = [
        "--with",
        "-p",
        "--python",
        "--extra",
        "--group",
        "--directory",
        "--project",
        "-e",
        "-n",
        "--env",
        "-C",
        "--env-file",
        "--only-group",
        "--with-requirements",
        "--name",
    ];
    match words.split_first() {
        Some((&"run", rest)) => {
            let module = rest.iter().position(|word| ["-m", "--module"].contains(word));
            match module.filter(|place| rest[..*place].iter().all(|word| word.starts_with('-'))) {
                Some(place) => of_python(&rest[place..], depth),
                None => of(after_options(rest, &with_value), depth),
            }
        }
        Some((&"tool", ["run", rest @ ..])) => of_package(rest, depth),
        Some((&"test", _)) if name == "hatch" => Unknown("hatch test".to_owned()),
        _ => NoTests,
    }
}

fn of_shell(words: &[&str], depth: usize) -> CommandReading {
    let is_line =
        |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    if let Some(place) =
        words.iter().take_while(|word| word.starts_with('-')).position(|word| is_line(&word))
    {
        let line = words.get(place + 1).copied().unwrap_or_default();
        return CommandReading::of_all(&shell::commands(line), depth);
    }
    match after_options(words, &["-o", "+o"]).first() {
        Some(script) => Unknown((*script).to_owned()),
        None => NoTests,
    }
}

fn of_python(words: &[&str], depth: usize) -> CommandReading {
    let mut rest = words;
    while let Some((word, more)) = rest.split_first() {
        match *word {
            "-m" => {
                return match more.split_first() {
                    Some((&"unittest", arguments)) => {
                        let idle = arguments.iter().any(|word| is_idle(word));
                        if idle { NoTests } else { Tests("unittest") }
                    }
                    Some((&("pip" | "venv" | "build"), _)) | None => NoTests,
                    Some(_) => of(more, depth),
                };
            }
            "-c" => return NoTests,
            "-X" | "-W" => rest = more.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest = more,
            script => {
                let name = program(script);
                let runs = ["pytest", "py.test"].contains(&name.as_str());
                let tests = name.contains("test") || more.first() == Some(&"test");
                return match (runs, tests) {
                    (true, _) => of(rest, depth),
                    (false, true) if !more.iter().any(|word| is_idle(word)) => {
                        Unknown(script.to_owned())
                    }
                    _ => NoTests,
                };
            }
        }
    }
    NoTests
}

fn of_ruby(words: &[&str], depth: usize) -> CommandReading {
    if let Some(place) = words.iter().position(|word| *word == "-S") {
        return of(&words[place + 1..], depth);
    }
    if words.contains(&"-c") || words.contains(&"-v") || words.iter().any(|word| is_idle(word)) {
        return NoTests;
    }
    let is_test = |word: &&str| word.ends_with("_test.rb") || word.contains("/test_");
    match after_options(words, &["-I", "-r", "-C"]).first() {
        Some(script) if is_test(script) => Tests("minitest"),
        Some(script) if program(script) == "rspec" => of(&["rspec"], depth),
        Some(script) if script.contains("test") => Unknown((*script).to_owned()),
        _ if words.contains(&"-e") && words.iter().any(|word| word.contains("_test.rb")) => {
            Tests("minitest")
        }
        _ => NoTests,
    }
}

fn of_node(words: &[&str], depth: usize) -> CommandReading {
    let is_test =
        words.iter().take_while(|word| word.starts_with('-')).any(|word| *word == "--test");
    if is_test {
        return Tests("node --test");
    }
    let script = after_options(words, &["-r", "--require", "--import", "--loader", "-C"]);
    match script.first() {
        Some(path) if path.contains("node_modules") || path.contains("/bin/") => of(script, depth),
        Some(path) if program(path).contains("test") => Unknown((*path).to_owned()),
        _ => NoTests,
    }
}

fn of_cargo(words: &[&str]) -> CommandReading {
    let words = match words.split_first() {
        Some((first, rest)) if first.starts_with('+') => rest,
        _ => words,
    };
    let words = after_options(words, &["-Z", "--config", "-C", "--color"]);
    let Some((verb, rest)) = words.split_first() else { return NoTests };
    let listed = rest.iter().any(|word| is_idle(word) || ["--no-run", "--list"].contains(word));
    let first = verbs(rest).next().unwrap_or_default();
    match *verb {
        "test" | "t" | "tarpaulin" if !listed => Tests("cargo test"),
        "nextest" if ["run", "r"].contains(&first) && !listed => Tests("nextest"),
        "miri" if ["test", "t", "nextest"].contains(&first) && !listed => Tests("cargo test"),
        "llvm-cov" if !listed && !["report", "clean", "show-env"].contains(&first) => {
            Tests(if first == "nextest" { "nextest" } else { "cargo test" })
        }
        "watch" | "make" | "xtask" => Unknown(format!("cargo {}", words.join(" "))),
        _ => NoTests,
    }
}

/// A command elsewhere: who names a runner there may run it.
fn inside(program: &str, words: &[&str], depth: usize) -> CommandReading {
    let starts = ["run", "exec", "-c"].iter().any(|verb| words.contains(verb)) || program == "ssh";
    let found = (0..words.len()).any(|place| of(&words[place..], depth.min(3)) != NoTests);
    if starts && found { Unknown(format!("{program} {}", words.join(" "))) } else { NoTests }
}

#[cfg(test)]
mod tests;
