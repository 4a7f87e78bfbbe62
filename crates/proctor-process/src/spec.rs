//! What to run and how: the description of a process. Plain values, built by chaining.

use crate::child_environment::ChildEnvironment;
use crate::diagnostics::DiagnosticSink;
use crate::output::OutputConfig;
use crate::rpc::ChannelConfig;
use std::ffi::OsString;
use std::path::PathBuf;

/// How host and child talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RpcMode {
    /// Not at all; standard output and error are captured.
    #[default]
    None,
    /// Without messages: we write raw bytes to its standard input ([`crate::ManagedProcess::take_stdin`]); standard output and
    /// error are captured.
    RawStdin,
    /// Messages on standard input and output; only standard error is captured.
    Stdio,
    /// Messages on an inherited socket (`RPC_SOCKET_FD`); standard output and error are captured,
    /// standard input is empty.
    Socket,
}

/// The program that guards a child tree: one that calls [`crate::guard::main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardCommand {
    /// The program, best by absolute path.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl GuardCommand {
    /// A guard program with arguments.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }
}

/// Whether a child tree has a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// The tree ends when we end, however we end, daemons included.
    Program(GuardCommand),
    /// Only the process group is killed, and only by us: what starts a session of its own escapes,
    /// and nothing is killed if we are.
    None,
}

/// A process to run.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    pub(crate) argv: Vec<OsString>,
    pub(crate) environment: ChildEnvironment,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) rpc: RpcMode,
    pub(crate) guard: Guard,
    pub(crate) output: OutputConfig,
    pub(crate) channel: ChannelConfig,
}

impl ProcessSpec {
    /// A command (program and arguments, no shell) with its environment, under a guard or without one. It inherits our
    /// working directory unless told otherwise.
    pub fn new<A: Into<OsString>>(
        argv: impl IntoIterator<Item = A>,
        environment: ChildEnvironment,
        guard: Guard,
    ) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            environment,
            cwd: None,
            rpc: RpcMode::None,
            guard,
            output: OutputConfig::default(),
            channel: ChannelConfig::default(),
        }
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// Chooses how host and child talk.
    #[must_use]
    pub fn rpc(mut self, mode: RpcMode) -> Self {
        self.rpc = mode;
        self
    }

    /// Sets bounds and callbacks of the channel; its diagnostics serve the whole process.
    #[must_use]
    pub fn channel(mut self, config: ChannelConfig) -> Self {
        self.channel = config;
        self
    }

    /// Sets the bounds of captured output.
    #[must_use]
    pub fn output(mut self, config: OutputConfig) -> Self {
        self.output = config;
        self
    }

    /// The command line for people.
    pub fn command_line(&self) -> String {
        proctor_text::shell_join(self.argv.iter().map(|word| word.to_string_lossy()))
    }

    pub(crate) fn diagnostics(&self) -> DiagnosticSink {
        self.channel.diagnostics.clone()
    }
}
