//! The turns that spans are awaited for, and the spans that have come.
//!
//! Each turn has a trace of its own. A span belongs to the turn whose trace it names and to no other; a span of another trace is
//! counted. So is one that comes when its turn is over: what was decided about the turn was decided without it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::evidence::{Evidence, Gap, gap, has_server_root, is_instrumented};
use crate::span::{Span, SpanId, TraceId, hex};

/// The most spans of one turn.
const MAX_SPANS: usize = 10_000;
/// How many turns that are over are remembered, to tell late spans from those of other traces.
const MAX_CLOSED: usize = 100_000;
/// How long nothing must have come before the spans of a program that does not say that it has sent all count as complete.
/// Programs are told to send what they have every tenth of a second.
const QUIET: Duration = Duration::from_millis(300);

/// Spans by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// Kept for the turn they belong to.
    pub kept: u64,
    /// Of traces that no turn has.
    pub of_other_traces: u64,
    /// Arrived after their turn was over.
    pub late: u64,
    /// More than are kept for one turn.
    pub too_many: u64,
    /// Requests that could not be read.
    pub refused_requests: u64,
}

#[derive(Debug, Default)]
pub(crate) struct SpanStore(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    open: HashMap<TraceId, Collected>,
    closed: HashSet<TraceId>,
    closed_order: VecDeque<TraceId>,
    counts: SpanCounts,
    /// Why the last request was refused.
    refusal: Option<String>,
}

#[derive(Debug)]
struct Collected {
    spans: Vec<Span>,
    ids: HashSet<SpanId>,
    too_many: bool,
    last_arrival: Instant,
    arrived: Arc<Notify>,
}

impl SpanStore {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes spans that have arrived. The same span may come again: senders repeat requests that were not answered in time.
    pub(crate) fn add(&self, spans: Vec<Span>) {
        let mut inner = self.inner();
        let mut woken: Vec<Arc<Notify>> = Vec::new();
        for span in spans {
            let inner = &mut *inner;
            let Some(turn) = inner.open.get_mut(&span.trace_id) else {
                if inner.closed.contains(&span.trace_id) {
                    inner.counts.late += 1;
                } else {
                    inner.counts.of_other_traces += 1;
                }
                continue;
            };
            turn.last_arrival = Instant::now();
            if turn.spans.len() >= MAX_SPANS {
                turn.too_many = true;
                inner.counts.too_many += 1;
            } else if turn.ids.insert(span.span_id) {
                inner.counts.kept += 1;
                turn.spans.push(span);
            }
            if !woken.iter().any(|known| Arc::ptr_eq(known, &turn.arrived)) {
                woken.push(Arc::clone(&turn.arrived));
            }
        }
        drop(inner);
        for arrived in woken {
            arrived.notify_one();
        }
    }

    /// A request could not be read.
    pub(crate) fn refuse(&self, reason: String) {
        let mut inner = self.inner();
        inner.counts.refused_requests += 1;
        inner.refusal = Some(reason);
    }

    pub(crate) fn counts(&self) -> SpanCounts {
        self.inner().counts
    }

    pub(crate) fn last_refusal(&self) -> Option<String> {
        self.inner().refusal.clone()
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Result<OpenTurn, getrandom::Error> {
        let (mut trace_id, mut turn): (TraceId, SpanId) = ([0; 16], [0; 8]);
        getrandom::fill(&mut trace_id)?;
        getrandom::fill(&mut turn)?;
        // An id of zeros stands for none.
        (trace_id[0], turn[0]) = (trace_id[0] | 1, turn[0] | 1);
        let mut inner = self.inner();
        let arrived = Arc::new(Notify::new());
        let collected = Collected {
            spans: Vec::new(),
            ids: HashSet::new(),
            too_many: false,
            last_arrival: Instant::now(),
            arrived: Arc::clone(&arrived),
        };
        inner.open.insert(trace_id, collected);
        let before = inner.counts;
        drop(inner);
        Ok(OpenTurn { store: Arc::clone(self), trace_id, turn, arrived, before })
    }
}

/// How the spans of a turn arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The program has sent all that had ended before it answered.
    Flushed,
    /// The program sends them when it does.
    InTheBackground,
}

/// A turn that spans may come for, until it is dropped.
#[derive(Debug)]
pub struct OpenTurn {
    store: Arc<SpanStore>,
    trace_id: TraceId,
    turn: SpanId,
    arrived: Arc<Notify>,
    before: SpanCounts,
}

/// The spans of a turn that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSpans {
    /// What they say.
    pub evidence: Evidence,
    /// Why they do not say which calls were made; nothing if they do.
    pub gap: Option<Gap>,
    /// How many spans of other traces came meanwhile, of whichever conversation.
    pub of_other_traces: u64,
    /// The spans.
    pub spans: Vec<Span>,
}

impl OpenTurn {
    /// The turn as the header `traceparent` of W3C Trace Context.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", hex(&self.trace_id), hex(&self.turn))
    }

    /// Waits for the spans of the turn, but not longer than this.
    pub async fn finish(self, arrival: Arrival, within: Duration) -> TurnSpans {
        let deadline = Instant::now() + within;
        loop {
            let arrived = self.arrived.notified();
            match self.wait_until(arrival) {
                None => break,
                Some(until) => {
                    let until = until.map_or(deadline, |until| until.min(deadline));
                    let _ = tokio::time::timeout_at(until, arrived).await;
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        self.close()
    }

    /// What has come so far, without waiting.
    pub fn close(self) -> TurnSpans {
        let mut inner = self.store.inner();
        let collected = inner.open.remove(&self.trace_id);
        let counts = inner.counts;
        drop(inner);
        let (spans, too_many) =
            collected.map(|turn| (turn.spans, turn.too_many)).unwrap_or_default();
        let missing = match () {
            () if too_many => Some(Gap::TooMany),
            () if counts.refused_requests > self.before.refused_requests => Some(Gap::Refused),
            () => gap(self.turn, &spans),
        };
        let uninstrumented = (!is_instrumented(&spans)).then_some(Gap::NotInstrumented);
        TurnSpans {
            evidence: Evidence::of(self.turn, &spans),
            gap: missing.or(uninstrumented),
            of_other_traces: counts.of_other_traces - self.before.of_other_traces,
            spans,
        }
    }

    /// Until when more spans are to be waited for: nothing if no more are, `Some(None)` if until the deadline.
    #[expect(
        clippy::option_option,
        reason = "not at all, without a limit of its own, or until then"
    )]
    fn wait_until(&self, arrival: Arrival) -> Option<Option<Instant>> {
        let inner = self.store.inner();
        let turn = inner.open.get(&self.trace_id)?;
        let missing = gap(self.turn, &turn.spans);
        match (arrival, missing) {
            // What has ended is here. Nothing shows that more will come.
            (Arrival::Flushed, None | Some(Gap::NoSpans)) => None,
            (_, Some(_)) => Some(None),
            (Arrival::InTheBackground, None) => {
                let quiet_at = turn.last_arrival + QUIET;
                let is_over = has_server_root(self.turn, &turn.spans) || Instant::now() >= quiet_at;
                (!is_over).then_some(Some(quiet_at))
            }
        }
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        let mut inner = self.store.inner();
        inner.open.remove(&self.trace_id);
        if inner.closed.insert(self.trace_id) {
            inner.closed_order.push_back(self.trace_id);
        }
        if inner.closed_order.len() > MAX_CLOSED
            && let Some(oldest) = inner.closed_order.pop_front()
        {
            inner.closed.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn store() -> Arc<SpanStore> {
        Arc::default()
    }

    fn span(turn: &OpenTurn, id: u8, parent: Option<u8>) -> Span {
        Span {
            trace_id: turn.trace_id,
            span_id: [id; 8],
            parent: Some(parent.map_or(turn.turn, |parent| [parent; 8])),
            attributes: vec![("openinference.span.kind".into(), json!("AGENT"))],
            ..Span::default()
        }
    }

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn what_was_flushed_is_complete_at_once() {
        let store = store();
        let turn = store.begin().unwrap();
        store.add(vec![span(&turn, 2, Some(1)), span(&turn, 1, None)]);
        let began = Instant::now();
        let spans = turn.finish(Arrival::Flushed, LONG).await;
        assert_eq!((spans.gap, spans.spans.len()), (None, 2));
        let none = store.begin().unwrap().finish(Arrival::Flushed, LONG).await;
        assert_eq!(none.gap, Some(Gap::NoSpans));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    /// Spans of streams end after the answer, also where everything was flushed.
    #[tokio::test(start_paused = true)]
    async fn parents_that_have_not_ended_are_waited_for() {
        let store = store();
        let turn = store.begin().unwrap();
        let (inner, root) = (span(&turn, 2, Some(1)), span(&turn, 1, None));
        store.add(vec![inner]);
        let later = Arc::clone(&store);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            later.add(vec![root]);
        });
        assert_eq!(turn.finish(Arrival::Flushed, LONG).await.gap, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_come_is_a_gap() {
        let store = store();
        let turn = store.begin().unwrap();
        store.add(vec![span(&turn, 2, Some(1))]);
        let began = Instant::now();
        let spans = turn.finish(Arrival::InTheBackground, Duration::from_secs(5)).await;
        assert_eq!(spans.gap, Some(Gap::NoRoot));
        assert_eq!(began.elapsed(), Duration::from_secs(5));
    }

    /// A second root may follow the first one.
    #[tokio::test(start_paused = true)]
    async fn without_a_flush_nothing_must_have_come_for_a_while() {
        let store = store();
        let turn = store.begin().unwrap();
        store.add(vec![span(&turn, 1, None)]);
        let second = span(&turn, 2, None);
        let later = Arc::clone(&store);
        tokio::spawn(async move {
            tokio::time::sleep(QUIET / 2).await;
            later.add(vec![second]);
        });
        let began = Instant::now();
        let spans = turn.finish(Arrival::InTheBackground, LONG).await;
        assert_eq!((spans.gap, spans.spans.len()), (None, 2));
        assert_eq!(began.elapsed(), QUIET / 2 + QUIET);
    }

    #[tokio::test]
    async fn spans_of_other_traces_belong_to_no_turn() {
        let store = store();
        let (turn, other) = (store.begin().unwrap(), store.begin().unwrap());
        let foreign = Span { trace_id: [7; 16], ..span(&turn, 3, None) };
        let late = span(&other, 4, None);
        drop(other);
        store.add(vec![foreign, late, span(&turn, 1, None)]);
        let spans = turn.finish(Arrival::Flushed, LONG).await;
        assert_eq!((spans.spans.len(), spans.of_other_traces), (1, 1));
        let counts = store.counts();
        assert_eq!((counts.kept, counts.of_other_traces, counts.late), (1, 1, 1));
    }

    #[tokio::test]
    async fn what_is_not_kept_or_read_is_a_gap() {
        let store = store();
        let turn = store.begin().unwrap();
        let many = (0..=MAX_SPANS).map(|n| Span {
            span_id: u64::try_from(n + 1).unwrap().to_be_bytes(),
            ..span(&turn, 1, None)
        });
        store.add(many.collect());
        let turn_spans = turn.finish(Arrival::Flushed, LONG).await;
        assert_eq!((turn_spans.gap, turn_spans.spans.len()), (Some(Gap::TooMany), MAX_SPANS));
        let turn = store.begin().unwrap();
        store.add(vec![span(&turn, 1, None)]);
        store.refuse("no protobuf".into());
        assert_eq!(turn.finish(Arrival::Flushed, LONG).await.gap, Some(Gap::Refused));
    }

    #[tokio::test]
    async fn a_span_that_comes_twice_is_kept_once() {
        let store = store();
        let turn = store.begin().unwrap();
        store.add(vec![span(&turn, 1, None), span(&turn, 1, None)]);
        assert_eq!(turn.finish(Arrival::Flushed, LONG).await.spans.len(), 1);
    }
}
