//! A run that another program embeds (`--controller-fd`): its events go to that program over an inherited socket, and so do
//! requests to stop. The run ends with that program, however it ends.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use proctor_runner::Controller;
use proctor_stream::{
    Feed, MessageFormat, MessageOptions, ProgressFrequency, ReaderMessage, SocketStream,
};
use proctor_verdict::StopCause;

use super::recording::Recording;
use crate::error::CommandError;

/// How long a run may take to end after the program that embeds it is gone. What is left is ended by the guards.
const END_WITHIN: Duration = Duration::from_secs(10);

/// The program that embeds the run.
pub(super) struct EmbeddingProgram(SocketStream);

impl EmbeddingProgram {
    /// Sends it the events of the run from the first one on. Call before the run starts.
    pub(super) fn connect(
        descriptor: i32,
        recording: &Recording,
        controller: &Controller,
    ) -> Result<Self, CommandError> {
        let socket = proctor_process::adopt_inherited_socket(descriptor).map_err(|error| {
            CommandError::usage(format_args!(
                "--controller-fd {descriptor} cannot be used: {error}"
            ))
            .hint(
                "it is for programs that embed a run: see `proctor/controller` of the Ruby library",
            )
            .with_source(error)
        })?;
        let feed = Feed::new(&recording.events_path());
        recording.bus.add_recorder(feed.recorder());
        let options =
            MessageOptions { format: MessageFormat::Envelope, progress: ProgressFrequency::Each };
        let controller = controller.clone();
        let handle = move |message| handle_message(&controller, &message);
        Ok(Self(SocketStream::start(UnixStream::from(socket), feed, options, handle)?))
    }

    /// Waits until it has received everything. Call after the recording has ended.
    pub(super) fn finish(self) {
        self.0.finish();
    }
}

fn handle_message(controller: &Controller, message: &ReaderMessage) {
    match message {
        ReaderMessage::Line(line) if line == "cancel" => controller.cancel(StopCause::Request),
        ReaderMessage::Line(line) if line == "kill" => controller.kill(StopCause::Request),
        // A newer library may know more requests than this program.
        ReaderMessage::Line(_) => {}
        ReaderMessage::Gone => end_with_parent(controller.clone()),
    }
}

/// Nobody waits for the result. What does not end in time is left to the guards.
#[expect(clippy::exit, reason = "whoever would get an error is gone")]
fn end_with_parent(controller: Controller) {
    if controller.result().is_some() {
        return;
    }
    controller.kill(StopCause::Request);
    let watch = move || {
        if controller.wait_timeout(END_WITHIN).is_none() {
            std::process::exit(1);
        }
    };
    // Without the thread the run ends by itself, or not at all.
    let _ = std::thread::Builder::new().name("embedding".to_owned()).spawn(watch);
}
