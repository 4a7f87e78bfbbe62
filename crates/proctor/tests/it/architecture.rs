//! The invariants of ARCHITECTURE.md, kept by looking at `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::env::repository;

/// Who may know whom: a crate may depend on the crates named beside it, directly or not.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("proctor-compare", &["proctor-events", "proctor-record", "proctor-stats", "proctor-verdict"]),
    ("proctor-config", &["proctor-dialogue", "proctor-events", "proctor-yaml"]),
    (
        "proctor-converse",
        &[
            "proctor-dialogue",
            "proctor-endpoint",
            "proctor-events",
            "proctor-llm",
            "proctor-process",
            "proctor-redact",
            "proctor-sandbox",
            "proctor-traces",
            "proctor-yaml",
        ],
    ),
    (
        "proctor-cover",
        &["proctor-process", "proctor-redact", "proctor-ruby", "proctor-sandbox", "proctor-tools"],
    ),
    ("proctor-dialogue", &["proctor-events", "proctor-yaml"]),
    ("proctor-engine", &[]),
    ("proctor-endpoint", &["proctor-llm", "proctor-process", "proctor-redact"]),
    ("proctor-events", &[]),
    ("proctor-examples", &["proctor-process", "proctor-redact"]),
    (
        "proctor-fuzz-targets",
        &[
            "proctor-compare",
            "proctor-config",
            "proctor-dialogue",
            "proctor-events",
            "proctor-journal",
            "proctor-llm",
            "proctor-process",
            "proctor-record",
            "proctor-redact",
            "proctor-ruby",
            "proctor-sandbox",
            "proctor-stats",
            "proctor-tools",
            "proctor-verdict",
            "proctor-workspace",
            "proctor-yaml",
        ],
    ),
    (
        "proctor-history",
        &[
            "proctor-compare",
            "proctor-events",
            "proctor-record",
            "proctor-stats",
            "proctor-verdict",
        ],
    ),
    ("proctor-journal", &[]),
    ("proctor-llm", &["proctor-process", "proctor-redact"]),
    (
        "proctor-mcp",
        &[
            "proctor-compare",
            "proctor-cover",
            "proctor-events",
            "proctor-history",
            "proctor-journal",
            "proctor-process",
            "proctor-record",
            "proctor-redact",
            "proctor-ruby",
            "proctor-sandbox",
            "proctor-stats",
            "proctor-tools",
            "proctor-verdict",
            "proctor-workspace",
            "proctor-yaml",
        ],
    ),
    (
        "proctor-mutate",
        &[
            "proctor-converse",
            "proctor-dialogue",
            "proctor-endpoint",
            "proctor-events",
            "proctor-llm",
            "proctor-process",
            "proctor-record",
            "proctor-redact",
            "proctor-ruby",
            "proctor-runner",
            "proctor-sandbox",
            "proctor-stats",
            "proctor-tools",
            "proctor-traces",
            "proctor-verdict",
            "proctor-workspace",
            "proctor-yaml",
        ],
    ),
    ("proctor-process", &["proctor-redact"]),
    ("proctor-record", &["proctor-events", "proctor-verdict"]),
    ("proctor-redact", &[]),
    (
        "proctor-report",
        &[
            "proctor-compare",
            "proctor-events",
            "proctor-record",
            "proctor-stats",
            "proctor-verdict",
        ],
    ),
    (
        "proctor-runner",
        &[
            "proctor-converse",
            "proctor-dialogue",
            "proctor-endpoint",
            "proctor-events",
            "proctor-llm",
            "proctor-process",
            "proctor-record",
            "proctor-redact",
            "proctor-sandbox",
            "proctor-stats",
            "proctor-tools",
            "proctor-traces",
            "proctor-verdict",
            "proctor-workspace",
            "proctor-yaml",
        ],
    ),
    ("proctor-sandbox", &["proctor-process", "proctor-redact"]),
    (
        "proctor-server",
        &[
            "proctor-compare",
            "proctor-events",
            "proctor-history",
            "proctor-journal",
            "proctor-record",
            "proctor-redact",
            "proctor-stats",
            "proctor-stream",
            "proctor-verdict",
        ],
    ),
    ("proctor-stats", &[]),
    ("proctor-stream", &["proctor-events", "proctor-record", "proctor-verdict"]),
    ("proctor-ruby", &[]),
    (
        "proctor-testkit",
        &[
            "proctor-events",
            "proctor-process",
            "proctor-record",
            "proctor-redact",
            "proctor-stream",
            "proctor-verdict",
        ],
    ),
    ("proctor-tools", &[]),
    ("proctor-traces", &[]),
    ("proctor-verdict", &["proctor-events"]),
    (
        "proctor-tui",
        &[
            "proctor-compare",
            "proctor-events",
            "proctor-record",
            "proctor-report",
            "proctor-stats",
            "proctor-verdict",
        ],
    ),
    (
        "proctor-workspace",
        &["proctor-process", "proctor-redact", "proctor-sandbox", "proctor-tools", "proctor-yaml"],
    ),
    ("proctor-yaml", &[]),
    ("proctor", ALL),
];

/// The helpers for text and for files: every crate may know them, and they know no crate here.
const HELPERS: [&str; 2] = ["proctor-files", "proctor-text"];

/// The binary wires everything together.
const ALL: &[&str] = &[
    "proctor-engine",
    "proctor-converse",
    "proctor-dialogue",
    "proctor-endpoint",
    "proctor-llm",
    "proctor-compare",
    "proctor-config",
    "proctor-history",
    "proctor-cover",
    "proctor-events",
    "proctor-journal",
    "proctor-mcp",
    "proctor-mutate",
    "proctor-process",
    "proctor-record",
    "proctor-redact",
    "proctor-report",
    "proctor-ruby",
    "proctor-runner",
    "proctor-sandbox",
    "proctor-server",
    "proctor-stats",
    "proctor-stream",
    "proctor-tools",
    "proctor-traces",
    "proctor-tui",
    "proctor-verdict",
    "proctor-workspace",
    "proctor-yaml",
];

/// Crates that know no runtime, no network and no terminal.
const PURE: &[&str] = &[
    "proctor-compare",
    "proctor-config",
    "proctor-dialogue",
    "proctor-events",
    "proctor-files",
    "proctor-journal",
    "proctor-record",
    "proctor-redact",
    "proctor-ruby",
    "proctor-stats",
    "proctor-text",
    "proctor-verdict",
    "proctor-yaml",
];
const IMPURE: &[&str] = &[
    "tokio",
    "mio",
    "hyper",
    "axum",
    "reqwest",
    "tokio-tungstenite",
    "tungstenite",
    "ratatui",
    "crossterm",
    "rusqlite",
    "clap",
];

struct Graph {
    /// Direct, non-development dependencies by name.
    direct: BTreeMap<String, BTreeSet<String>>,
    members: BTreeSet<String>,
}

impl Graph {
    fn load() -> Self {
        // Without the platform cargo would want the sources of crates that are never built here.
        let rustc = Command::new("rustc").arg("-vV").output().unwrap();
        let about = String::from_utf8(rustc.stdout).unwrap();
        let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--locked", "--offline"])
            .args(["--filter-platform", host])
            .current_dir(repository())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let names: BTreeMap<String, String> = metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let mut direct: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array().unwrap() {
            let needed = direct.entry(names[node["id"].as_str().unwrap()].clone()).or_default();
            for dependency in node["deps"].as_array().unwrap() {
                let kinds = dependency["dep_kinds"].as_array().unwrap();
                if kinds.iter().any(|kind| kind["kind"].is_null()) {
                    needed.insert(names[dependency["pkg"].as_str().unwrap()].clone());
                }
            }
        }
        let members = metadata["workspace_members"].as_array().unwrap();
        Self {
            direct,
            members: members.iter().map(|id| names[id.as_str().unwrap()].clone()).collect(),
        }
    }

    /// Everything a crate reaches.
    fn reaches(&self, name: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            for dependency in self.direct.get(&next).into_iter().flatten() {
                if reached.insert(dependency.clone()) {
                    open.push(dependency.clone());
                }
            }
        }
        reached
    }
}

#[test]
fn every_crate_knows_only_what_stands_below_it() {
    let graph = Graph::load();
    let allowed: BTreeMap<&str, &[&str]> = MAY_KNOW.iter().copied().collect();
    for member in graph.members.iter().filter(|member| !HELPERS.contains(&member.as_str())) {
        let may = allowed.get(member.as_str()).unwrap_or_else(|| {
            panic!("crate {member} is not in the table: decide what it may know")
        });
        for reached in graph.reaches(member).intersection(&graph.members) {
            let allowed = may.contains(&reached.as_str()) || HELPERS.contains(&reached.as_str());
            assert!(allowed, "{member} may not know {reached}");
        }
    }
    for helper in HELPERS {
        let reached = graph.reaches(helper);
        assert!(reached.is_disjoint(&graph.members), "{helper} may know no other crate here");
    }
}

#[test]
fn pure_crates_know_no_runtime_network_or_terminal() {
    let graph = Graph::load();
    for member in PURE.iter().filter(|name| graph.members.contains(**name)) {
        for reached in graph.reaches(member) {
            assert!(!IMPURE.contains(&reached.as_str()), "{member} may not know {reached}");
        }
    }
}

/// The Rust files below a folder.
fn sources(folder: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// Recordings are named and opened by `proctor-record` alone; everybody else uses its readers. Tests may write what they like.
#[test]
fn only_proctor_record_opens_recordings() {
    let crates = repository().join("crates");
    for folder in std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        // The test programs write recordings of their own.
        if ["proctor-record", "proctor-testkit"].iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        for (path, text) in sources(&folder.join("src")) {
            let production = text.split("#[cfg(test)]").next().unwrap_or_default();
            if path.ends_with("tests.rs") {
                continue;
            }
            for line in production.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let names = line.contains("\"events.jsonl\"");
                let opens = ["File::open", "OpenOptions", "fs::read", "BufReader"];
                let opens =
                    line.contains("events_path()") && opens.iter().any(|it| line.contains(it));
                assert!(!names && !opens, "{}: {line}", path.display());
            }
        }
    }
}

/// Files of the binary that write or print. All others use `secrets::write_file` and `Terminal`, which filter secrets.
const WRITERS: &[(&str, &str)] = &[
    ("secrets.rs", "the filter itself"),
    ("terminal.rs", "the filter stands before every print"),
    ("commands/init.rs", "our own templates"),
    ("commands/pieces.rs", "reports in pieces, filtered there"),
    ("commands/doctor/probe.rs", "an empty file"),
    ("commands/journal/hook.rs", "the log, filtered there"),
    ("commands/journal/recorded_runs.rs", "the path of a run"),
    ("commands/run/outputs.rs", "the summary of a job, filtered there"),
];

/// A way out that forgets the filter must be seen when it is written.
#[test]
fn only_named_files_of_the_binary_write_without_the_filter() {
    let folder = repository().join("crates/proctor/src");
    let writes = [
        "fs::write(",
        "File::create",
        "OpenOptions",
        "append_private",
        "create_private(",
        "write_private",
        "io::stdout().lock",
        "io::stderr().lock",
        "writeln!(io::",
        "print_unfiltered",
        "pass_on(",
        "print_piece(",
        "PieceFile::create",
    ];
    let mut found = BTreeSet::new();
    for (path, text) in sources(&folder) {
        let production = text.split("#[cfg(test)]").next().unwrap_or_default();
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        if production.lines().any(|line| writes.iter().any(|it| line.contains(it))) {
            found.insert(name);
        }
    }
    let on_purpose = ["commands/serve/mod.rs", "commands/journal/output_copy.rs"];
    let known: BTreeSet<String> = WRITERS
        .iter()
        .map(|(name, _)| *name)
        // The address with its token, and a command's own output as it is.
        .chain(on_purpose)
        .map(str::to_owned)
        .collect();
    let unknown: Vec<&String> = found.difference(&known).collect();
    assert!(unknown.is_empty(), "these write without `secrets`: {unknown:?}");
}

/// Libraries never print and never read the environment; the lints see the first, this sees the second.
#[test]
fn only_the_binary_reads_the_environment() {
    let crates = repository().join("crates");
    for folder in std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        // The test programs are binaries too.
        let binaries = ["proctor", "proctor-examples", "proctor-testkit"];
        if binaries.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        for (path, text) in sources(&folder.join("src")) {
            // Passes variables on to children and decides nothing by them.
            if path.ends_with("proctor-process/src/child_environment.rs") {
                continue;
            }
            let code: Vec<&str> =
                text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let text = code.join("\n");
            for forbidden in ["env::var", "env::vars", "env::home_dir", "env::current_dir"] {
                assert!(!text.contains(forbidden), "{}: {forbidden}", path.display());
            }
        }
    }
}

/// Files outside of proctor-process that start programs themselves, with the reason.
const START_PROGRAMS_THEMSELVES: &[(&str, &str)] = &[
    (
        "proctor-workspace/src/mock/launch.rs",
        "replaces its own process, which is already under a guard",
    ),
    (
        "proctor-workspace/src/mock/proxy.rs",
        "hands its own standard streams on, in a process that is already under a guard",
    ),
    (
        "proctor/src/commands/journal/observed_command.rs",
        "the user's command keeps the terminal and its process group, as if it had been typed",
    ),
];

/// Programs are started by `proctor-process`: with an environment that the caller chose, and with an end that does not depend on
/// the caller. Tests may start what they like.
#[test]
fn only_proctor_process_starts_programs() {
    let crates = repository().join("crates");
    let mut themselves = BTreeSet::new();
    for folder in std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        // Test programs and example agents are not shipped.
        let exempt = ["proctor-process", "proctor-examples", "proctor-testkit"];
        if exempt.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        for (path, text) in sources(&folder.join("src")) {
            let production = text.split("#[cfg(test)]").next().unwrap_or_default();
            if !path.ends_with("tests.rs") && starts_programs(production) {
                themselves.insert(path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let expected: BTreeSet<String> =
        START_PROGRAMS_THEMSELVES.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(themselves, expected, "use ShortCommand, ManagedProcess or DetachedCommand");
}

/// Whether a text names the `Command` of the standard library or of tokio.
fn starts_programs(text: &str) -> bool {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.into_iter().any(|line| {
        line.match_indices("Command::new(").any(|(at, _)| {
            !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
        })
    })
}

#[test]
fn a_start_of_a_program_is_recognized() {
    assert!(starts_programs("let child = std::process::Command::new(program).spawn();"));
    assert!(starts_programs("    Command::new(\"git\")"));
    assert!(!starts_programs("GuardCommand::new(program, [\"__guard\"])"));
    assert!(!starts_programs("// Command::new(program)"));
}

/// The paths in backticks of a part of ARCHITECTURE.md, in order.
fn paths_in(part: &str) -> Vec<String> {
    let roots = ["crates/", "ruby/", "web/", "docs/", "schema/", "bench/"];
    let quoted = part.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| roots.iter().any(|root| text.starts_with(root)) && !text.contains('*'))
        .map(str::to_owned)
        .collect()
}

/// A part of ARCHITECTURE.md, by its heading.
fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let level = heading.split(' ').next().unwrap();
    let body = &text[start + heading.len()..];
    let end = body.find(&format!("\n{level} ")).unwrap_or(body.len());
    let above = if level == "###" { body.find("\n## ").unwrap_or(body.len()) } else { body.len() };
    &body[..end.min(above)]
}

#[test]
fn walks_and_recipes_name_files_that_exist() {
    let text = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let walks = part(&text, "## Walks");
    let mut named = paths_in(walks);
    named.extend(paths_in(part(&text, "## How to add")));
    assert!(named.len() > 60, "{}", named.len());
    let missing: Vec<_> = named.iter().filter(|path| !repository().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    for heading in walks.lines().filter(|line| line.starts_with("### ")) {
        let steps = part(&text, heading);
        let steps: Vec<&str> = steps.lines().filter(|line| line.contains(". `")).collect();
        let mut files: Vec<&str> =
            steps.iter().map(|step| step.split('`').nth(1).unwrap()).collect();
        assert!(files.len() >= 10, "{heading}: {}", files.len());
        files.sort_unstable();
        let twice: Vec<_> = files.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{heading}: {twice:?}");
    }
}
