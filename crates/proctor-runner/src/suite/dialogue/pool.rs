//! Conducts the conversations of a suite in this process; there may be thousands at once.
//!
//! What a conversation says is collected and passed to the run whenever the conversation waits for another party, and at its end. The loop
//! of a slot is in `worker_link`.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proctor_converse::{
    AgentOutput, AgentOutputLine, AttemptId, Conversation, EventSink, PartyRegistry,
};
use proctor_dialogue::{ConversationOutcome, Example};
use proctor_events::{
    Body, Event, ExampleFinished, Exception, Millis, OutputStream, Status, WorkerLog,
};
use proctor_verdict::AGENT_PROCESS_DIED;
use tokio::sync::oneshot;

use crate::worker_link::local::ExamplePerformer;
use crate::worker_link::local_slot::StopCause;
use crate::worker_link::orders::ExampleRun;
use crate::worker_link::reports::Report;
use crate::worker_link::{BoxFuture, ReportSender};

/// Everything the slots share.
pub(super) struct ConversationPool {
    registry: PartyRegistry,
    examples: HashMap<String, Arc<Example>>,
    /// Whether the spent budget has been reported to the run.
    spent_reported: AtomicBool,
    /// Whether a task reports what agents print.
    output_reported: AtomicBool,
}

impl ConversationPool {
    pub(super) fn new(registry: PartyRegistry, examples: Vec<Arc<Example>>) -> Self {
        let named = examples.into_iter().map(|example| (example.id.id.to_string(), example));
        Self {
            registry,
            examples: named.collect(),
            spent_reported: AtomicBool::new(false),
            output_reported: AtomicBool::new(false),
        }
    }

    pub(super) fn registry(&self) -> &PartyRegistry {
        &self.registry
    }

    /// What agents printed after the last report.
    pub(super) fn unreported_output(&self) -> Vec<String> {
        let rest = self.registry.agent_output().rest().into_iter();
        rest.map(|line| format!("{}: {}", line.agent, line.text)).collect()
    }

    fn conversation(&self, run: &ExampleRun) -> Option<(Conversation, &Arc<Example>)> {
        let example = self.examples.get(&run.key)?;
        let parties = Arc::clone(self.registry.parties_of(example)?);
        let attempt_id =
            AttemptId { example: example.id.id.clone(), repeat: run.repeat, attempt: run.attempt };
        Some((Conversation::new(Arc::clone(example), parties, attempt_id), example))
    }

    async fn conduct(
        &self,
        run: ExampleRun,
        reports: ReportSender,
        stop: oneshot::Receiver<StopCause>,
    ) {
        let began = Instant::now();
        let mut sink = ReportSink { reports, run, waiting: Vec::with_capacity(16) };
        sink.started();
        let Some((mut conversation, example)) = self.conversation(&sink.run) else {
            sink.finished(&unknown_example(&sink.run), None, began);
            sink.flush().await;
            return;
        };
        let ended = {
            let running = pin!(conversation.run(&mut sink));
            tokio::select! {
                biased;
                verdict = running => Ok(verdict),
                cause = stop => Err(cause.unwrap_or(StopCause::LinkClosed)),
            }
        };
        match ended {
            Ok(verdict) => {
                let mut outcome = outcome(&verdict, Some(example), began);
                if conversation.lost_shared_agent() && verdict.status == Status::Errored {
                    let exception = outcome.exception.get_or_insert_default();
                    exception.class = Some(AGENT_PROCESS_DIED.to_owned());
                }
                sink.report(outcome);
            }
            Err(StopCause::LinkClosed) => return,
            Err(cause) => {
                // The dispatcher knows only that the conversation was ended. What it has come to, and who kept it
                // waiting, is known here; a mere cancellation is reported by the dispatcher in its own words.
                let verdict = conversation.cancel(&mut sink, cause == StopCause::TimedOut);
                if let Some(verdict) = verdict.filter(|each| each.status != Status::Cancelled) {
                    sink.finished(&verdict, Some(example), began);
                }
            }
        }
        sink.flush().await;
        conversation.close().await;
        if self.registry.is_budget_exhausted() && !self.spent_reported.swap(true, Ordering::Relaxed)
        {
            sink.reports.send(Report::BudgetSpent).await;
        }
    }
}

impl ExamplePerformer for ConversationPool {
    fn perform(
        self: Arc<Self>,
        run: ExampleRun,
        reports: ReportSender,
        stop: oneshot::Receiver<StopCause>,
    ) -> BoxFuture<()> {
        Box::pin(async move { self.conduct(run, reports, stop).await })
    }

    fn slot_opened(&self, reports: &ReportSender) {
        if !self.output_reported.swap(true, Ordering::Relaxed) {
            let printed = Arc::clone(self.registry.agent_output());
            tokio::spawn(report_output(printed, reports.clone()));
        }
    }

    /// With nothing left to spend, what waits is given back to the run.
    fn is_paused(&self) -> bool {
        self.spent_reported.load(Ordering::Relaxed)
    }
}

/// Reports what agents print, as they print it. Ends with the run.
async fn report_output(printed: Arc<AgentOutput>, reports: ReportSender) {
    loop {
        let lines = printed.next().await.into_iter().map(output_event).collect();
        reports.send_all(lines).await;
    }
}

/// A line of an agent as output of the example it was printed for, or of the run.
fn output_event(line: AgentOutputLine) -> Report {
    let AgentOutputLine { agent, attempt_id, stderr, text } = line;
    let stream = Some(if stderr { OutputStream::Stderr } else { OutputStream::Stdout });
    let text = if attempt_id.is_some() { text.to_string() } else { format!("{agent}: {text}") };
    let mut event = Box::new(Event::from(WorkerLog { line: text, stream }));
    event.repeat = attempt_id.as_ref().map(|attempt_id| attempt_id.repeat);
    Report::Event { key: attempt_id.map(|attempt_id| attempt_id.example.to_string()), event }
}

fn unknown_example(run: &ExampleRun) -> ConversationOutcome {
    ConversationOutcome {
        status: Status::Errored,
        fault: Some(proctor_events::Fault::Harness),
        message: Some(format!("there is no example {}; this is a bug in proctor", run.key)),
        failures: Vec::new(),
        checks: 0,
    }
}

/// Collects the reports of a conversation.
struct ReportSink {
    reports: ReportSender,
    run: ExampleRun,
    waiting: Vec<Report>,
}

impl ReportSink {
    fn started(&mut self) {
        let ExampleRun { key, repeat, .. } = &self.run;
        self.waiting.push(Report::Started { key: key.clone(), repeat: *repeat });
    }

    fn finished(
        &mut self,
        verdict: &ConversationOutcome,
        example: Option<&Arc<Example>>,
        began: Instant,
    ) {
        self.report(outcome(verdict, example.map(|example| &**example), began));
    }

    fn report(&mut self, outcome: ExampleFinished) {
        let ExampleRun { key, repeat, .. } = &self.run;
        let outcome = Box::new(outcome);
        self.waiting.push(Report::Finished { key: key.clone(), repeat: *repeat, outcome });
    }
}

impl EventSink for ReportSink {
    fn emit(&mut self, body: Body) {
        let mut event = Box::new(Event::new(body));
        event.repeat = Some(self.run.repeat);
        self.waiting.push(Report::Event { key: Some(self.run.key.clone()), event });
    }

    fn flush(&mut self) -> proctor_converse::BoxFuture<'_, ()> {
        let waiting = std::mem::take(&mut self.waiting);
        Box::pin(async move {
            if !waiting.is_empty() {
                self.reports.send_all(waiting).await;
            }
        })
    }
}

/// Where the failed assertions stand, each line once; the example itself where nothing else is known.
fn failed_lines(example: &Example, verdict: &ConversationOutcome) -> Vec<String> {
    let mut lines: Vec<u32> = verdict.failures.iter().filter_map(|failure| failure.line).collect();
    lines.dedup();
    if lines.is_empty() {
        return vec![example.location()];
    }
    lines.into_iter().map(|line| format!("{}:{line}", example.file)).collect()
}

/// A verdict as the run records it.
fn outcome(
    verdict: &ConversationOutcome,
    example: Option<&Example>,
    began: Instant,
) -> ExampleFinished {
    let class = match verdict.status {
        Status::Failed => Some("ExpectationFailed"),
        Status::Errored => Some("ConversationError"),
        Status::Inconclusive => Some("NoVerdict"),
        _ => None,
    };
    let exception = class.map(|class| Exception {
        class: Some(class.to_owned()),
        message: verdict.message.clone().unwrap_or_default(),
        backtrace: example.map(|example| failed_lines(example, verdict)).unwrap_or_default(),
        ..Exception::default()
    });
    ExampleFinished {
        status: verdict.status.clone(),
        fault: verdict.fault.clone(),
        checks: Some(verdict.checks),
        duration_ms: Some(Millis::from(began.elapsed())),
        message: verdict.message.clone().filter(|_| exception.is_none()),
        exception,
        ..ExampleFinished::default()
    }
}
