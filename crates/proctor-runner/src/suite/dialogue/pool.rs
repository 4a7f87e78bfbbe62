//! Slots in this process: each conducts one conversation at a time, and there may be thousands.
//!
//! A slot is a task that follows the dispatcher's orders as a worker process would. What a conversation
//! says is gathered and handed to the run whenever somebody has to be waited for, and at its end.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proctor_converse::{Conversation, Lane, Printed, PrintedLine, Sink, Stage};
use proctor_dialogue::{Example, Verdict};
use proctor_events::{
    Body, Event, ExampleFinished, Exception, Millis, OutputStream, Status, WorkerLog,
};
use tokio::sync::mpsc;

use crate::worker::said::Said;
use crate::worker::{BoxFuture, Inbox, Item, Launched, Launcher, Order, Place, Report};

/// Everything the slots share.
pub(super) struct Pool {
    stage: Stage,
    examples: HashMap<String, Arc<Example>>,
    told_spent: AtomicBool,
    /// Whether somebody passes on what agents print.
    listening: AtomicBool,
}

impl Pool {
    pub(super) fn new(stage: Stage, examples: Vec<Arc<Example>>) -> Self {
        let named = examples.into_iter().map(|example| (example.id.id.to_string(), example));
        Self {
            stage,
            examples: named.collect(),
            told_spent: AtomicBool::new(false),
            listening: AtomicBool::new(false),
        }
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// What agents printed after everybody had stopped listening.
    pub(super) fn last_words(&self) -> Vec<String> {
        let rest = self.stage.printed().rest().into_iter();
        rest.map(|line| format!("{}: {}", line.agent, line.text)).collect()
    }

    fn conversation(&self, item: &Item) -> Option<(Conversation, &Arc<Example>)> {
        let example = self.examples.get(&item.key)?;
        let room = Arc::clone(self.stage.room(example)?);
        let lane =
            Lane { example: example.id.id.clone(), repeat: item.repeat, attempt: item.attempt };
        Some((Conversation::new(Arc::clone(example), room, lane), example))
    }
}

/// The launcher needs itself in the tasks it makes.
impl Launcher for Pool {
    fn launch(&self, _: u32, _: u32) -> BoxFuture<Result<Launched, String>> {
        Box::pin(std::future::ready(Err("conversations have no worker process".to_owned())))
    }

    fn serve(
        self: Arc<Self>,
        place: Place,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> BoxFuture<()> {
        if !self.listening.swap(true, Ordering::Relaxed) {
            let printed = Arc::clone(self.stage.printed());
            tokio::spawn(pass_on(printed, place.inbox.clone()));
        }
        let slot =
            Slot { pool: self, inbox: place.inbox, orders, queue: VecDeque::new(), ending: false };
        Box::pin(slot.serve())
    }

    fn has_processes(&self) -> bool {
        false
    }
}

/// Tells the run what agents print, as they print it. Ends with the run.
async fn pass_on(printed: Arc<Printed>, inbox: Inbox) {
    loop {
        let said = printed.next().await.into_iter().map(printed_line).collect();
        inbox.send(Report::Heard(said)).await;
    }
}

/// A line of an agent as output of the example it was printed for; the run's where nobody knows.
fn printed_line(line: PrintedLine) -> Said {
    let PrintedLine { agent, lane, stderr, text } = line;
    let stream = Some(if stderr { OutputStream::Stderr } else { OutputStream::Stdout });
    let text = if lane.is_some() { text.to_string() } else { format!("{agent}: {text}") };
    let mut event = Box::new(Event::from(WorkerLog { line: text, stream }));
    event.repeat = lane.as_ref().map(|lane| lane.repeat);
    Said::Event { key: lane.map(|lane| lane.example.to_string()), event }
}

struct Slot {
    pool: Arc<Pool>,
    inbox: Inbox,
    orders: mpsc::UnboundedReceiver<Order>,
    queue: VecDeque<Item>,
    ending: bool,
}

/// How a conversation left its slot.
enum Left {
    Ended(Verdict),
    Killed {
        timed_out: bool,
    },
    /// The run is over and nobody listens.
    Deserted,
}

impl Slot {
    async fn serve(mut self) {
        self.inbox.send(Report::Ready { pid: None }).await;
        while let Some(item) = self.next().await {
            match self.conduct(item).await {
                Left::Ended(_) => {}
                Left::Killed { .. } => break,
                Left::Deserted => return,
            }
        }
        self.inbox.send(Report::ended()).await;
    }

    /// The next item; nothing when the slot is to end.
    async fn next(&mut self) -> Option<Item> {
        loop {
            if self.ending {
                return None;
            }
            // With nothing left to spend, what is in the queue waits for the run to take it back.
            let spent = self.pool.told_spent.load(Ordering::Relaxed);
            if let Some(item) = (!spent).then(|| self.queue.pop_front()).flatten() {
                return Some(item);
            }
            let order = self.orders.recv().await?;
            if matches!(order, Order::Kill { .. }) {
                return None;
            }
            follow(order, &mut self.queue, &mut self.ending, &self.inbox).await;
        }
    }

    async fn conduct(&mut self, item: Item) -> Left {
        let pool = Arc::clone(&self.pool);
        let began = Instant::now();
        let mut sink = Telling { inbox: self.inbox.clone(), item, said: Vec::with_capacity(16) };
        sink.started();
        let Some((mut conversation, example)) = pool.conversation(&sink.item) else {
            let verdict = unknown(&sink.item);
            sink.finished(&verdict, None, began);
            sink.flush().await;
            return Left::Ended(verdict);
        };
        let left = {
            let mut running = pin!(conversation.run(&mut sink));
            loop {
                tokio::select! {
                    biased;
                    verdict = &mut running => break Left::Ended(verdict),
                    order = self.orders.recv() => match order {
                        None => break Left::Deserted,
                        Some(Order::Kill { timed_out }) => break Left::Killed { timed_out },
                        Some(order) => {
                            follow(order, &mut self.queue, &mut self.ending, &self.inbox).await;
                        }
                    },
                }
            }
        };
        match &left {
            Left::Ended(verdict) => sink.finished(verdict, Some(example), began),
            Left::Killed { timed_out } => {
                // The dispatcher knows only that it was ended. What the conversation has come to, and who kept it
                // waiting, is known here; a mere cancellation is told by the dispatcher in its own words.
                let verdict = conversation.cancel(&mut sink, *timed_out);
                let told = verdict.filter(|verdict| verdict.status != Status::Cancelled);
                if let Some(verdict) = told {
                    sink.finished(&verdict, Some(example), began);
                }
            }
            Left::Deserted => return left,
        }
        sink.flush().await;
        conversation.close().await;
        if pool.stage.is_spent() && !pool.told_spent.swap(true, Ordering::Relaxed) {
            self.inbox.send(Report::StopRun).await;
        }
        left
    }
}

/// Everything but killing.
async fn follow(order: Order, queue: &mut VecDeque<Item>, ending: &mut bool, inbox: &Inbox) {
    match order {
        Order::Run { units, .. } => queue.extend(units.into_iter().flatten()),
        Order::GiveBack(keys) => {
            let (back, kept): (VecDeque<Item>, _) =
                std::mem::take(queue).into_iter().partition(|item| keys.contains(&item.key));
            *queue = kept;
            let back = back.into_iter().map(|item| (item.key, item.repeat)).collect();
            inbox.send(Report::Returned(back)).await;
        }
        // It is given no more than may fail.
        Order::ChangeFailuresLeft(_) => {}
        Order::Shutdown | Order::Kill { .. } => *ending = true,
    }
}

fn unknown(item: &Item) -> Verdict {
    Verdict {
        status: Status::Errored,
        fault: Some(proctor_events::Fault::Harness),
        message: Some(format!("there is no example {}; this is a bug in proctor", item.key)),
        failures: Vec::new(),
        checks: 0,
    }
}

/// Gathers what a conversation says.
struct Telling {
    inbox: Inbox,
    item: Item,
    said: Vec<Said>,
}

impl Telling {
    fn started(&mut self) {
        let Item { key, repeat, .. } = &self.item;
        self.said.push(Said::Started { key: key.clone(), repeat: *repeat });
    }

    fn finished(&mut self, verdict: &Verdict, example: Option<&Arc<Example>>, began: Instant) {
        let outcome = Box::new(outcome(verdict, example.map(|example| example.location()), began));
        let Item { key, repeat, .. } = &self.item;
        self.said.push(Said::Finished { key: key.clone(), repeat: *repeat, outcome });
    }
}

impl Sink for Telling {
    fn emit(&mut self, body: Body) {
        let mut event = Box::new(Event::new(body));
        event.repeat = Some(self.item.repeat);
        self.said.push(Said::Event { key: Some(self.item.key.clone()), event });
    }

    fn flush(&mut self) -> proctor_converse::BoxFuture<'_, ()> {
        let said = std::mem::take(&mut self.said);
        Box::pin(async move {
            if !said.is_empty() {
                self.inbox.send(Report::Heard(said)).await;
            }
        })
    }
}

/// A verdict as the run records it.
fn outcome(verdict: &Verdict, place: Option<String>, began: Instant) -> ExampleFinished {
    let class = match verdict.status {
        Status::Failed => Some("ExpectationFailed"),
        Status::Errored => Some("ConversationError"),
        Status::Inconclusive => Some("NoVerdict"),
        _ => None,
    };
    let exception = class.map(|class| Exception {
        class: Some(class.to_owned()),
        message: verdict.message.clone().unwrap_or_default(),
        backtrace: place.into_iter().collect(),
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
