//! The log of calls: one line when a call begins, one when it ends, so that a killed call is seen too.

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::script::MockResponse;
use super::{notes_folder, read_notes};
use crate::disk;

/// One line of the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(crate) enum Line {
    Begin {
        call: u32,
        ts: u64,
        hat: Option<String>,
        prompt: String,
        response: Option<usize>,
        /// Why no response was given.
        refused: Option<String>,
        /// The program, where it was a real one.
        program: Option<String>,
    },
    End {
        call: u32,
        ts: u64,
        output: String,
        exit_code: i32,
        cut_short: bool,
        /// What of the response could not be done.
        #[serde(default)]
        problems: Vec<String>,
        /// What a real model did, as a response for a later replay.
        recorded: Option<MockResponse>,
    },
}

/// One call of the model, as the log tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCall {
    /// Its number within the run, from 1.
    pub call: u32,
    /// When it began, in milliseconds since 1970.
    pub ts: u64,
    /// The hat it was called for.
    pub hat: Option<String>,
    /// The index of the response it got; none for a real model or an exhausted mock.
    pub response: Option<usize>,
    /// Why it got no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The program that answered, where it was a real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The whole prompt.
    pub prompt: String,
    /// The whole output; absent if the call was killed.
    pub output: Option<String>,
    /// The exit code; absent if the call was killed.
    pub exit_code: Option<i32>,
    /// How long it took; absent if the call was killed.
    pub duration_ms: Option<u64>,
    /// The delay was cut short because the run's time was over.
    pub cut_short: bool,
    /// What of the response could not be done: files and events that were not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) recorded: Option<MockResponse>,
}

pub(crate) fn append(state: &Path, line: &Line) -> io::Result<()> {
    disk::append_line(&notes_folder(state).join("calls.jsonl"), line)
}

/// Reads the log; a torn last line of a killed call is left out.
pub(crate) fn read(state: &Path) -> Vec<ModelCall> {
    let text = read_notes(state, "calls.jsonl").unwrap_or_default();
    let mut calls: Vec<ModelCall> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Begin { call, ts, hat, prompt, response, refused, program }) => {
                calls.push(ModelCall {
                    call,
                    ts,
                    hat,
                    response,
                    refused,
                    program,
                    prompt,
                    output: None,
                    exit_code: None,
                    duration_ms: None,
                    cut_short: false,
                    problems: Vec::new(),
                    recorded: None,
                });
            }
            Ok(Line::End { call, ts, output, exit_code, cut_short, problems, recorded }) => {
                if let Some(begun) = calls.iter_mut().find(|begun| begun.call == call) {
                    begun.output = Some(output);
                    begun.exit_code = Some(exit_code);
                    begun.duration_ms = Some(ts.saturating_sub(begun.ts));
                    begun.cut_short = cut_short;
                    begun.problems = problems;
                    begun.recorded = recorded;
                }
            }
            Err(_) => {}
        }
    }
    calls
}
