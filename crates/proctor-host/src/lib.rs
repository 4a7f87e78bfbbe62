//! The host's side of conversations that a worker writes: an RSpec example says what the user says, simulates and
//! asserts; the engine, the judge and the simulated user are here.
//!
//! [`Host`] belongs to a run and owns its stages: models, budget, cassette. A [`Desk`] belongs to one connection and
//! owns its open conversations; it answers the requests `conversation.*` and asks back for what only the worker has:
//! the agent (`agent.chat`, `agent.tool`) and blocks of code (`evaluate_block`). Events go to whoever holds the
//! [`Events`] end; a request is answered only after everything that happened has been handed over.
//!
//! Nothing here prints, reads the environment, or knows RSpec. The wire format is in `docs/protocol.md`.

mod desk;
mod host;
mod news;
mod talk;
mod worker;

pub use desk::{Attempt, Desk, Events};
pub use host::Host;
