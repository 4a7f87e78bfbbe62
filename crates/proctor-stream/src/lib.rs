//! Events of a run over WebSocket.
//!
//! * [`Session`] sends one client its events, from an [`EventCursor`] over a [`Connection`]. `/ws` of the server uses it too.
//! * [`WebSocketObserver`] serves a run to any number of local clients (`--events ws://…`); [`Feed`] is what they read from.
//! * [`RemoteStream`] is a client: it copies a stream to a file that grows like a recording.
//!
//! Recordings are read by `proctor-record`, which knows no runtime and no network.

mod feed;
mod handshake;
mod local_access;
mod observer;
mod observer_client;
mod remote;
mod session;
mod write_progress;

pub use feed::{Feed, FeedRecorder};
pub use local_access::{equals_in_constant_time, host_name, is_loopback_name};
pub use observer::WebSocketObserver;
pub use remote::{RemoteError, RemoteStream};
pub use session::{
    Connection, EventCursor, MessageFormat, Recording, Session, SessionEnd, SessionLimits,
};
pub use write_progress::{ProgressStream, WriteProgress};
