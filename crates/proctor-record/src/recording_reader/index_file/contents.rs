//! The contents of an index: where events stand, and the outline of the run, field by field.

use std::collections::HashMap;

use proctor_events::{ExampleId, Exception, LeakedProcess, StatusCounts, SuiteFinished};
use proctor_verdict::Policy;

use super::super::event_index::{EventIndex, EventRow, NO_EXAMPLE};
use super::super::recent_events::RecentEvents;
use super::super::{CommonRunId, Contents};
use super::encoding::{Input, Stored, stored};
use crate::aggregate::Aggregator;
use crate::model::{
    AgentMessage, Attempt, Conversation, Evaluation, Example, LogLine, ModelUse, OutsideError,
    PartyError, RunData, Simulation, ToolCall, TopicVisit, Turn, UserTurn, Worker,
};
use crate::tally::{CheckTally, Tally};

stored! {
    RunData {
        run_id, format_version, started_at, finished_at, duration_ms, seed, planned,
        planned_repetitions, repeat_limit, exit_code, begun, ending, over, interrupted, policy,
        last_seq, event_count, examples, errors, workers, model_calls, unknown_events;
        without verdict_of_all
    }
    Example {
        id, suite, file, path, has_late_name, location, description, tags, scenario, pass_rate,
        deterministic, scripted, repeats, attempts,
    }
    Attempt {
        repeat, attempt, worker, status, fault, is_final, flaky, checks, started_at, finished_at,
        first_event, end_event, duration_ms, exception, message, exit_status, signal, output_tail,
        leaked, conversation, evaluations, troubles, model_calls, output, output_dropped,
        final_tally,
    }
    Tally {
        turns, replies, tool_calls, model_calls, agent_calls, open_calls, tokens, cost_usd, topics,
        checks,
    }
    CheckTally { name, soft, passed, score, judged, turn }
    Conversation { turns, simulations, topics }
    Turn { number, user, responses, tool_calls, topic }
    UserTurn { text, source, time, metadata }
    AgentMessage {
        text, time, duration_ms, first_token_ms, pending_tool_calls, metadata, calls_listed,
    }
    ToolCall { id, name, arguments, result, error, completed, time, duration_ms, metadata }
    Simulation { goal, max_turns, turn_count, termination_reason }
    TopicVisit { topic, turn, trigger }
    Evaluation {
        turn, topic, mode, kind, name, description, passed, score, reasoning, message, metadata,
    }
    PartyError { whose, turn, operation, class, message, context }
    OutsideError { phase, place, exception, message }
    ModelUse {
        backend, model, purpose, input_tokens, output_tokens, cost_usd, duration_ms, cached, error,
    }
    LogLine { stream, line }
    Worker { number, started, crashed, pid, ran, output, output_dropped }
    Exception { class, message, backtrace, full_backtrace, extra }
    LeakedProcess { pid, command, extra }
    StatusCounts {
        passed, failed, pending, inconclusive, errored, crashed, timed_out, cancelled, not_run,
        flaky, within_rate, unchecked, extra,
    }
    SuiteFinished {
        example_count, failure_count, pending_count, counts, error_count, duration_ms, exit_code,
        state, stopped_by, verdict, repetition_count, late_count,
    }
    CommonRunId { id, is_common }
    Policy { flaky_fails, inconclusive_fails, unchecked_fails, allow_empty }
}

impl Stored for Contents {
    fn store(&self, out: &mut Vec<u8>) {
        self.unusable_lines.store(out);
        self.run_id.store(out);
        self.outline.run().store(out);
        self.index.store(out);
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        let unusable_lines = u64::restore(input)?;
        let run_id = CommonRunId::restore(input)?;
        let outline = Aggregator::outline_of(RunData::restore(input)?);
        Some(Self { unusable_lines, run_id, outline, index: EventIndex::restore(input)? })
    }
}

/// The texts of the newest events are not stored: they are read from the recording when they are asked for.
impl Stored for EventIndex {
    fn store(&self, out: &mut Vec<u8>) {
        let Self { rows, types, examples, recent: _ } = self;
        types.store(out);
        let mut examples: Vec<(&ExampleId, &u32)> = examples.iter().collect();
        examples.sort_unstable_by_key(|(_, number)| **number);
        examples.len().store(out);
        for (id, _) in examples {
            id.store(out);
        }
        rows.len().store(out);
        let mut before = EventRow::BEFORE_ALL;
        for row in rows {
            row.store_after(&before, out);
            before = *row;
        }
    }

    fn restore(input: &mut Input<'_>) -> Option<Self> {
        let types: Vec<String> = Vec::restore(input)?;
        let ids: Vec<ExampleId> = Vec::restore(input)?;
        let count = usize::restore(input)?;
        if count > input.0.len() / EventRow::MIN_ROW_BYTES {
            return None;
        }
        let mut rows = Vec::with_capacity(count);
        let mut before = EventRow::BEFORE_ALL;
        for _ in 0..count {
            let row = EventRow::restore_after(&before, input)?;
            let known_example = row.example == NO_EXAMPLE || (row.example as usize) < ids.len();
            if !known_example || usize::from(row.event_type) >= types.len() {
                return None;
            }
            rows.push(row);
            before = row;
        }
        let count = ids.len();
        let examples: HashMap<ExampleId, u32> = ids.into_iter().zip(0..).collect();
        // Of an id that stands twice, rows could name a number that stands for no example.
        if examples.len() != count {
            return None;
        }
        Some(Self { rows, types, examples, recent: RecentEvents::default() })
    }
}

impl EventRow {
    const BEFORE_ALL: Self = Self {
        offset: 0,
        length: 0,
        example: NO_EXAMPLE,
        seq: 0,
        event_type: 0,
        current_form: false,
    };

    /// How many bytes a stored row has at least: one for each number.
    const MIN_ROW_BYTES: usize = 5;

    /// Where the line ends, without its line end.
    pub(super) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length.into())
    }

    /// Stores what differs from the row before: mostly one byte for each number.
    fn store_after(&self, before: &Self, out: &mut Vec<u8>) {
        // Lines follow each other in the file.
        self.offset.saturating_sub(before.end().unwrap_or_default()).store(out);
        self.length.store(out);
        // "No example" is the largest number and becomes 0.
        self.example.wrapping_add(1).store(out);
        self.seq.wrapping_sub(before.seq).cast_signed().store(out);
        (u32::from(self.event_type) << 1 | u32::from(self.current_form)).store(out);
    }

    fn restore_after(before: &Self, input: &mut Input<'_>) -> Option<Self> {
        let offset = before.end()?.checked_add(u64::restore(input)?)?;
        let length = u32::restore(input)?;
        let example = u32::restore(input)?.wrapping_sub(1);
        let seq = before.seq.wrapping_add(i64::restore(input)?.cast_unsigned());
        let form = u32::restore(input)?;
        let event_type = u16::try_from(form >> 1).ok()?;
        Some(Self { offset, length, example, seq, event_type, current_form: form & 1 == 1 })
    }
}
