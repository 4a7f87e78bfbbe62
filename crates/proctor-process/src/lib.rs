//! Children, process trees and newline-delimited JSON RPC.
//!
//! Purpose: start programs, talk to them, and be certain that they end. What this crate must not know:
//! events, examples, recordings, terminals. It never prints, and reads no environment but what
//! children inherit.
//!
//! - [`ManagedProcess`]: one child with its states, its stop ladder and its output.
//! - [`Channel`]: requests, replies and notifications as lines; the protocol is in [`protocol`].
//! - [`Listener`]: the transport for workers that connect to a socket path.
//! - [`guard`]: the small process that ends a child tree when we end, however we end.
//! - [`ShortCommand`]: a program with a time limit whose output is read whole; [`git::Git`] is built on it.
//! - [`capture_output`]: a managed program that is given its input, run to its end and read.
//! - [`DetachedCommand`]: a program that goes on when this process ends.
//! - [`ChildEnvironment`]: the variables of a child; every way to start a program takes one.
//! - [`worker`]: the other side, for writing a worker in a few lines.
//!
//! Pure parts, tested without processes or clocks: [`framer`], [`protocol`], the lifecycle, the table of
//! pending requests, the splitter of output lines.

mod allowed_variables;
mod captured_output;
mod child_environment;
mod detached_command;
mod diagnostics;
mod exit;
pub mod framer;
#[doc(hidden)]
pub mod fuzzing;
pub mod git;
pub mod guard;
pub mod json_rpc;
mod launch;
mod lifecycle;
mod listener;
mod output;
mod process;
pub mod protocol;
mod rpc;
mod short_command;
mod spec;
mod sys;
pub mod worker;

pub use allowed_variables::{ALLOWED_VARIABLES, AllowedGroup};
pub use captured_output::{CaptureError, CapturedOutput, capture_output};
pub use child_environment::{ChildEnvironment, HeldBack};
pub use detached_command::{DetachedCommand, DetachedProcess};
pub use diagnostics::{Diagnostic, DiagnosticSink};
pub use exit::{ExitReport, ExitStatus, Leaked};
pub use launch::StartError;
pub use lifecycle::State;
pub use listener::{Connection, Listener, ListenerConfig, ListenerError};
pub use output::{Line, Lines, OutputConfig, OutputStream, Overflow};
pub use process::{ChildInput, ManagedProcess, StopError, WaitTimeout, WeakProcess};
pub use rpc::{
    Channel, ChannelClosed, ChannelConfig, CloseReason, HandlerFuture, HandlerResult,
    NotificationBatch, NotificationMode, Notifications, NotifyError, Payload, RequestError,
    RequestHandler,
};
pub use short_command::{ShortCommand, ShortCommandError, ShortOutput};
pub use spec::{Guard, GuardCommand, ProcessSpec, RpcMode};
pub use sys::{adopt_inherited_socket, report_file_size_limit_as_error};
