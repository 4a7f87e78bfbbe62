//! Events of a run over WebSocket, and over a socket to the process that started the run.
//!
//! * [`Session`] sends one client its events, from an [`EventCursor`] over a [`Connection`]. `/ws` of the server uses it too.
//! * [`WebSocketObserver`] serves a run to any number of local clients (`--events ws://…`); [`Feed`] is what they read from.
//! * [`EventPage`]: events for a process that asks for them page by page.
//! * [`SocketStream`] sends a run to the process that started it, over an inherited socket.
//! * [`RemoteStream`] is a client: it copies a stream to a file that grows like a recording.
//!
//! Recordings are read by `proctor-record`, which knows no runtime and no network.

mod constant_time;
mod event_pages;
mod feed;
mod handshake;
mod message_form;
mod observer;
mod observer_client;
mod remote;
mod session;
mod socket_stream;
mod write_progress;

pub use constant_time::equals_in_constant_time;
pub use event_pages::EventPage;
pub use feed::{Feed, FeedRecorder};
pub use message_form::{MessageFormat, MessageOptions, ProgressFrequency};
pub use observer::WebSocketObserver;
pub use remote::{RemoteError, RemoteStream};
pub use session::{
    Connection, EndPace, EventCursor, Recording, Session, SessionEnd, SessionLimits,
};
pub use socket_stream::{ReaderMessage, SocketStream};
pub use write_progress::{ProgressStream, WriteProgress};
