//! Standard output and standard error: the only place that writes to them.

use std::io::{self, IsTerminal as _, Write as _};

use proctor_report::{Paint, Style};
use proctor_runner::LoadNotices;
use proctor_text::printable;

use crate::cli::ColorChoice;
use crate::env_vars;
use crate::error::CommandError;
use crate::secrets;

/// One of our two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Passes on what another program wrote, at once and as it is.
pub(crate) fn pass_on(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Out => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        Stream::Err => io::stderr().lock().write_all(bytes),
    }
}

/// Prints a text where no terminal was made yet: help and usage errors.
pub(crate) fn print_plain(to_stderr: bool, text: &str) {
    let stream = if to_stderr { Stream::Err } else { Stream::Out };
    // The reader may have gone away; ignore.
    let _ = pass_on(stream, text.as_bytes());
}

/// Where commands print.
pub(crate) struct Terminal {
    color: ColorChoice,
    /// Whether errors are printed for programs.
    json_errors: bool,
    /// The error of a write to standard output, other than a closed pipe.
    failure: Option<String>,
}

impl Terminal {
    pub(crate) fn new(flag: Option<ColorChoice>, json_errors: bool) -> Self {
        Self { color: flag.unwrap_or(ColorChoice::Auto), json_errors, failure: None }
    }

    /// Why something that was printed is missing (a full disk), whoever ignored it: then no command is a success. A reader that
    /// went away is no such reason.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How to style standard output.
    pub(crate) fn style(&self) -> Style {
        self.style_for(io::stdout().is_terminal())
    }

    fn style_for(&self, is_terminal: bool) -> Style {
        let color = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // The convention: present and not empty means no.
            ColorChoice::Auto => is_terminal && env_vars::NO_COLOR.get().is_none(),
        };
        Style { color }
    }

    /// Writes text without secrets.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.print_unfiltered(&secrets::without(text))
    }

    /// Writes bytes that may be no text, without secrets; a closed standard output is not an error.
    pub(crate) fn print_bytes_if_read(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        match self.write_out(&secrets::without_in_bytes(bytes)) {
            Err(error) if error.is_broken_pipe() => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes text as it is: for what prints a secret on purpose, such as the address of a server with its token.
    pub(crate) fn print_unfiltered(&mut self, text: &str) -> Result<(), CommandError> {
        self.write_out(text.as_bytes())
    }

    /// Writes a piece of a report from which secrets were taken out.
    pub(crate) fn print_piece(&mut self, piece: &str) -> Result<(), CommandError> {
        self.write_out(piece.as_bytes())
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        if let Err(error) = &written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failure.get_or_insert_with(|| error.to_string());
        }
        Ok(written?)
    }

    /// Writes text without secrets to standard error, where standard output is for something else.
    #[expect(clippy::unused_self, reason = "printing goes through the terminal, whatever it needs")]
    pub(crate) fn print_to_stderr(&mut self, text: &str) -> Result<(), CommandError> {
        Ok(pass_on(Stream::Err, secrets::without(text).as_bytes())?)
    }

    /// Prints text; a closed standard output is not an error, so that the result still decides the exit code.
    pub(crate) fn print_if_read(&mut self, text: &str) -> Result<(), CommandError> {
        match self.print(text) {
            Err(error) if error.is_broken_pipe() => Ok(()),
            outcome => outcome,
        }
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(&format!("{text}\n"))
    }

    /// Writes a value as indented JSON.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Tells something on standard error.
    #[expect(clippy::unused_self, reason = "printing goes through the terminal, whatever it needs")]
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(io::stderr(), "{}", secrets::without(text));
    }

    pub(crate) fn warn(&mut self, text: &str) {
        let style = self.style_for(io::stderr().is_terminal());
        let text = secrets::without(text);
        // Standard error may be closed; ignore.
        let _ = writeln!(io::stderr(), "{} {text}", style.paint(Paint::Warn, "warning:"));
    }

    /// Somebody who waits for a suite to load, at this terminal.
    pub(crate) fn load_notices(&self) -> LoadNotices {
        let style = self.style_for(io::stderr().is_terminal());
        LoadNotices::new(move |text| {
            let text = secrets::without(&printable(text)).into_owned();
            let _ = writeln!(io::stderr(), "{} {text}", style.paint(Paint::Warn, "warning:"));
        })
    }

    /// Prints an error on standard error: in words, or as one line of JSON where the command prints for programs.
    pub(crate) fn report(&mut self, error: &CommandError) {
        if self.json_errors {
            let json = error.to_json().to_string();
            let _ = writeln!(io::stderr(), "{}", secrets::without(&json));
            return;
        }
        let style = self.style_for(io::stderr().is_terminal());
        let mut text = format!("{} {error}\n", style.paint(Paint::Bad, "error:"));
        for hint in error.hints() {
            text += &format!("{} {hint}\n", style.paint(Paint::Bold, " hint:"));
        }
        let _ = io::stderr().write_all(secrets::without(&text).as_bytes());
    }
}
