//! The tools that agents call: one table, offered over MCP and to a shell.
//!
//! * [`Tool`] is one row of the table: name, description, schemas, hints and a handler. [`Tools`] is the table.
//! * [`Engine`] is what handlers work with; it is a cheap handle, and handlers keep nothing between calls.
//! * [`Offer`] says which tools a client is shown, and in which form they answer.
//! * [`serve_stdio`] and [`http`] speak MCP; theirs, that of the offer, that of their lines and that of their [`Sessions`] are the only modules that know `rmcp`.
//!
//! The work itself is done by other crates: the journal, the recordings, the runner's own process. Nothing here
//! prints, reads the environment or the clock: the binary passes in what it needs as a [`Setup`].

#![expect(
    clippy::needless_pass_by_value,
    reason = "a handler owns its parameters, whether or not it takes them apart"
)]

mod engine;
mod error;
mod journal;
mod lines;
mod mutants;
mod offer;
mod runs;
mod server;
mod sessions;
mod table;

pub use engine::{Engine, JournalSetup, Setup};
pub use error::{ToolError, kind};
pub use offer::{Answers, Listing, Offer};
pub use proctor_tools::CallContext;
pub use server::{Handler, HttpService, ServeError, http, serve, serve_stdio};
pub use sessions::{SessionError, Sessions};
pub use table::{Group, Hints, Tool, Tools};
