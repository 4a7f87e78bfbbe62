//! The standard input of a child as raw bytes, for programs that do not speak the RPC protocol.

use crate::rpc::io::Sink;
use std::io;

/// The writing end of a child's standard input. Dropping it closes the pipe: the child reads the end of its input.
#[derive(Debug)]
pub struct ChildInput(Sink);

impl ChildInput {
    pub(super) fn new(sink: Sink) -> Self {
        Self(sink)
    }

    /// Writes all bytes. Fails with [`io::ErrorKind::BrokenPipe`] when the child has closed its input or has ended.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            match self.0.try_write(left) {
                Ok(count) => left = &left[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.0.writable().await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
