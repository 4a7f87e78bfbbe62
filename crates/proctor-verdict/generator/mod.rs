//! Writes the tables of `tables.json` as Rust, TypeScript and Ruby. Used by the example `generate` and by the test that compares.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Every generated file with its contents.
pub(crate) fn files() -> Vec<(PathBuf, String)> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(home.join("tables.json")).expect("tables.json is readable");
    let tables: Value = serde_json::from_str(&text).expect("tables.json is JSON");
    let root = home.join("../..");
    vec![
        (home.join("src/tables.rs"), rust(&tables)),
        (root.join("web/src/model/verdict_tables.ts"), typescript(&tables)),
        (root.join("ruby/lib/proctor/verdict_tables.rb"), ruby(&tables)),
    ]
}

const NOTE: &str = "Generated from crates/proctor-verdict/tables.json by `cargo run -p proctor-verdict --example generate`; do not edit.";

fn text(value: &Value) -> &str {
    value.as_str().expect("a text in tables.json")
}

fn list<'a>(tables: &'a Value, name: &str) -> &'a Vec<Value> {
    tables[name].as_array().expect("a list in tables.json")
}

/// The fields of an object by name: their order in memory depends on how the JSON library was built.
pub(crate) fn sorted(object: &Value) -> Vec<(&str, &Value)> {
    let mut fields: Vec<(&str, &Value)> = object
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

/// An object on one line, its fields by name.
pub(crate) fn line(value: &Value) -> String {
    match value {
        Value::Object(_) => {
            let fields: Vec<String> = sorted(value)
                .iter()
                .map(|(name, value)| format!("{name:?}: {}", line(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(all) => format!("[{}]", all.iter().map(line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// `timed_out` as `TimedOut`.
fn camel(word: &str) -> String {
    word.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

fn words(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}")).collect::<Vec<_>>().join(", ")
}

fn rust(tables: &Value) -> String {
    let mut out = format!("//! {NOTE}\n\nuse crate::Evidence;\n\n");
    let (outcomes, states) = (list(tables, "outcomes"), list(tables, "states"));
    let lists = [("EXCUSING_FAULTS", "excusing_faults"), ("NEVER_MADE", "never_made")];
    for (name, key) in lists {
        let _ =
            writeln!(out, "pub(crate) const {name}: &[&str] = &[{}];", words(list(tables, key)));
    }
    for (name, code) in sorted(&tables["exit_codes"]) {
        let name = match name {
            "signal_base" => "SIGNAL_BASE".to_owned(),
            other => format!("EXIT_{}", other.to_uppercase()),
        };
        let _ = writeln!(out, "pub(crate) const {name}: u8 = {code};");
    }
    out += "\npub(crate) fn evidence_of(status: &str) -> Evidence {\n    match status {\n";
    for said in ["for", "nothing"] {
        let of: Vec<String> = sorted(&tables["evidence"])
            .into_iter()
            .filter(|(_, its)| *its == said)
            .map(|(word, _)| format!("{word:?}"))
            .collect();
        let _ = writeln!(out, "        {} => Evidence::{},", of.join(" | "), camel(said));
    }
    let rest = camel(text(&tables["evidence_of_unknown_status"]));
    let _ = write!(out, "        _ => Evidence::{rest},\n    }}\n}}\n\n");
    out += "/// How a verdict counts for the run.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub(crate) enum Standing {\n";
    let mut standings: Vec<String> =
        outcomes.iter().map(|it| camel(text(&it["standing"]))).collect();
    standings.sort();
    standings.dedup();
    for standing in &standings {
        let _ = writeln!(out, "    {standing},");
    }
    out += "}\n\n";
    out += "/// What became of an example, worst first.\n";
    enumeration(&mut out, "Outcome", outcomes);
    out += "/// The outcome of a repetition that ended so. A status of the future is treated as an error.\npub(crate) fn outcome_of(status: &str) -> Outcome {\n    match status {\n";
    for outcome in outcomes.iter().filter(|it| !it["status"].is_null() && it["status"] != "errored")
    {
        let _ = writeln!(
            out,
            "        {} => Outcome::{},",
            outcome["status"],
            camel(text(&outcome["word"]))
        );
    }
    out += "        _ => Outcome::Errored,\n    }\n}\n\n";
    out += "impl Outcome {\n";
    out += "    /// The place in the table: the lower, the worse.\n    pub(crate) fn place(self) -> usize {\n        self as usize\n    }\n\n";
    method(
        &mut out,
        "The status that it is counted as in a run's numbers.",
        "pub",
        "counted_as",
        outcomes,
        "counted_as",
    );
    method(&mut out, "The sign before it in lists.", "pub", "sign", outcomes, "sign");
    out += "    pub(crate) fn standing(self) -> Standing {\n        match self {\n";
    for standing in &standings {
        let of: Vec<String> = outcomes
            .iter()
            .filter(|it| camel(text(&it["standing"])) == *standing)
            .map(|it| format!("Self::{}", camel(text(&it["word"]))))
            .collect();
        let _ = writeln!(out, "            {} => Standing::{standing},", of.join(" | "));
    }
    out += "        }\n    }\n}\n\n";
    run_states(&mut out, states);
    formatted(&out)
}

fn run_states(out: &mut String, states: &[Value]) {
    *out += "/// Where a run is.\n";
    enumeration(out, "RunState", states);
    let over: Vec<String> = states
        .iter()
        .filter(|it| it["over"] == false)
        .map(|it| format!("Self::{}", camel(text(&it["word"]))))
        .collect();
    let _ = write!(
        out,
        "impl RunState {{\n    /// Whether nothing more will come.\n    pub fn is_over(self) -> bool {{\n        !matches!(self, {})\n    }}\n}}\n",
        over.join(" | ")
    );
}

fn enumeration(out: &mut String, name: &str, rows: &[Value]) {
    let _ = writeln!(
        out,
        "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]\npub enum {name} {{"
    );
    for row in rows {
        let _ = writeln!(out, "    /// {}.", upper_first(text(&row["phrase"])));
        let _ = writeln!(out, "    {},", camel(text(&row["word"])));
    }
    let _ = write!(out, "}}\n\nimpl {name} {{\n");
    let all: Vec<String> =
        rows.iter().map(|row| format!("Self::{}", camel(text(&row["word"])))).collect();
    let _ = write!(
        out,
        "    /// Every one, in the order of the table.\n    pub const ALL: [Self; {}] = [{}];\n\n",
        all.len(),
        all.join(", ")
    );
    method(out, "The word for it in JSON.", "pub", "word", rows, "word");
    method(out, "The words for people.", "pub", "phrase", rows, "phrase");
    *out += "}\n\n";
}

fn upper_first(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// A method from each row to one of its texts; rows with the same text share an arm.
fn method(out: &mut String, doc: &str, visible: &str, name: &str, rows: &[Value], key: &str) {
    let _ = write!(
        out,
        "    /// {doc}\n    {visible} fn {name}(self) -> &'static str {{\n        match self {{\n"
    );
    let mut done: Vec<&str> = Vec::new();
    for row in rows {
        let value = text(&row[key]);
        if done.contains(&value) {
            continue;
        }
        done.push(value);
        let same: Vec<String> = rows
            .iter()
            .filter(|other| other[key] == row[key])
            .map(|other| format!("Self::{}", camel(text(&other["word"]))))
            .collect();
        let _ = writeln!(out, "            {} => {value:?},", same.join(" | "));
    }
    *out += "        }\n    }\n\n";
}

/// The text as `rustfmt` writes it, so that the check of the format holds for it too.
fn formatted(source: &str) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt is there");
    child.stdin.take().expect("its input").write_all(source.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "rustfmt failed on:\n{source}");
    String::from_utf8(output.stdout).expect("rustfmt writes UTF-8")
}

fn typescript(tables: &Value) -> String {
    let rows = |name: &str| {
        list(tables, name).iter().map(|row| format!("  {},\n", line(row))).collect::<String>()
    };
    let words = |name: &str| {
        let all = list(tables, name).iter().map(|row| row["word"].to_string());
        all.collect::<Vec<_>>().join(" | ")
    };
    format!(
        "// {NOTE}\n\n\
         export type Evidence = \"for\" | \"against\" | \"nothing\";\n\
         export type Outcome = {};\n\
         export type RunState = {};\n\n\
         export const EVIDENCE: Readonly<Record<string, Evidence>> = {};\n\
         export const EVIDENCE_OF_UNKNOWN_STATUS: Evidence = {};\n\
         export const EXCUSING_FAULTS: readonly string[] = {};\n\
         export const NEVER_MADE: readonly string[] = {};\n\n\
         /** What can become of an example, worst first. */\n\
         export interface OutcomeRow {{ word: Outcome; status: string | null; counted_as: string; standing: string; phrase: string; sign: string }}\n\
         export const OUTCOMES: readonly OutcomeRow[] = [\n{}];\n\n\
         export interface StateRow {{ word: RunState; over: boolean; phrase: string }}\n\
         export const STATES: readonly StateRow[] = [\n{}];\n",
        words("outcomes"),
        words("states"),
        line(&tables["evidence"]),
        tables["evidence_of_unknown_status"],
        line(&tables["excusing_faults"]),
        line(&tables["never_made"]),
        rows("outcomes"),
        rows("states"),
    )
}

fn ruby(tables: &Value) -> String {
    let words = |values: &[Value]| {
        let all: Vec<&str> = values.iter().map(text).collect();
        format!("%w[{}].freeze", all.join(" "))
    };
    let named = |rows: &[Value]| {
        let all: Vec<&str> = rows.iter().map(|row| text(&row["word"])).collect();
        format!("%w[{}].freeze", all.join(" "))
    };
    let evidence: String = sorted(&tables["evidence"])
        .into_iter()
        .map(|(status, said)| format!("      {status:?} => :{},\n", text(said)))
        .collect();
    format!(
        "# frozen_string_literal: true\n\n\
         # {NOTE}\n\
         module Proctor\n  \
           # What statuses and faults say about what was tested, as data.\n  \
           module VerdictTables\n    \
             EVIDENCE = {{\n{evidence}    }}.freeze\n    \
             EVIDENCE_OF_UNKNOWN_STATUS = :{}\n    \
             EXCUSING_FAULTS = {}\n    \
             NEVER_MADE = {}\n    \
             # What can become of an example, worst first.\n    \
             OUTCOMES = {}\n    \
             RUN_STATES = {}\n\n    \
             # :for, :against or :nothing.\n    \
             def self.evidence(status, fault = nil)\n      \
               return :nothing if EXCUSING_FAULTS.include?(fault.to_s)\n\n      \
               EVIDENCE.fetch(status.to_s, EVIDENCE_OF_UNKNOWN_STATUS)\n    \
             end\n  \
           end\n\
         end\n",
        text(&tables["evidence_of_unknown_status"]),
        words(list(tables, "excusing_faults")),
        words(list(tables, "never_made")),
        named(list(tables, "outcomes")),
        named(list(tables, "states")),
    )
}
