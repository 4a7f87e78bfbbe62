//! Interpreters and Cargo: they start runners as modules, scripts or subcommands.
//!
//! A script may run tests whatever its name is; code on the command line hardly does.

use super::Program::{self, Runner, Unknown};
use super::runners::{direct, is_idle};
use super::{StartedProgram, after_options, has_verb, of, program, verbs};

/// Words of `setup.py` and `manage.py` that run no tests.
const PLAIN_VERBS: [&str; 16] = [
    "build",
    "build_ext",
    "install",
    "sdist",
    "bdist_wheel",
    "develop",
    "clean",
    "egg_info",
    "upload",
    "register",
    "migrate",
    "makemigrations",
    "runserver",
    "shell",
    "collectstatic",
    "createsuperuser",
];

fn script(words: &[&str]) -> Vec<StartedProgram> {
    StartedProgram::one(Unknown, words.iter().copied())
}

pub(super) fn of_python(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let mut rest = words;
    while let Some((word, more)) = rest.split_first() {
        match *word {
            "-m" => return of_python_module(more, depth),
            "-c" => {
                let code = more.first().copied().unwrap_or_default();
                let runs = code.contains("pytest.main") || code.contains("unittest.main");
                return if runs { script(words) } else { Vec::new() };
            }
            "-h" | "-V" | "--version" | "--help" => return Vec::new(),
            "-X" | "-W" => rest = more.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest = more,
            path => {
                let name = program(path);
                if ["pytest", "py.test"].contains(&name.as_str()) {
                    return of(rest, depth);
                }
                let is_plain = ["setup.py", "manage.py"].contains(&name.as_str())
                    && more.first().is_none_or(|verb| PLAIN_VERBS.contains(verb));
                let idle = more.iter().any(|word| is_idle(word));
                return if is_plain || idle { Vec::new() } else { script(rest) };
            }
        }
    }
    Vec::new()
}

/// Modules that run no tests.
const PLAIN_MODULES: [&str; 14] = [
    "pip",
    "venv",
    "virtualenv",
    "build",
    "py_compile",
    "compileall",
    "http.server",
    "json.tool",
    "ensurepip",
    "black",
    "mypy",
    "flake8",
    "twine",
    "zipfile",
];

fn of_python_module(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    match words.split_first() {
        None => Vec::new(),
        Some((module, _)) if PLAIN_MODULES.contains(module) => Vec::new(),
        Some((&"django", rest)) => direct("django-admin", "django-admin", rest),
        Some((module, rest)) if module.contains('.') => {
            let started = direct(module, module, rest);
            let hinted = module.contains("test") && !rest.iter().any(|word| is_idle(word));
            if started.is_empty() && hinted { script(words) } else { started }
        }
        Some(_) => of(words, depth),
    }
}

pub(super) fn of_ruby(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let rest = words.get(1..).unwrap_or_default();
    if let Some(place) = rest.iter().position(|word| *word == "-S") {
        return of(&rest[place + 1..], depth);
    }
    if rest.contains(&"-c") || rest.contains(&"-v") || rest.iter().any(|word| is_idle(word)) {
        return Vec::new();
    }
    let minitest = || StartedProgram::one(Runner("minitest"), words.iter().copied());
    let is_test = |word: &&str| word.ends_with("_test.rb") || word.contains("/test_");
    if rest.contains(&"-e") {
        let names_test = rest.iter().any(|word| word.contains("_test.rb"));
        return if names_test { minitest() } else { Vec::new() };
    }
    match after_options(rest, &["-I", "-r", "-C"]).first() {
        Some(path) if is_test(path) => minitest(),
        Some(path) if program(path) == "rspec" => of(&["rspec"], depth),
        Some(_) => script(words),
        None => Vec::new(),
    }
}

pub(super) fn of_node(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let rest = words.get(1..).unwrap_or_default();
    let with_value = ["-r", "--require", "--import", "--loader", "-C", "--test-reporter"];
    let path = after_options(rest, &with_value);
    let own = rest.get(..rest.len() - path.len()).unwrap_or_default();
    if own.iter().any(|word| is_idle(word) || ["-v", "-e", "-p", "-c", "--check"].contains(word)) {
        return Vec::new();
    }
    if own.contains(&"--test") {
        return StartedProgram::one(Runner("node --test"), words.iter().copied());
    }
    match path.first() {
        Some(file) if file.contains("node_modules") || file.contains("/bin/") => {
            let started = of(path, depth);
            if started.is_empty() && !path.iter().any(|word| is_idle(word)) {
                script(words)
            } else {
                started
            }
        }
        Some(_) => script(words),
        None => Vec::new(),
    }
}

pub(super) fn of_perl(words: &[&str]) -> Vec<StartedProgram> {
    let rest = words.get(1..).unwrap_or_default();
    let own = rest.iter().take_while(|word| word.starts_with('-'));
    let is_code = own.clone().any(|word| ["-c", "-v", "-V", "--version"].contains(word))
        || own.clone().any(|word| word.ends_with('e') || word.starts_with("-M"));
    match rest.iter().find(|word| !word.starts_with('-')) {
        Some(_) if !is_code => script(words),
        _ => Vec::new(),
    }
}

pub(super) fn of_php(words: &[&str], depth: usize) -> Vec<StartedProgram> {
    let path = after_options(words.get(1..).unwrap_or_default(), &["-d", "-c"]);
    let own = words.get(1..words.len() - path.len()).unwrap_or_default();
    if path.is_empty() || own.iter().any(|word| is_idle(word) || ["-l", "-r", "-v"].contains(word))
    {
        return Vec::new();
    }
    let started = of(path, depth);
    let idle = path.iter().any(|word| is_idle(word));
    if started.is_empty() && !idle { script(words) } else { started }
}

pub(super) fn of_cargo(all: &[&str]) -> Vec<StartedProgram> {
    let words = match all.get(1..).unwrap_or_default() {
        [first, rest @ ..] if first.starts_with('+') => rest,
        words => words,
    };
    let words = after_options(words, &["-Z", "--config", "-C", "--color", "--target-dir"]);
    let Some((verb, rest)) = words.split_first() else { return Vec::new() };
    let idle = rest.iter().any(|word| is_idle(word) || ["--no-run", "--list"].contains(word));
    let program: Option<Program> = match *verb {
        _ if idle => None,
        "test" | "t" | "tarpaulin" => Some(Runner("cargo test")),
        "nextest" | "miri" | "llvm-cov" if has_verb(rest, nextest_verbs(verb)) => {
            Some(Runner("nextest"))
        }
        "miri" | "hack" | "careful" | "insta" | "all-features"
            if verbs(rest).any(|word| ["test", "t"].contains(&word)) =>
        {
            Some(Runner("cargo test"))
        }
        "llvm-cov" if !has_verb(rest, &["report", "clean", "show-env"]) => {
            Some(Runner("cargo test"))
        }
        "watch" | "make" | "xtask" | "mutants" | "leptos" => Some(Unknown),
        _ => None,
    };
    program.map(|program| StartedProgram::one(program, all.iter().copied())).unwrap_or_default()
}

/// The words by which Cargo's subcommands start nextest.
fn nextest_verbs(subcommand: &str) -> &'static [&'static str] {
    if subcommand == "nextest" { &["run", "r"] } else { &["nextest"] }
}
