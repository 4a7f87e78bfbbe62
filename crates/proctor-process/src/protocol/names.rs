//! The words of the protocol that this crate itself uses. The table of all actions is on the page.

/// Names of actions that this crate itself sends or answers.
pub mod action {
    /// First request of the host: protocol version and names.
    pub const HELLO: &str = "hello";
    /// Asks the worker to reply and exit with 0.
    pub const SHUTDOWN: &str = "__shutdown__";
}

/// Types of notifications that this crate itself sends or reads.
pub mod kind {
    /// First line on a connection to the socket path.
    pub const CONNECT: &str = "connect";
    /// The sender no longer waits for a request.
    pub const CANCEL_REQUEST: &str = "cancel_request";
    /// An event of the run.
    pub const EVENT: &str = "event";
    /// A diagnostic about the worker itself.
    pub const LOG: &str = "log";
    /// Made by the channel itself, in place of a line that could not be read; see `ChannelConfig::report_unreadable`.
    pub const UNREADABLE: &str = "unreadable_line";
}

/// Codes of failed replies.
pub mod code {
    /// The action is not known.
    pub const UNKNOWN_ACTION: &str = "unknown_action";
    /// The request lacks something or has it in the wrong form.
    pub const BAD_REQUEST: &str = "bad_request";
    /// The action was tried and failed.
    pub const FAILED: &str = "failed";
    /// The request was cancelled before it was done.
    pub const CANCELLED: &str = "cancelled";
    /// None of the offered protocol versions is spoken.
    pub const UNSUPPORTED_PROTOCOL: &str = "unsupported_protocol";
    /// The answer would be longer than a line may be.
    pub const TOO_LARGE: &str = "too_large";
    /// Too many requests are open; nothing was done, ask again later.
    pub const BUSY: &str = "busy";
}

/// Environment variables a worker looks at.
pub mod var {
    /// Path of the socket to connect to.
    pub const RPC_SOCKET_PATH: &str = "RPC_SOCKET_PATH";
    /// Secret for the connect line.
    pub const RPC_TOKEN: &str = "RPC_TOKEN";
    /// Number of an inherited, connected socket.
    pub const RPC_SOCKET_FD: &str = "RPC_SOCKET_FD";
    /// Index of a worker within its group.
    pub const WORKER_INDEX: &str = "WORKER_INDEX";
}
