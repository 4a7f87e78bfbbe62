//! Cassettes: a run's calls on disk, to be played back without any of the peers.
//!
//! A cassette is a file of JSON lines ([`mod@format`]). A [`Recorder`] writes one, for models through
//! the layer [`Recorded`] and for tools by [`Recorder::note`]; a [`Player`] reads it, for models
//! through the backend [`Replay`] and for tools by [`Player::take`]. What was asked is compared
//! with what was recorded by [`drift`]: a miss names the nearest recorded request and how it
//! differs.

pub mod drift;
pub mod format;
mod player;
mod recorder;

pub use drift::{Difference, Drift};
pub use format::{Entry, Outcome};
pub use player::{Player, Replay, ReplayMode};
pub use recorder::{Recorded, Recorder, Ticket};

#[cfg(test)]
mod tests;
