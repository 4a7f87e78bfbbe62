//! `test_inspect`: what happened, as records, in numbers, iteration by iteration, call by call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::run::folder::{self, RunFolder};
use super::run::{RunResult, conclude};
use super::{Tools, cut, notice_if};
use crate::cassette::Cassette;
use crate::coverage::Coverage;
use crate::error::{ErrorKind, ToolError};
use crate::mock::log;
use crate::registry::{self, Place};
use crate::session::SessionRecord;
use crate::session::view::{self, Filter, Summary, TimelineEntry};
use crate::topic::TopicPattern;

const LIMIT: usize = 100;
const MOST: usize = 10_000;
/// How many kinds and topics a summary names, and how many events an iteration of the timeline.
const EVENTS: usize = 200;
/// How much of such a name comes.
const NAME: usize = 300;

/// Stands for what another tool describes: a model pays for every schema it is shown.
type Object = serde_json::Map<String, Value>;

/// How the answer is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The records themselves.
    #[default]
    Json,
    /// In numbers; also tells whether a run is still going, and its result.
    Summary,
    /// Iteration by iteration: hat, trigger, outcome, duration.
    Timeline,
    /// Every call of the model: prompt, hat, output, exit code, duration.
    Calls,
    /// What the orchestrator printed.
    Output,
    /// Which configured topics, hats and endings the runs of this workspace have reached.
    Coverage,
    /// The run as a cassette for `test_run`.
    Cassette,
}

/// Parameters of `test_inspect`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InspectParams {
    /// The workspace.
    pub workspace_id: String,
    /// Which records to look at (default: all). For the formats `json`, `summary` and `timeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Most records, iterations or calls in the answer (default 100, at most 10000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Leave out so many matching records, iterations or calls first, to page on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// How the answer is given (default `json`).
    #[serde(default)]
    pub format: Format,
    /// The run to look at, by its number (default: the last).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
}

/// Result of `test_inspect`; which fields are there depends on the format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InspectResult {
    /// Format `json`: the matching records, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<Vec<SessionRecord>>,
    /// Formats `json`, `timeline` and `calls`: how many matched in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_matched: Option<usize>,
    /// Something was left out of this answer: page on with `offset`, or look for less with `filter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// What you should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What to keep in mind about the texts in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Format `timeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<TimelineEntry>>,
    /// Format `calls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<log::ModelCall>>,
    /// Format `output`: standard output, colours removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Format `output`: standard error, colours removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Format `coverage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Format `cassette`: give it to `test_run` as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    pub cassette: Option<Cassette>,
    /// Format `summary`: how many records there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_events: Option<usize>,
    /// Format `summary`: how many of each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_type: Option<BTreeMap<String, usize>>,
    /// Format `summary`: how many events of each topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_topic: Option<BTreeMap<String, usize>>,
    /// Format `summary`: how many iterations there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Format `summary`: the hats in the order in which they were first worn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hats_used: Option<Vec<String>>,
    /// Format `summary`: from the first to the last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_secs: Option<f64>,
    /// Format `summary`: the run is still going.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Format `summary`: the result of `test_run`, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    pub result: Option<RunResult>,
}

impl Tools {
    /// Looks at a run.
    pub async fn inspect(&self, params: InspectParams) -> Result<InspectResult, ToolError> {
        self.blocking(move |tools| tools.inspect_now(&params)).await
    }

    fn inspect_now(&self, params: &InspectParams) -> Result<InspectResult, ToolError> {
        let filterable = matches!(params.format, Format::Json | Format::Summary | Format::Timeline);
        if params.filter.is_some() && !filterable {
            return Err(ToolError::invalid("filter: this format cannot be filtered")
                .hint("use the format json, summary or timeline"));
        }
        let place = registry::find(&self.config, &params.workspace_id)?;
        conclude::recover_if_free(&self.config, &place)?;
        let Some(run) = folder::choose(&place, params.run)? else {
            let message = format!("nothing has run in workspace {:?} yet", params.workspace_id);
            return Err(ToolError::new(ErrorKind::NoRun, message).hint("call test_run first"));
        };
        let mut result = match params.format {
            Format::Json => self.as_records(&place, &run, params),
            Format::Summary => self.as_summary(&place, &run, params),
            Format::Timeline => self.as_timeline(&place, &run, params),
            Format::Calls => Ok(self.as_calls(&run, params)),
            Format::Output => Ok(self.as_output(&run)),
            Format::Coverage => Ok(InspectResult {
                coverage: Some(Coverage::of(&self.config, &place)?),
                ..InspectResult::default()
            }),
            Format::Cassette => self.as_cassette(&place, &run),
        }?;
        result.warnings = self.filter_warnings(&place, &run, params)?;
        Ok(result)
    }

    fn all_records(&self, place: &Place, run: &RunFolder) -> Result<Vec<SessionRecord>, ToolError> {
        if run.result()?.is_none() {
            return Err(conclude::still_running(run.number));
        }
        folder::records(place, run.number, self.config.limits.read_bytes)
    }

    fn filtered(
        &self,
        place: &Place,
        run: &RunFolder,
        filter: Option<&Filter>,
    ) -> Result<Vec<SessionRecord>, ToolError> {
        let filter = filter.cloned().unwrap_or_default();
        let checked = filter.check()?;
        let mut records = self.all_records(place, run)?;
        records.retain(|record| checked.matches(record));
        Ok(records)
    }

    /// Topics of the filter that cannot occur by the run's topology, and did not.
    fn filter_warnings(
        &self,
        place: &Place,
        run: &RunFolder,
        params: &InspectParams,
    ) -> Result<Vec<String>, ToolError> {
        let topics = params.filter.as_ref().and_then(|filter| filter.topics.as_ref());
        let (Some(topics), Some(start)) = (topics, run.start()?) else { return Ok(Vec::new()) };
        let unknown: Vec<_> = topics
            .iter()
            .filter_map(|pattern| Some((pattern, start.topology.warning(pattern)?)))
            .collect();
        if unknown.is_empty() || run.result()?.is_none() {
            return Ok(Vec::new());
        }
        let records = self.all_records(place, run)?;
        let occurred = |pattern: &TopicPattern| {
            records.iter().filter_map(SessionRecord::topic).any(|topic| pattern.matches(topic))
        };
        let unseen = unknown.into_iter().filter(|(pattern, _)| !occurred(pattern));
        Ok(unseen.map(|(_, warning)| format!("filter.topics: {warning}")).collect())
    }

    fn as_records(
        &self,
        place: &Place,
        run: &RunFolder,
        params: &InspectParams,
    ) -> Result<InspectResult, ToolError> {
        let matched = self.filtered(place, run, params.filter.as_ref())?;
        let total = matched.len();
        let offset = params.offset.unwrap_or(0);
        let mut room = self.config.limits.answer_bytes;
        let mut truncated = false;
        let mut records = Vec::new();
        for mut record in
            matched.into_iter().skip(offset).take(params.limit.unwrap_or(LIMIT).min(MOST))
        {
            truncated |= self.shorten(&mut record.data);
            let size = record.data.to_string().len() + 100;
            if size > room {
                truncated = true;
                break;
            }
            room -= size;
            records.push(record);
        }
        truncated |= offset + records.len() < total;
        Ok(InspectResult {
            notice: notice_if(!records.is_empty()),
            records: Some(records),
            total_matched: Some(total),
            truncated: Some(truncated),
            ..InspectResult::default()
        })
    }

    fn as_timeline(
        &self,
        place: &Place,
        run: &RunFolder,
        params: &InspectParams,
    ) -> Result<InspectResult, ToolError> {
        let filter = params.filter.clone().unwrap_or_default();
        let all = view::timeline(&self.all_records(place, run)?, &filter.check()?);
        let (total, offset) = (all.len(), params.offset.unwrap_or(0));
        let mut room = self.config.limits.answer_bytes;
        let mut truncated = false;
        let mut shown = Vec::new();
        for mut entry in all.into_iter().skip(offset).take(params.limit.unwrap_or(LIMIT).min(MOST))
        {
            for event in &mut entry.events {
                let (short, was_cut) = cut(event, NAME);
                truncated |= was_cut;
                *event = short;
            }
            truncated |= entry.events.len() > EVENTS;
            entry.events.truncate(EVENTS);
            let size = entry.events.iter().map(|event| event.len() + 4).sum::<usize>() + 120;
            let Some(left) = room.checked_sub(size) else { break };
            room = left;
            shown.push(entry);
        }
        truncated |= offset + shown.len() < total;
        Ok(InspectResult {
            timeline: Some(shown),
            total_matched: Some(total),
            truncated: Some(truncated),
            ..InspectResult::default()
        })
    }

    /// A cassette comes as a whole or not at all: half of one would replay something else.
    fn as_cassette(&self, place: &Place, run: &RunFolder) -> Result<InspectResult, ToolError> {
        let cassette = Cassette::of_run(&self.config, place, run.number)?;
        let size = serde_json::to_vec(&cassette).map_or(usize::MAX, |bytes| bytes.len());
        if size > self.config.limits.answer_bytes {
            let message = format!(
                "the cassette of run {} has {size} bytes, too many for an answer",
                run.number
            );
            let hint =
                format!("replay it in this workspace: test_run with replay_run {}", run.number);
            return Err(ToolError::new(ErrorKind::TooLarge, message).hint(hint));
        }
        Ok(InspectResult {
            cassette: Some(cassette),
            notice: notice_if(true),
            ..InspectResult::default()
        })
    }

    /// Cuts long texts of a record; says whether it did.
    fn shorten(&self, data: &mut Value) -> bool {
        let mut any = false;
        for value in data.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
            if let Value::String(text) = value {
                let (short, was_cut) = cut(text, self.config.limits.field_bytes);
                if was_cut {
                    *value = json!(short);
                    any = true;
                }
            }
        }
        any
    }

    fn as_summary(
        &self,
        place: &Place,
        run: &RunFolder,
        params: &InspectParams,
    ) -> Result<InspectResult, ToolError> {
        let Some(result) = run.result()? else {
            return Ok(InspectResult { running: Some(true), ..InspectResult::default() });
        };
        let Summary { total_events, by_type, by_topic, iterations, hats_used, duration_secs } =
            view::summary(&self.filtered(place, run, params.filter.as_ref())?);
        Ok(InspectResult {
            total_events: Some(total_events),
            truncated: Some(by_topic.len() > EVENTS),
            by_type: Some(by_type),
            by_topic: Some(some(by_topic)),
            iterations: Some(iterations),
            hats_used: Some(hats_used.into_iter().take(EVENTS).collect()),
            duration_secs: Some(duration_secs),
            running: Some(false),
            result: Some(result),
            ..InspectResult::default()
        })
    }

    fn as_calls(&self, run: &RunFolder, params: &InspectParams) -> InspectResult {
        let calls = log::read(&run.path);
        let total = calls.len();
        let limits = &self.config.limits;
        let mut room = limits.answer_bytes;
        let mut truncated = false;
        let mut shown = Vec::new();
        let limit = params.limit.unwrap_or(LIMIT).min(MOST);
        for mut call in calls.into_iter().skip(params.offset.unwrap_or(0)).take(limit) {
            if room == 0 {
                break;
            }
            room = room.saturating_sub(400);
            let texts = [Some(&mut call.prompt), call.output.as_mut(), call.refused.as_mut()];
            for text in texts.into_iter().flatten() {
                let (short, was_cut) = cut(text, limits.field_bytes.min(room));
                room = room.saturating_sub(short.len());
                truncated |= was_cut;
                *text = short;
            }
            shown.push(call);
        }
        truncated |= params.offset.unwrap_or(0) + shown.len() < total;
        InspectResult {
            notice: notice_if(!shown.is_empty()),
            calls: Some(shown),
            total_matched: Some(total),
            truncated: Some(truncated),
            ..InspectResult::default()
        }
    }

    fn as_output(&self, run: &RunFolder) -> InspectResult {
        let most = self.config.limits.field_bytes;
        let (stdout, out_cut) = cut(&run.output("stdout"), most);
        let (stderr, err_cut) = cut(&run.output("stderr"), most);
        InspectResult {
            notice: notice_if(!stdout.is_empty() || !stderr.is_empty()),
            stdout: Some(stdout),
            stderr: Some(stderr),
            truncated: Some(out_cut || err_cut),
            ..InspectResult::default()
        }
    }
}

/// The topics that occur most, with names of a bearable length.
fn some(by_topic: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut all: Vec<(String, usize)> = by_topic.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.into_iter().take(EVENTS).map(|(name, count)| (cut(&name, NAME).0, count)).collect()
}
