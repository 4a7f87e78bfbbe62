//! How a slot is served: orders go to it and reports come from it, whatever is behind it.
//!
//! [`WorkerLink`] is implemented by [worker processes](process) and by [examples that run in this process](local); each slot has
//! a link of its own. Orders and reports are numbered wire types ([`orders`], [`reports`]), so that a link may as well lead to
//! another machine. The dispatcher decides what is ordered; the driver makes events of what is reported.

mod example_clock;
mod host_requests;
pub(crate) mod local;
pub(crate) mod local_slot;
pub(crate) mod orders;
mod output;
pub(crate) mod process;
pub(crate) mod reports;
pub(crate) mod worker_message;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

pub(crate) use self::host_requests::HostRequests;
use self::orders::{LastNumber, Order, WIRE_VERSION};
use self::reports::{Report, ReportBatch};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What serves one slot of a run.
pub(crate) trait WorkerLink: Send + Sync {
    /// Serves one generation of the slot, from its launch to its exit, which is the last report.
    fn serve(self: Arc<Self>, seat: SlotSeat) -> BoxFuture<()>;

    /// Whether a worker process is behind it, with a number and a life of its own to report.
    fn has_process(&self) -> bool;
}

/// Makes the link of the n-th slot of a suite.
pub(crate) type LinkFactory = Box<dyn Fn(u32) -> Arc<dyn WorkerLink> + Send + Sync>;

/// Makes the link of a slot whose process goes on loading the suite from a checkpoint, as the request says; it may take so long.
pub(crate) type CheckpointLinkFactory =
    Box<dyn Fn(CheckpointRequest) -> Arc<dyn WorkerLink> + Send + Sync>;

/// How a suite is loaded from a checkpoint.
#[derive(Debug, Clone)]
pub struct CheckpointRequest {
    /// What the process that has the checkpoints is told, besides which worker is wanted.
    pub instructions: serde_json::Map<String, serde_json::Value>,
    /// How long loading may take.
    pub within: std::time::Duration,
}

/// What the server of one generation of a slot gets.
pub(crate) struct SlotSeat {
    pub(crate) orders: OrderReceiver,
    pub(crate) reports: ReportSender,
    /// The text by which workers mark the output of examples.
    pub(crate) marks: Arc<str>,
}

impl SlotSeat {
    /// A seat and the end of it that gives orders.
    pub(crate) fn new(
        (slot, generation): (u32, u32),
        inbox: mpsc::Sender<ReportBatch>,
        marks: Arc<str>,
    ) -> (Self, mpsc::UnboundedSender<Order>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        let orders = OrderReceiver {
            receiver,
            last: LastNumber::default(),
            counters: Arc::clone(&counters),
        };
        let reports = ReportSender { slot, generation, counters, inbox };
        (Self { orders, reports, marks }, sender)
    }
}

/// The numbers that both directions of a link share.
#[derive(Debug, Default)]
struct Counters {
    last_order: AtomicU64,
    /// The number of the last batch; locked until the batch is in the queue, so that batches arrive in the order of their
    /// numbers whichever task sends them.
    last_batch: Mutex<u64>,
}

/// The orders to one generation of a slot; each is received once.
pub(crate) struct OrderReceiver {
    receiver: mpsc::UnboundedReceiver<Order>,
    last: LastNumber,
    counters: Arc<Counters>,
}

impl OrderReceiver {
    /// The next order; `None` when the run is over. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Order> {
        loop {
            let order = self.receiver.recv().await?;
            if self.last.accept(order.number) {
                self.counters.last_order.store(self.last.get(), Ordering::Relaxed);
                return Some(order);
            }
        }
    }
}

/// Sends the reports of one generation of a slot. Clones share the numbers of their batches.
#[derive(Clone)]
pub(crate) struct ReportSender {
    slot: u32,
    generation: u32,
    counters: Arc<Counters>,
    inbox: mpsc::Sender<ReportBatch>,
}

impl ReportSender {
    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) async fn send(&self, report: Report) {
        self.send_all(vec![report]).await;
    }

    /// Waits while the run is behind; that is the back-pressure. The receiver is dropped when the run is over; that is ignored.
    pub(crate) async fn send_all(&self, reports: Vec<Report>) {
        let Ok(place) = self.inbox.reserve().await else { return };
        let mut number = self.counters.last_batch.lock().unwrap_or_else(PoisonError::into_inner);
        *number += 1;
        place.send(ReportBatch {
            version: WIRE_VERSION,
            number: *number,
            slot: self.slot,
            generation: self.generation,
            last_order: self.counters.last_order.load(Ordering::Relaxed),
            reports,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::orders::{OrderAction, OrderNumbers};
    use super::*;

    #[tokio::test]
    async fn an_order_that_comes_twice_is_received_once_and_reports_name_the_last() {
        let (inbox, mut batches) = mpsc::channel(8);
        let (mut seat, orders) = SlotSeat::new((3, 2), inbox, "marks".into());
        assert_eq!((seat.reports.slot(), seat.reports.generation()), (3, 2));
        let mut numbers = OrderNumbers::default();
        let (first, second) = (
            numbers.number(OrderAction::Shutdown { stopped: false }),
            numbers.number(OrderAction::Shutdown { stopped: false }),
        );
        for order in [&first, &first, &second, &first] {
            orders.send(order.clone()).unwrap();
        }
        drop(orders);
        assert_eq!(seat.orders.next().await.map(|order| order.number), Some(1));
        seat.reports.send(Report::BudgetSpent).await;
        assert_eq!(seat.orders.next().await.map(|order| order.number), Some(2));
        assert_eq!(seat.orders.next().await, None);
        seat.reports.send(Report::BudgetSpent).await;
        drop(seat);
        let mut received = Vec::new();
        while let Some(batch) = batches.recv().await {
            received.push((batch.number, batch.slot, batch.generation, batch.last_order));
        }
        assert_eq!(received, [(1, 3, 2, 1), (2, 3, 2, 2)]);
    }
}
