//! One message a line: the transport below MCP on a pair of streams.
//!
//! `rmcp` has such a transport, which passes over a line that is not JSON without a word. A client that waits for an answer to it
//! waits for ever, so here it gets one, as JSON-RPC has it: -32700 for what is not JSON, -32600 for JSON that is not a request, with the
//! request's id where there is one and `null` where there is none. Never answered are notifications and answers, however broken:
//! two programs that answer each other's errors would never end.
//!
//! All that is written goes through one task, line by line, so that no line can be torn by another or by a future that is dropped
//! half way. What it has not been able to write keeps readers waiting: a client that only ever writes costs a bounded amount of memory.

use std::io;
use std::time::Duration;

use proctor_process::json_rpc::{INVALID_REQUEST, ParsedLine, parse_line, refusal};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Longest line of input; the same limit as for a request over HTTP.
const MAX_LINE_BYTES: usize = 16 << 20;
/// How many lines may wait to be written.
const MAX_QUEUED_LINES: usize = 64;
/// How long the last lines may take once the client has closed its side.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// A line to write, and the sender that waits for the result.
struct OutgoingLine {
    line: Vec<u8>,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

/// The transport.
pub(crate) struct Lines<I> {
    input: BufReader<I>,
    /// What has been read of the next line.
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being passed over.
    skipping: bool,
    ended: bool,
    /// The error reply to a malformed line.
    pending_reply: Option<Vec<u8>>,
    output: Option<mpsc::Sender<OutgoingLine>>,
}

/// The task that writes queued lines.
pub(crate) struct WriterTask(JoinHandle<()>);

impl WriterTask {
    /// Waits until everything is written, with a time limit: the client may have stopped reading.
    pub(crate) async fn finish(self) {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.0).await;
    }
}

/// A transport over these streams.
pub(crate) fn over<I, O>(input: I, output: O) -> (Lines<I>, WriterTask)
where
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    let (sender, outgoing) = mpsc::channel(MAX_QUEUED_LINES);
    let writing = WriterTask(tokio::spawn(write_all(output, outgoing)));
    let lines = Lines {
        input: BufReader::new(input),
        line: Vec::new(),
        skipping: false,
        ended: false,
        pending_reply: None,
        output: Some(sender),
    };
    (lines, writing)
}

async fn write_all<O: AsyncWrite + Unpin>(mut output: O, mut lines: mpsc::Receiver<OutgoingLine>) {
    while let Some(OutgoingLine { line, written }) = lines.recv().await {
        let outcome = match output.write_all(&line).await {
            Ok(()) => output.flush().await,
            failed => failed,
        };
        let failed = outcome.is_err();
        if let Some(written) = written {
            // The sender may have given up waiting; ignore.
            let _ = written.send(outcome);
        }
        if failed {
            return;
        }
    }
}

fn connection_closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the client has closed the connection")
}

impl<I: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<I> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let (written, outcome) = oneshot::channel();
            let outgoing = OutgoingLine { line, written: Some(written) };
            output
                .ok_or_else(connection_closed)?
                .send(outgoing)
                .await
                .map_err(|_| connection_closed())?;
            outcome.await.unwrap_or_else(|_| Err(connection_closed()))
        }
    }

    /// May be dropped at any await: what was read and what is owed stay in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.send_pending_reply().await?;
            if self.ended {
                return None;
            }
            match self.read().await {
                ReadOutcome::Line => {}
                ReadOutcome::TooLong => {
                    let problem = format!("the line is longer than {MAX_LINE_BYTES} bytes");
                    self.pending_reply = Some(refusal(INVALID_REQUEST, &problem, &Value::Null));
                    continue;
                }
                // Bytes before the end of input without a line break are a line too.
                ReadOutcome::End => self.ended = true,
            }
            let outcome = parse_line(&self.line);
            self.line.clear();
            match outcome {
                ParsedLine::Message(message) => return Some(*message),
                ParsedLine::Nothing => {}
                ParsedLine::Refused(answer) => self.pending_reply = Some(answer),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        Ok(())
    }
}

/// The outcome of reading one line.
enum ReadOutcome {
    Line,
    TooLong,
    End,
}

impl<I: AsyncRead + Send + Unpin + 'static> Lines<I> {
    /// Sends the pending replies; `None` if the receiver is gone.
    async fn send_pending_reply(&mut self) -> Option<()> {
        if self.pending_reply.is_some() {
            let place = self.output.as_ref()?.reserve().await.ok()?;
            if let Some(line) = self.pending_reply.take() {
                place.send(OutgoingLine { line, written: None });
            }
        }
        Some(())
    }

    /// Reads on until there is a whole line, never keeping more of it than a line may have.
    async fn read(&mut self) -> ReadOutcome {
        loop {
            // A read error ends the stream.
            let Ok(read) = self.input.fill_buf().await else { return ReadOutcome::End };
            if read.is_empty() {
                return ReadOutcome::End;
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |place| place + 1);
            let too_long = !self.skipping && self.line.len() + taken > MAX_LINE_BYTES;
            if too_long {
                self.line.clear();
            } else if !self.skipping {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            let whole = end.is_some();
            let skipped = self.skipping;
            self.skipping = (skipped || too_long) && !whole;
            if too_long {
                return ReadOutcome::TooLong;
            }
            if whole && !skipped {
                return ReadOutcome::Line;
            }
        }
    }
}

#[cfg(test)]
mod tests;
