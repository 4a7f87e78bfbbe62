//! Which test runners a command line starts.
//!
//! Every command of the line is looked at, behind whatever wraps it. Asking for help, versions, lists or builds is no
//! run; neither is a runner's name in quotes, comments, file names or behind `install`. What a `make` target or a script
//! does cannot be seen from here.

mod languages;
mod lexer;
mod runners;
mod shell;

use languages::{of_cargo, of_node, of_perl, of_php, of_python, of_ruby};
use runners::{direct, is_idle};
use shell::ShellOptions;

/// What a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// This test runner.
    Runner(&'static str),
    /// Something that may run tests: a build tool, a script, a command on another machine.
    Unknown,
}

/// A program that runs tests, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedProgram {
    /// What it is.
    pub program: Program,
    /// Its command, as it stands in the line, without what wraps it.
    pub words: Vec<String>,
    /// Whether the line ends with exit code 0 only if this program did. Behind a pipe or before `;` it does not.
    pub sets_exit: bool,
}

impl StartedProgram {
    fn one<'a>(program: Program, words: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let words = words.into_iter().map(ToOwned::to_owned).collect();
        vec![Self { program, words, sets_exit: true }]
    }
}

/// The test programs that a command line starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReading {
    /// Everything in it that runs tests, or may; empty where it certainly runs none.
    pub started: Vec<StartedProgram>,
}

impl CommandReading {
    /// Reads a line for a shell.
    pub fn of_line(line: &str) -> Self {
        Self { started: of_line(line, ShellOptions::default(), MAX_WRAPPERS) }
    }

    /// Reads a program with its arguments.
    pub fn of_words(words: &[String]) -> Self {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Self { started: of(&words, MAX_WRAPPERS) }
    }

    /// Whether it runs no tests.
    pub fn runs_no_tests(&self) -> bool {
        self.started.is_empty()
    }

    /// The test runners it starts.
    pub fn runners(&self) -> impl Iterator<Item = &'static str> {
        self.started.iter().filter_map(|started| match started.program {
            Program::Runner(name) => Some(name),
            Program::Unknown => None,
        })
    }

    /// The first command that may run tests without being a known runner.
    pub fn unknown(&self) -> Option<String> {
        let mut started = self.started.iter();
        started.find(|it| it.program == Program::Unknown).map(|it| it.words.join(" "))
    }

    /// Whether exit code 0 means that everything it started ended with 0.
    pub fn exit_code_covers_all(&self) -> bool {
        self.started.iter().all(|started| started.sets_exit)
    }
}

use Program::Unknown;

/// How many wrappers around a command are followed.
const MAX_WRAPPERS: usize = 12;

fn of_line(line: &str, options: ShellOptions, depth: usize) -> Vec<StartedProgram> {
    let mut found = Vec::new();
    for command in shell::commands(line, options) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let mut started = of(&words, depth);
        for each in &mut started {
            each.sets_exit &= command.sets_exit;
        }
        found.append(&mut started);
    }
    found
}

/// Marks programs whose result the exit code of the line does not include.
fn without_exit_code(mut started: Vec<StartedProgram>) -> Vec<StartedProgram> {
    for each in &mut started {
        each.sets_exit = false;
    }
    started
}

/// What a simple command does.
fn of(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let (Some(depth), Some((first, rest))) = (depth.checked_sub(1), words.split_first()) else {
        return Vec::new();
    };
    if is_assignment(first) {
        return of(rest, depth);
    }
    let program = program(first);
    match program.as_str() {
        "env" | "cross-env" | "dotenv" | "cross-env-shell" => {
            of(after_options(rest, &["-u", "-C", "-S", "-e", "-f"]), depth)
        }
        "sudo" | "doas" => of(after_options(rest, &["-u", "-g", "-p", "-h", "-C", "-U"]), depth),
        "command" if rest.first().is_some_and(|flag| ["-v", "-V"].contains(flag)) => Vec::new(),
        "nohup" | "exec" | "command" | "builtin" | "setsid" | "stdbuf" | "chronic" | "unbuffer"
        | "caffeinate" | "chrt" | "catchsegv" | "time" | "strace" | "ltrace"
        | "dbus-run-session" | "retry" | "faketime" => {
            of(after_options(rest, &["-o", "-e", "-f"]), depth)
        }
        "nyc" | "c8" => of(after_options(rest, &["-r", "--reporter", "-n", "-x"]), depth),
        "nice" | "ionice" | "taskset" => of(after_options(rest, &["-n", "-c", "-p"]), depth),
        "xvfb-run" => of(after_options(rest, &["-s", "-e", "-f", "-n", "-p", "-w"]), depth),
        "timeout" | "gtimeout" => {
            of(after_options(rest, &["-s", "-k"]).get(1..).unwrap_or_default(), depth)
        }
        "bundle" | "rbenv" | "pyenv" | "asdf" | "mise" | "direnv" => of_exec(&program, rest, depth),
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" => of_package(&program, rest, depth),
        "npm" | "pnpm" | "yarn" => of_package_manager(&program, rest, depth),
        "bun" if rest.first().is_some_and(|verb| ["x", "run"].contains(verb)) => {
            of_package_manager("bun", rest, depth)
        }
        "uv" | "poetry" | "pipenv" | "rye" | "hatch" | "pdm" | "pixi" | "conda" | "mamba"
        | "micromamba" => of_environment(&program, rest, depth),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => of_shell(words, depth),
        "eval" => of_line(&rest.join(" "), ShellOptions::default(), depth),
        "source" | "." if !rest.is_empty() => of_sourced(words),
        "xargs" => {
            of(after_options(rest, &["-n", "-P", "-I", "-L", "-d", "-a", "-s", "-E"]), depth)
        }
        "find" | "fd" => of_find(rest, depth),
        "coverage" | "kcov" => match rest.split_first() {
            Some((&"run", rest)) => of_python(rest, depth),
            _ => Vec::new(),
        },
        "ruby" | "jruby" => of_ruby(words, depth),
        "node" | "nodejs" | "tsx" | "ts-node" => of_node(words, depth),
        "php" => of_php(words, depth),
        "perl" => of_perl(words),
        "cargo" | "cross" => of_cargo(words),
        "go" | "deno" if rest.first() == Some(&"run") => {
            StartedProgram::one(Unknown, words.iter().copied())
        }
        "docker" | "podman" | "docker-compose" | "kubectl" | "ssh" | "vagrant" | "heroku"
        | "act" | "watch" | "script" | "parallel" | "entr" | "nodemon" | "ptw" | "watchexec"
        | "tmux" | "screen" | "systemd-run" | "qemu" | "wsl" | "flatpak" | "nix" | "nix-shell"
        | "devcontainer" | "lima" | "schroot" | "chroot" => possible_programs(words),
        name if name.starts_with("python") || name.starts_with("pypy") => of_python(rest, depth),
        name => direct(name, first, rest),
    }
}

/// The words that are not options.
fn verbs<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    words.iter().copied().filter(|word| !word.starts_with('-'))
}

/// Whether the first word is one of these. A word behind an option may be its value; then the next one counts too.
fn has_verb(words: &[&str], wanted: &[&str]) -> bool {
    let mut behind_option = false;
    for word in words {
        if word.starts_with('-') {
            behind_option = !word.contains('=');
            continue;
        }
        if wanted.contains(word) {
            return true;
        }
        if !behind_option {
            return false;
        }
        behind_option = false;
    }
    false
}

/// The name of a program without its folder, version and ending.
fn program(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name =
        name.split_once('@').filter(|(name, _)| !name.is_empty()).map_or(name, |(name, _)| name);
    [".js", ".mjs", ".cjs", ".cmd", ".exe", ".phar", ".bat"]
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

/// `bundle exec …` and its like.
fn of_exec(name: &str, words: &[&str], depth: usize) -> Vec<StartedProgram> {
    match words.split_first() {
        Some((&("exec" | "x"), rest)) => {
            let rest = after_options(rest, &[]);
            // `mise exec node@20 -- …`, `direnv exec . …`
            match (name, rest.iter().position(|word| *word == "--")) {
                ("mise", Some(place)) => of(&rest[place + 1..], depth),
                ("direnv", _) => of(rest.get(1..).unwrap_or_default(), depth),
                _ => of(rest, depth),
            }
        }
        _ => Vec::new(),
    }
}

fn of_package(name: &str, words: &[&str], depth: usize) -> Vec<StartedProgram> {
    if let Some(place) = words.iter().position(|word| ["-c", "--call"].contains(word)) {
        let line = words.get(place + 1).copied().unwrap_or_default();
        return of_line(line, ShellOptions::default(), depth);
    }
    let words = match (name, words.split_first()) {
        ("pipx", Some((&"run", rest))) => rest,
        ("pipx", _) => return Vec::new(),
        _ => words,
    };
    of(after_options(words, &["-p", "--package", "--from", "--with", "--python", "--spec"]), depth)
}

/// Words of package managers that run nothing of the project's.
const MANAGER_VERBS: [&str; 36] = [
    "add", "install", "i", "ci", "remove", "rm", "why", "init", "publish", "ls", "list", "info",
    "view", "outdated", "audit", "config", "cache", "link", "unlink", "import", "create",
    "upgrade", "up", "update", "version", "versions", "pack", "login", "logout", "whoami",
    "dedupe", "fetch", "prune", "rebuild", "help", "bin",
];

fn of_package_manager(name: &str, words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let with_value =
        ["--prefix", "-C", "--filter", "-F", "--cwd", "-w", "--workspace", "--dir", "--loglevel"];
    let words = after_options(words, &with_value);
    let whole = || std::iter::once(name).chain(words.iter().copied());
    match words.split_first() {
        Some((&("exec" | "dlx" | "x"), rest)) => of_package(name, rest, depth),
        Some((&"workspace", [_, rest @ ..])) => of_package_manager(name, rest, depth),
        Some((&("workspaces" | "foreach"), rest)) => {
            let place = rest.iter().position(|word| ["run", "foreach"].contains(word));
            place.map_or_else(Vec::new, |place| of_package_manager(name, &rest[place..], depth))
        }
        Some((
            &verb @ ("run" | "run-script" | "rum" | "urn" | "test" | "t" | "tst" | "it"
            | "install-test" | "cit" | "start"),
            rest,
        )) => {
            let idle = rest.iter().take_while(|word| **word != "--").any(|word| is_idle(word));
            let lists = verb.starts_with("ru") && verbs(rest).next().is_none();
            if idle || lists { Vec::new() } else { StartedProgram::one(Unknown, whole()) }
        }
        // `yarn jest` starts a program or a script of that name.
        Some((verb, _)) if name != "npm" && !MANAGER_VERBS.contains(verb) => of(words, depth),
        _ => Vec::new(),
    }
}

/// Python's and other environments: `uv run …`, `poetry run …`.
fn of_environment(name: &str, words: &[&str], depth: usize) -> Vec<StartedProgram> {
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
        "--manifest-path",
        "--prefix",
        "--package",
    ];
    let words = after_options(words, &with_value);
    match words.split_first() {
        Some((&"run", rest)) => {
            let module = rest.iter().position(|word| ["-m", "--module"].contains(word));
            match module.filter(|place| rest[..*place].iter().all(|word| word.starts_with('-'))) {
                Some(place) => of_python(&rest[place..], depth),
                None => of_environment_script(name, after_options(rest, &with_value), depth),
            }
        }
        Some((&"tool", ["run", rest @ ..])) => of_package(name, rest, depth),
        Some((&"test", _)) if name == "hatch" => {
            StartedProgram::one(Unknown, [name].into_iter().chain(words.iter().copied()))
        }
        _ => Vec::new(),
    }
}

/// `hatch run test:cov`, `pdm run test`: a program, or a script of that name.
fn of_environment_script(name: &str, words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let started = of(words, depth);
    let is_script = ["hatch", "pdm", "pixi", "rye"].contains(&name)
        && words.first().is_some_and(|word| word.contains("test") || word.contains(':'));
    if started.is_empty() && is_script {
        return StartedProgram::one(
            Unknown,
            [name, "run"].into_iter().chain(words.iter().copied()),
        );
    }
    started
}

fn of_shell(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let rest = words.get(1..).unwrap_or_default();
    let is_line =
        |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let mut options = ShellOptions::default();
    options.read(rest);
    let options_end =
        rest.iter().position(|word| !word.starts_with(['-', '+']) && *word != "pipefail");
    let own = rest.get(..options_end.unwrap_or(rest.len())).unwrap_or_default();
    if let Some(place) = own.iter().position(|word| is_line(&word)) {
        let line = rest.get(place + 1).copied().unwrap_or_default();
        return of_line(line, options, depth);
    }
    if own.iter().any(|word| is_idle(word)) || own.contains(&"-n") {
        return Vec::new();
    }
    // A script, or commands on standard input.
    StartedProgram::one(Unknown, words.iter().copied())
}

/// Activating an environment runs nothing; another sourced script may.
fn of_sourced(words: &[&str]) -> Vec<StartedProgram> {
    let script = words.get(1).copied().unwrap_or_default();
    let hinted = ["test", "spec", "check"].iter().any(|hint| program(script).contains(hint));
    if hinted { StartedProgram::one(Unknown, words.iter().copied()) } else { Vec::new() }
}

/// `find … -exec COMMAND ;`: the exit code of the command is lost.
fn of_find(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let execs = ["-exec", "-execdir", "-x", "--exec", "-X"];
    match words.iter().position(|word| execs.contains(word)) {
        Some(place) => without_exit_code(of(&words[place + 1..], depth)),
        None => Vec::new(),
    }
}

/// Programs that a command may start on another machine or later.
fn possible_programs(words: &[&str]) -> Vec<StartedProgram> {
    let with_verbs = ["docker", "podman", "docker-compose", "kubectl", "heroku", "vagrant"];
    let starts = words.first().is_none_or(|name| !with_verbs.contains(name))
        || ["run", "exec", "-c"].iter().any(|verb| words.contains(verb));
    let idle = words.iter().skip(1).take(1).any(|word| is_idle(word));
    if starts && !idle { StartedProgram::one(Unknown, words.iter().copied()) } else { Vec::new() }
}
