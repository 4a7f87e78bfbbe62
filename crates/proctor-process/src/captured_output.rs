//! Running a program to its end: input in, output out, no process left behind.

use crate::exit::ExitStatus;
use crate::launch::StartError;
use crate::output::Lines;
use crate::process::ManagedProcess;
use crate::spec::{ProcessSpec, RpcMode};

/// How many bytes of the end of standard error are kept.
const STDERR_TAIL: usize = 64 << 10;

/// What a program wrote and how it ended. Invalid UTF-8 became replacement characters.
#[derive(Debug, Clone)]
pub struct CapturedOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// The end of its standard error; `…` stands where the rest was cut off.
    pub stderr: String,
}

/// Why there is no complete output of a program.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It could not be started.
    #[error(transparent)]
    NotStarted(#[from] StartError),
    /// It was killed because it wrote too much.
    #[error("it wrote more than {limit} bytes")]
    TooMuchOutput {
        /// The most that it may write to its standard output.
        limit: usize,
    },
}

/// Runs a program with `input` on its standard input and waits for its end; its exit status is for the caller to judge. A program
/// that writes more than `limit` bytes to its standard output is killed. Dropping the future kills the tree; there is no other time
/// limit.
pub async fn capture_output(
    spec: ProcessSpec,
    input: &[u8],
    limit: usize,
) -> Result<CapturedOutput, CaptureError> {
    let process = ManagedProcess::new(spec.rpc(RpcMode::RawStdin));
    // Subscribed before the start, so that no line can make room for another.
    let (stdout, stderr) = (process.stdout().lines(), process.stderr().lines());
    process.start().await?;
    let stdin = process.take_stdin();
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input is no failure; its exit status decides.
            let _ = stdin.write_all(input).await;
        }
        Ok(())
    };
    let ended = async {
        let report = process.wait().await;
        process.stdout().writer_ended();
        process.stderr().writer_ended();
        Ok(report.status)
    };
    // The first failure ends the others: a program that writes too much may wait for us for ever.
    let ((), stdout, stderr, status) =
        tokio::try_join!(write, head(stdout, limit), async { Ok(tail(stderr).await) }, ended)?;
    Ok(CapturedOutput { status, stdout, stderr })
}

async fn head(mut lines: Lines, limit: usize) -> Result<String, CaptureError> {
    let mut text = String::new();
    while let Some(line) = lines.next().await {
        text.push_str(&line.text);
        if line.ended {
            text.push('\n');
        }
        if text.len() > limit {
            return Err(CaptureError::TooMuchOutput { limit });
        }
    }
    Ok(text)
}

/// Reads to the end and keeps the last bytes.
async fn tail(mut lines: Lines) -> String {
    let (mut text, mut is_cut) = (String::new(), false);
    while let Some(line) = lines.next().await {
        text.push_str(&line.text);
        if line.ended {
            text.push('\n');
        }
        let surplus = text.len().saturating_sub(STDERR_TAIL);
        text.drain(..text.ceil_char_boundary(surplus));
        is_cut |= surplus > 0;
    }
    // The mark lets the redactor see what the cut has left of a secret.
    if is_cut { format!("…{text}") } else { text }
}
