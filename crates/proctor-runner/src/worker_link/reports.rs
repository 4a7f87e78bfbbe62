//! What the side that serves a slot tells the runner: batches of reports, as wire types.
//!
//! A report names examples by the key of the suite that listed them, and knows nothing of jobs or events of the run: those are
//! made by the driver. Unknown fields are ignored when reports are read.

use proctor_events::{Event, ExampleFinished};
use serde::{Deserialize, Serialize};

use super::orders::ExampleRun;
use crate::dispatch::Exit;
use crate::example::Listed;

/// Reports of one generation of one slot that travel together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportBatch {
    pub(crate) version: u32,
    /// Counts the batches of one generation of one slot, from 1. A batch that arrives twice counts once.
    pub(crate) number: u64,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    /// The number of the last order that had arrived when the batch was sent; 0 before the first.
    pub(crate) last_order: u64,
    pub(crate) reports: Vec<Report>,
}

/// How a process did not get through the load of its suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedLoad {
    /// It ended.
    Ended,
    /// It took longer than it may.
    TooLong,
}

/// What happened at a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// It can take work.
    Ready {
        /// The process behind it, where there is one.
        pid: Option<u32>,
    },
    /// It could not be started.
    StartFailed {
        message: String,
        /// How a process that was to load the suite itself has failed to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loading: Option<FailedLoad>,
    },
    /// An example is about to run.
    Started { key: String, repeat: u32 },
    /// An example has run.
    Finished {
        key: String,
        repeat: u32,
        #[serde(with = "outcome_text")]
        outcome: Box<ExampleFinished>,
    },
    /// Something else happened, to be published as it is; without a key it belongs to no example.
    Event {
        key: Option<String>,
        #[serde(with = "event_text")]
        event: Box<Event>,
    },
    /// A remark of the worker about itself.
    Log { level: String, message: String },
    /// A message of the worker could not be read: it may have been a result.
    Unreadable { message: String },
    /// The run has spent what it may: nothing more is to be started.
    BudgetSpent,
    /// It has carried out [`OrderAction::Prepare`](super::orders::OrderAction), or says why not.
    Prepared { reply: serde_json::Value },
    /// It tells about traced lines or the state of a mutant, for `proctor mutate`.
    Mutation { notice: serde_json::Value },
    /// It has given these back.
    Returned { examples: Vec<ReturnedExample> },
    /// The side that serves this slot can serve one more of the same suite.
    SlotJoined,
    /// This slot is not to be served again once it has ended. It finishes what it runs.
    SlotLeft,
    /// It has defined these while it ran others; nobody else can run them, and it will.
    LateExamples { examples: Vec<Listed> },
    /// It will not run these.
    Refused { examples: Vec<ExampleRun>, reason: String },
    /// How much the worker has sent, by its own count, when it ends properly.
    Farewell(FinalCounts),
    /// A line of output.
    Printed(PrintedLine),
    /// An order failed, for a reason that its worker or its channel gives.
    Problem { message: String },
    /// It has ended; everything it said and printed has been reported.
    Exited { exit: ExitFacts, tails: OutputTails },
    /// The link to it is lost, and with it whatever it has not reported. The last report, instead of [`Report::Exited`].
    Unreachable { message: String },
}

/// An example that a worker gives back. Workers that know no repetitions name none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReturnedExample {
    pub(crate) key: String,
    #[serde(default = "first")]
    pub(crate) repeat: u32,
}

pub(super) fn first() -> u32 {
    1
}

/// How much a worker says it has sent. Counts that it does not give are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FinalCounts {
    /// `ExampleStarted`.
    pub(crate) started: Option<u64>,
    /// `ExampleFinished`.
    pub(crate) finished: Option<u64>,
    /// `ErrorOutsideExample`.
    pub(crate) errors: Option<u64>,
}

/// A line that a worker printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PrintedLine {
    /// Whether it was printed to standard error.
    pub(crate) stderr: bool,
    /// The example that printed it, if the worker marks its output.
    pub(crate) owner: Option<OutputOwner>,
    pub(crate) text: String,
}

/// The example that a part of the output belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputOwner {
    pub(crate) key: String,
    /// Repetition and attempt, where the worker says so.
    pub(crate) turn: Option<(u32, u32)>,
}

/// How the worker of a slot ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExitFacts {
    pub(crate) status: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// What else is known.
    pub(crate) message: Option<String>,
    /// Whether its link ended it because what it ran had exceeded its time limit.
    pub(crate) timed_out: bool,
    /// Where its main thread was when its time was up; empty unless it was killed for that and answered.
    pub(crate) backtrace: Vec<String>,
    /// Whether it ended without the reply to `__shutdown__` that workers of this library always give.
    pub(crate) unanswered: bool,
}

impl ExitFacts {
    /// The end of a slot without a process.
    pub(crate) fn without_process() -> Self {
        Self { status: Some(0), ..Self::default() }
    }

    /// The exit as the dispatcher judges it, with the last lines of what was running.
    pub(crate) fn into_exit(self, output_tail: Vec<String>) -> Exit {
        let Self { status, signal, message, timed_out, backtrace, unanswered } = self;
        Exit { status, signal, message, timed_out, output_tail, backtrace, unanswered }
    }
}

/// How many lines are kept for the report of a crash.
pub(super) const TAIL_LINES: usize = 20;

/// The last lines of both streams of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputTails {
    pub(crate) stdout: StreamTail,
    pub(crate) stderr: StreamTail,
}

/// The last lines of one stream. They belong to whatever was open when they were printed: of an example that printed nothing
/// there are none, rather than those of the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamTail {
    /// Whether the worker marks its output at all.
    pub(crate) marked: bool,
    pub(crate) owner: Option<OutputOwner>,
    /// Each with a number that orders the lines of both streams.
    pub(crate) lines: Vec<(u64, String)>,
}

impl OutputTails {
    /// The last lines printed by what was running, in the order in which they were read.
    pub(crate) fn lines_of(self, running: Option<&OutputOwner>) -> Vec<String> {
        let tails = [self.stdout, self.stderr].into_iter();
        let mut all: Vec<(u64, String)> =
            tails.filter(|tail| tail.is_of(running)).flat_map(|tail| tail.lines).collect();
        all.sort_by_key(|(number, _)| *number);
        let first = all.len().saturating_sub(TAIL_LINES);
        all.split_off(first).into_iter().map(|(_, line)| line).collect()
    }
}

impl StreamTail {
    /// Whether its lines are those of this example, or, without one, of no example.
    fn is_of(&self, running: Option<&OutputOwner>) -> bool {
        !self.marked
            || match (&self.owner, running) {
                (Some(owner), Some(running)) => {
                    owner.key == running.key
                        && owner.turn.is_none_or(|turn| Some(turn) == running.turn)
                }
                (owner, running) => owner.is_none() && running.is_none(),
            }
    }
}

/// An event as the JSON object that recordings hold.
mod event_text {
    use proctor_events::{Event, Json};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        event: &Event,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        event.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<Event>, D::Error> {
        let object = Json::deserialize(deserializer)?;
        Event::from_json(object.text()).map(Box::new).map_err(D::Error::custom)
    }
}

/// An outcome as the `ExampleFinished` that recordings hold.
mod outcome_text {
    use proctor_events::{Body, Event, ExampleFinished, Json};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        outcome: &ExampleFinished,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Event::new(Body::ExampleFinished(outcome.clone())).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<ExampleFinished>, D::Error> {
        let object = Json::deserialize(deserializer)?;
        match Event::from_json(object.text()).map_err(D::Error::custom)?.body {
            Body::ExampleFinished(outcome) => Ok(Box::new(outcome)),
            _ => Err(D::Error::custom("an outcome is an ExampleFinished")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::{Status, WorkerLog};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::orders::WIRE_VERSION;
    use super::super::orders::tests::{add_unknown_fields, any_run};
    use super::*;

    fn any_owner() -> impl Strategy<Value = OutputOwner> {
        (".{0,9}", prop::option::of((1_u32..5, 1_u32..5)))
            .prop_map(|(key, turn)| OutputOwner { key, turn })
    }

    fn any_tail() -> impl Strategy<Value = StreamTail> {
        let lines = prop::collection::vec((any::<u64>(), ".{0,9}"), 0..4);
        (any::<bool>(), prop::option::of(any_owner()), lines)
            .prop_map(|(marked, owner, lines)| StreamTail { marked, owner, lines })
    }

    fn any_exit() -> impl Strategy<Value = ExitFacts> {
        let message = prop::option::of(".{0,9}");
        (any::<Option<i32>>(), any::<Option<i32>>(), message, any::<[bool; 2]>()).prop_map(
            |(status, signal, message, [timed_out, unanswered])| ExitFacts {
                status,
                signal,
                message,
                timed_out,
                backtrace: vec!["a.rb:1".to_owned()],
                unanswered,
            },
        )
    }

    fn any_report() -> impl Strategy<Value = Report> {
        let text = || ".{0,9}";
        let runs = || prop::collection::vec(any_run(), 0..3);
        let outcome = |message: String| ExampleFinished {
            status: Status::Failed,
            message: Some(message),
            checks: Some(2),
            ..ExampleFinished::default()
        };
        prop_oneof![
            any::<Option<u32>>().prop_map(|pid| Report::Ready { pid }),
            text().prop_map(|message| Report::StartFailed {
                message,
                loading: Some(FailedLoad::Ended)
            }),
            (text(), 1_u32..9).prop_map(|(key, repeat)| Report::Started { key, repeat }),
            (text(), 1_u32..9, text()).prop_map(move |(key, repeat, message)| {
                Report::Finished { key, repeat, outcome: Box::new(outcome(message)) }
            }),
            (prop::option::of(text()), text()).prop_map(|(key, line)| {
                let event = Box::new(Event::from(WorkerLog { line, stream: None }));
                Report::Event { key, event }
            }),
            (text(), text()).prop_map(|(level, message)| Report::Log { level, message }),
            text().prop_map(|message| Report::Unreadable { message }),
            Just(Report::BudgetSpent),
            text().prop_map(|text| Report::Prepared { reply: text.into() }),
            text().prop_map(|text| Report::Mutation { notice: text.into() }),
            Just(Report::SlotJoined),
            Just(Report::SlotLeft),
            (text(), 1_u32..9).prop_map(|(key, repeat)| {
                Report::Returned { examples: vec![ReturnedExample { key, repeat }] }
            }),
            (text(), text()).prop_map(|(key, file)| {
                let listed = serde_json::json!({ "key": key, "file": file, "path": [file] });
                Report::LateExamples { examples: vec![serde_json::from_value(listed).unwrap()] }
            }),
            (runs(), text()).prop_map(|(examples, reason)| Report::Refused { examples, reason }),
            any::<[Option<u64>; 3]>().prop_map(|[started, finished, errors]| {
                Report::Farewell(FinalCounts { started, finished, errors })
            }),
            (any::<bool>(), prop::option::of(any_owner()), text()).prop_map(
                |(stderr, owner, text)| Report::Printed(PrintedLine { stderr, owner, text })
            ),
            text().prop_map(|message| Report::Problem { message }),
            (any_exit(), any_tail(), any_tail()).prop_map(|(exit, stdout, stderr)| {
                Report::Exited { exit, tails: OutputTails { stdout, stderr } }
            }),
            text().prop_map(|message| Report::Unreachable { message }),
        ]
    }

    proptest! {
        #[test]
        fn reports_come_back_as_they_were_also_with_unknown_fields(
            numbers in any::<(u64, u32, u32, u64)>(),
            reports in prop::collection::vec(any_report(), 0..4),
        ) {
            let (number, slot, generation, last_order) = numbers;
            let batch = ReportBatch {
                version: WIRE_VERSION, number, slot, generation, last_order, reports,
            };
            let text = serde_json::to_string(&batch).unwrap();
            prop_assert_eq!(&serde_json::from_str::<ReportBatch>(&text).unwrap(), &batch);
            // An event keeps what it does not know; every other object forgets it.
            if !text.contains("\"event_type\":") {
                let mut tree: Value = serde_json::from_str(&text).unwrap();
                add_unknown_fields(&mut tree);
                prop_assert_eq!(serde_json::from_str::<ReportBatch>(&tree.to_string()).unwrap(), batch);
            }
        }
    }

    /// Audit B5: the last line of the example before was shown as the last of one that had printed nothing.
    #[test]
    fn b5_the_tail_belongs_to_what_was_running() {
        let owner = |key: &str| Some(OutputOwner { key: key.to_owned(), turn: None });
        let lines = |texts: &[&str]| (1..).zip(texts.iter().map(ToString::to_string)).collect();
        let tail = |owner, texts: &[&str]| StreamTail { marked: true, owner, lines: lines(texts) };
        let tails =
            OutputTails { stdout: tail(owner("a"), &["old"]), stderr: tail(owner("b"), &["new"]) };
        assert_eq!(tails.clone().lines_of(owner("a").as_ref()), ["old"]);
        assert_eq!(tails.clone().lines_of(owner("b").as_ref()), ["new"]);
        assert_eq!(tails.lines_of(None), [] as [&str; 0]);
        let unmarked = StreamTail { marked: false, ..tail(None, &["outside"]) };
        let tails = OutputTails { stdout: unmarked, stderr: tail(None, &[]) };
        assert_eq!(
            tails.lines_of(owner("a").as_ref()),
            ["outside"],
            "without marks whatever was last"
        );
        let many: Vec<(u64, String)> = (0..30).map(|n| (n, n.to_string())).collect();
        let long = StreamTail { marked: true, owner: owner("b"), lines: many };
        let tails = OutputTails { stdout: StreamTail::default(), stderr: long };
        let kept = tails.lines_of(owner("b").as_ref());
        assert_eq!((kept.len(), kept[0].as_str()), (TAIL_LINES, "10"));
    }
}
