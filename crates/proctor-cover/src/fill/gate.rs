//! The gate: runs a proposed example and keeps it only if it passes, takes its path and notices a fault.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use proctor_files::limits;
use proctor_ruby::string_code;
use proctor_text::shorten;
use serde_json::json;

use super::answer::check_answer;
use super::supplied::CallResult;
use super::{Answer, OpenItem, Refusal};
use crate::blocks;
use crate::load_methods::load_paths_at;
use crate::metadata::KeptAnswer;
use crate::observation::{Effort, ProjectCopies, faults};
use crate::project::{Project, SourceFile};
use crate::review::{Measured, measure_at};
use crate::sandbox::Sandbox;
use crate::verify::{self, RUN_CONDITIONS, VerificationRun};

/// How many faults of a file an example is tried against.
const MAX_FAULTS: usize = 150;
/// How long a call with supplied values may take.
const WATCH_LIMIT: Duration = Duration::from_mins(1);
/// Longest failure message, in characters.
const MAX_MESSAGE_CHARS: usize = 700;

/// Where answers about one source are judged. The copies are left as they were, or with the accepted spec in them.
pub(crate) struct AnswerGate<'a> {
    pub(crate) project: &'a Project,
    pub(crate) workshop: &'a ProjectCopies,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) source: &'a SourceFile,
    pub(crate) effort: &'a Effort,
}

/// An answer that passed.
#[derive(Debug, Clone)]
pub(crate) struct AcceptedAnswer {
    /// The spec with it.
    pub(crate) text: String,
    /// Its line.
    pub(crate) line: u32,
    /// Faults that it notices.
    pub(crate) faults: usize,
    /// The contexts it stands in.
    pub(crate) contexts: Vec<String>,
    /// What is remembered of it.
    pub(crate) answer: KeptAnswer,
}

impl AnswerGate<'_> {
    /// Judges an answer for an item of this spec.
    pub(crate) fn judge(
        &self,
        item: &OpenItem,
        spec: &str,
        answer: &Answer,
    ) -> Result<AcceptedAnswer, Refusal> {
        let supplied = self.example_of_values(item, spec, answer)?;
        let checked = check_answer(item, supplied.as_ref().unwrap_or(answer))?;
        let (text, line) =
            replace_skipped_example(spec, item, &checked.description, &checked.lines);
        if !ruby_prism::parse(text.as_bytes()).is_success() {
            return Err(Refusal::new(
                "parse",
                "the spec with this example is not valid Ruby",
                "send only the lines between `do` and `end` of the example",
            ));
        }
        let place = format!("{}:{line}", item.spec);
        let seen =
            self.measure_example(item, &text, &place).map_err(|error| Refusal::io_error(&error))?;
        let faults = judge_measurement(item, &seen)?;
        self.check_stability(item, spec, &text, &place)?;
        let answer = KeptAnswer {
            id: item.id.clone(),
            method_id: item.method_id.clone(),
            description: checked.description,
            lines: checked.lines,
        };
        Ok(AcceptedAnswer { text, line, faults, contexts: item.contexts.clone(), answer })
    }

    /// An answer in values as an example that expects what the call does with them; none for an answer that is an example.
    fn example_of_values(
        &self,
        item: &OpenItem,
        spec: &str,
        answer: &Answer,
    ) -> Result<Option<Answer>, Refusal> {
        if answer.values.is_empty() {
            return Ok(None);
        }
        if !answer.body.trim().is_empty() {
            return Err(Refusal::new(
                "values",
                "the answer has both a body and values",
                "send one of them",
            ));
        }
        let call = item.call.call(&answer.values)?;
        let as_body = |body: String| Answer { body, values: BTreeMap::new(), ..answer.clone() };
        check_answer(item, &as_body(call.checked_body()))?;
        let seen = self
            .watch_call(item, spec, &call.watched_body())
            .map_err(|error| Refusal::io_error(&error))?;
        Ok(Some(as_body(call.expecting_body(&seen)?)))
    }

    /// Runs an example whose call is watched, in the copy without probes.
    fn watch_call(&self, item: &OpenItem, spec: &str, body: &str) -> io::Result<CallResult> {
        let lines: Vec<String> = body.lines().map(str::to_owned).collect();
        let (text, line) = replace_skipped_example(spec, item, &item.description, &lines);
        let ProjectCopies { folder, programs, clean, .. } = self.workshop;
        let path = clean.join(&item.spec);
        write(&path, &text)?;
        let (job, result) =
            (folder.path().join("supplied.json"), folder.path().join("supplied-result.json"));
        let facts = &self.source.facts;
        let raise_lines: Vec<u32> =
            facts.methods().flat_map(|(_, method)| method.raise_lines.clone()).collect();
        let readers: BTreeMap<&str, &Vec<String>> =
            facts.classes.iter().map(|class| (class.name.as_str(), &class.readers)).collect();
        let wanted = json!({
            "root": clean, "load_paths": load_paths_at(self.project, clean), "spec": format!("{}:{line}", item.spec),
            "raise_lines": { item.file.as_str(): raise_lines }, "readers": readers,
        });
        proctor_files::write_private(&job, wanted.to_string())?;
        // What an earlier answer showed is not what this one shows.
        if result.exists() {
            fs::remove_file(&result)?;
        }
        let arguments = [programs.join("supplied.rb").into(), job.into(), result.clone().into()];
        let finished = self.sandbox.run(&arguments, clean, &[], WATCH_LIMIT);
        write(&path, spec)?;
        let finished = finished?;
        let seen = proctor_files::read_text(&result, limits::PROGRAM_OUTPUT).unwrap_or_default();
        Ok(serde_json::from_str(&seen).unwrap_or_else(|_| {
            let words =
                if finished.timed_out { "it takes too long" } else { "it ends the process" };
            let first = finished.stderr.lines().next().unwrap_or_default();
            CallResult::Failed { message: format!("{words} {first}").trim_end().to_owned() }
        }))
    }

    /// Runs the example alone in the copy with probes, then every fault of the file against it.
    fn measure_example(&self, item: &OpenItem, text: &str, place: &str) -> io::Result<Measured> {
        let root = &self.workshop.probed;
        let sources = [self.source.clone()];
        self.workshop.probe(&sources)?;
        write(&root.join(&item.spec), text)?;
        let list = faults(&sources, MAX_FAULTS);
        let files = [item.file.clone()];
        let outcome = measure_at(
            root,
            self.project,
            self.workshop,
            self.sandbox,
            (&[place], &files),
            &list,
            self.effort,
        );
        self.workshop.restore(&sources)?;
        outcome
    }

    /// Runs it under other clocks, zones and orders, in the copy without probes.
    fn check_stability(
        &self,
        item: &OpenItem,
        before: &str,
        text: &str,
        place: &str,
    ) -> Result<(), Refusal> {
        let path = self.workshop.clean.join(&item.spec);
        let machine = |error: io::Error| Refusal::io_error(&error);
        write(&path, text).map_err(machine)?;
        let specs = [place.to_owned()];
        let rounds: Vec<VerificationRun> =
            RUN_CONDITIONS.iter().map(|how| VerificationRun::new(&specs, *how)).collect();
        let (programs, clean) = (&self.workshop.programs, &self.workshop.clean);
        let verdict =
            verify::run(self.sandbox, programs, clean, &rounds, false).map_err(machine)?;
        if verdict.error().is_some() || !verdict.failed.is_empty() || verdict.passed == 0 {
            write(&path, before).map_err(machine)?;
            let why = verdict.error().unwrap_or("the example does not pass every time");
            return Err(Refusal::new(
                "unstable",
                format!(
                    "the example depends on the clock, the time zone or the order: {}",
                    shorten(why, MAX_MESSAGE_CHARS)
                ),
                "give fixed values instead of the present time, chance or shared state",
            ));
        }
        Ok(())
    }
}

/// What the first run says; gives back how many faults were noticed.
fn judge_measurement(item: &OpenItem, seen: &Measured) -> Result<usize, Refusal> {
    if let Some((_, message)) = seen.failed.first() {
        return Err(Refusal::new(
            "fails",
            format!("the example fails: {}", shorten(message, MAX_MESSAGE_CHARS)),
            "expect what the code really does in this situation, or repair the setup",
        ));
    }
    if let Some(error) = &seen.error {
        return Err(Refusal::new(
            "fails",
            format!(
                "the spec with this example cannot be loaded: {}",
                shorten(error, MAX_MESSAGE_CHARS)
            ),
            "use only what the spec has loaded",
        ));
    }
    if seen.passed == 0 {
        return Err(Refusal::new(
            "fails",
            "the example was not run",
            "send an example that is neither skipped nor pending",
        ));
    }
    if item.path.is_some_and(|key| !seen.seen.contains(&key)) {
        let wanted: Vec<String> = item
            .conditions
            .iter()
            .map(|one| format!("{} = {} (line {})", one.name, one.value, one.lines))
            .collect();
        return Err(Refusal::new(
            "path",
            format!("the example passes, but takes another path: {}", wanted.join(", then ")),
            "choose inputs for which each of these decisions comes out as stated",
        ));
    }
    if seen.killed.is_empty() {
        return Err(Refusal::new(
            "fault",
            "the example detects none of the injected faults",
            "expect the exact value, error or change instead of something vague",
        ));
    }
    Ok(seen.killed.len())
}

/// The spec with the skipped example replaced, and the line of the new one.
pub(super) fn replace_skipped_example(
    spec: &str,
    item: &OpenItem,
    description: &str,
    lines: &[String],
) -> (String, u32) {
    let (start, end) = item.span;
    let margin_start = spec[..start].rfind('\n').map_or(0, |place| place + 1);
    let margin = &spec[margin_start..start];
    let newline = if spec.contains("\r\n") { "\r\n" } else { "\n" };
    let mut code = format!(
        "# Filled in: it passes, takes this path and notices a fault.{newline}{margin}it {} do{newline}",
        string_code(description)
    );
    for line in lines {
        if line.is_empty() {
            code += newline;
        } else {
            code += &format!("{margin}  {line}{newline}");
        }
    }
    code += &format!("{margin}end");
    let text = format!("{}{code}{}", &spec[..start], &spec[end..]);
    let line = spec[..start].matches('\n').count() + 2;
    (
        blocks::with_new_hashes(&text, std::slice::from_ref(&item.method_id)),
        u32::try_from(line).unwrap_or(1),
    )
}

fn write(path: &std::path::Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
