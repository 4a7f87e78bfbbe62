//! The host's side of conversations that a worker writes: an RSpec example gives the user's messages, simulations and
//! assertions; the engine, the judge and the simulated user run here.
//!
//! [`ConversationHost`] belongs to a run and owns its party registries: models, budget, cassette. A [`WorkerConnection`] owns the
//! open conversations of one connection; it answers the requests `conversation.*` and sends requests for what only the
//! worker has: the agent (`agent.chat`, `agent.tool`) and blocks of code (`evaluate_block`). Events go to
//! [`WorkerEvents`]; a request is answered only after all events that it caused have been published.
//!
//! Nothing here prints, reads the environment, or knows RSpec. The wire format is in `docs/protocol.md`.

mod connection;
mod host;
mod open_conversation;
mod turn_updates;
mod worker_parties;

pub use connection::{WorkerAttempt, WorkerConnection, WorkerEvents};
pub use host::ConversationHost;
