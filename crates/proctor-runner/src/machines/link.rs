//! The link of a slot that another machine serves: orders go out as messages. Reports come in with all that the machine says, so
//! this link sends none itself, and a lost machine is told to the run as a whole.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::wire::{self, ToMachine};
use super::{MachineMessage, Seat};
use crate::worker_link::{BoxFuture, SlotSeat, WorkerLink};

/// The link of one slot.
pub(crate) struct MachineLink {
    pub(crate) seat: Seat,
    pub(crate) messages: mpsc::UnboundedSender<MachineMessage>,
    /// Whether a worker process will serve it.
    pub(crate) has_process: bool,
}

impl WorkerLink for MachineLink {
    fn serve(self: Arc<Self>, seat: SlotSeat) -> BoxFuture<()> {
        let (slot, generation) = (seat.reports.slot(), seat.reports.generation());
        let marks = seat.marks.to_string();
        // Sent here and now: whatever the run tells the machine later comes later.
        self.send(&ToMachine::Serve { slot, generation, place: self.seat.place, marks });
        let mut orders = seat.orders;
        Box::pin(async move {
            while let Some(order) = orders.next().await {
                self.send(&ToMachine::Order { slot, generation, order });
            }
        })
    }

    fn has_process(&self) -> bool {
        self.has_process
    }
}

impl MachineLink {
    fn send(&self, message: &ToMachine) {
        let message = MachineMessage { boot: self.seat.boot.clone(), text: wire::write(message) };
        // The receiver is dropped when the run is over.
        let _ = self.messages.send(message);
    }
}
