//! Cassettes: a run's calls on disk, to be played back without any of the peers.
//!
//! A cassette is a file of JSON lines ([`mod@format`]). A [`Recorder`] writes one, for models through
//! the layer [`RecordedModel`] and for tools by [`Recorder::record_outcome`]; a [`Player`] reads it, for models
//! through the backend [`ReplayedModel`] and for tools by [`Player::take_outcome`]. A [`Tape`] is a cassette that changes one conversation at a time. What was asked is compared
//! with what was recorded by [`drift`]: a miss names the nearest recorded request and how it
//! differs.

pub mod drift;
pub mod format;
mod player;
mod recorder;
mod tape;

pub use drift::{Difference, Drift};
pub use format::{Entry, Outcome};
pub use player::{Player, ReplayMode, ReplayedModel};
pub use recorder::{CallPosition, RecordedModel, Recorder};
pub use tape::{Tape, Tapes};

#[cfg(test)]
mod tests;
