//! A recording reduced to what the index keeps.

use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

use proctor_compare::{ExampleResults, Side};
use proctor_record::{
    Example, FileState, FoundRun, LoadError, Loaded, Problem, ProblemKind, RunChoice, RunData,
    RunFolder, RunInfo, StoreError,
};

/// A run as the index keeps it.
#[derive(Debug)]
pub(crate) struct RunDigest<'a> {
    pub(crate) run: &'a RunData,
    pub(crate) info: Option<&'a RunInfo>,
    pub(crate) samples: Vec<TaggedSample>,
}

#[derive(Debug)]
pub(crate) struct TaggedSample {
    pub(crate) sample: ExampleResults,
    pub(crate) tags: Vec<String>,
    pub(crate) cost_usd: Option<f64>,
}

/// How exact the times of files are, and something to spare: the kernel takes them from a clock that ticks.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The states of a recording and of its `run.json` ([`FileState`]).
#[derive(Debug)]
pub(crate) struct RecordingStamp {
    text: String,
    /// Whether a file changed within [`CLOCK_TICK`] before the stamp was taken, so that a further change could give the same stamp.
    is_recent: bool,
}

impl RecordingStamp {
    /// The state of a recording now.
    pub(crate) fn of(folder: &RunFolder) -> Self {
        let now = SystemTime::now();
        let [events, info] =
            [folder.events_path(), folder.info_path()].map(|path| FileState::at(&path));
        Self::of_states(events.as_ref(), info.as_ref(), now)
    }

    /// The state in which a recording was found; `now` is not later than that.
    pub(crate) fn of_found(found: &FoundRun, now: SystemTime) -> Self {
        Self::of_states(Some(&found.events), found.info.as_ref(), now)
    }

    fn of_states(events: Option<&FileState>, info: Option<&FileState>, now: SystemTime) -> Self {
        let files = [events, info];
        let text = |file: Option<&FileState>| {
            file.map_or_else(|| "- ".to_owned(), |state| format!("{} ", state.to_text()))
        };
        Self {
            text: files.into_iter().map(text).collect(),
            is_recent: files.iter().flatten().any(|state| !state.is_settled(now, CLOCK_TICK)),
        }
    }

    /// What a [kept](Self::to_keep) one must be for the recording to be as it was.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text to store. That of a recent stamp equals no other, so that the recording is read once more.
    pub(crate) fn stored_text(&self) -> String {
        if self.is_recent { format!("{}young", self.text) } else { self.text.clone() }
    }

    /// The text to store for a recording that could not be read: it equals no stamp, so that the recording is read again next time.
    pub(crate) fn unread_text(&self) -> String {
        format!("{}unread", self.text)
    }
}

/// A recording as it was read at one moment. What one part of a program has read another need not read again.
#[derive(Debug)]
pub struct Recording {
    name: String,
    stamp: RecordingStamp,
    info: Option<RunInfo>,
    loaded: Loaded,
}

impl Recording {
    /// Reads the recording of a run in outline.
    pub fn read(folder: &RunFolder) -> Result<Self, LoadError> {
        // The stamp is taken first: what is written meanwhile is read again next time.
        let stamp = RecordingStamp::of(folder);
        let loaded = proctor_record::load_outline(&folder.events_path(), &RunChoice::Last)?;
        let info = match folder.info() {
            // A description that cannot be read now is not one that is missing or wrong.
            Err(StoreError::Io { path, source, .. }) if source.kind() != ErrorKind::NotFound => {
                return Err(LoadError::Io { path, source });
            }
            info => info.ok(),
        };
        Ok(Self { name: folder.name(), stamp, info, loaded })
    }

    /// Lines that could not be used.
    pub fn problems(&self) -> &[Problem] {
        &self.loaded.problems
    }

    /// The run reduced to what a comparison needs.
    pub fn side(&self, label: &str) -> Side {
        let unreadable = crate::unreadable(&self.loaded);
        Side { unreadable, ..Side::of(&self.loaded.run, label).about(self.info.clone()) }
    }

    /// Whether this is the recording of the run in the state of `stamp`.
    pub(crate) fn is_of(&self, name: &str, stamp: &RecordingStamp) -> bool {
        self.name == name && self.stamp.as_str() == stamp.as_str()
    }

    pub(crate) fn stamp(&self) -> &RecordingStamp {
        &self.stamp
    }

    pub(crate) fn example_count(&self) -> usize {
        self.loaded.run.examples.len()
    }

    /// What the index keeps; an error where the recording is damaged.
    pub(crate) fn digest(&self) -> Result<RunDigest<'_>, String> {
        let damage = self.problems().iter().find(|problem| problem.kind != ProblemKind::Torn);
        if let Some(problem) = damage {
            return Err(problem.to_string());
        }
        let run = &self.loaded.run;
        let samples = run.examples.iter().filter_map(tagged).collect();
        Ok(RunDigest { info: self.info.as_ref(), samples, run })
    }
}

fn tagged(example: &Example) -> Option<TaggedSample> {
    let costs: Vec<f64> =
        example.attempts.iter().filter_map(|attempt| attempt.tally().cost_usd).collect();
    Some(TaggedSample {
        sample: ExampleResults::of(example, true)?,
        tags: example.tags.clone(),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
    })
}

impl RunDigest<'_> {
    /// What all model calls of the run cost.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        let outside = self.run.model_calls.iter().filter_map(|call| call.cost_usd);
        let costs: Vec<f64> =
            self.samples.iter().filter_map(|tagged| tagged.cost_usd).chain(outside).collect();
        (!costs.is_empty()).then(|| costs.iter().sum())
    }
}
