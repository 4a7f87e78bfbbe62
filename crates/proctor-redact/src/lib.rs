//! The one redactor of the workspace: nothing secret is stored, logged or sent.
//!
//! A [`Redactor`] knows values that it was told and the shapes of well-known keys. A known value is found plain, in upper and lower case,
//! behind JSON escapes of any depth, percent-encoded wholly or partly, in hexadecimal, in base64 of either alphabet at any alignment, as a regular
//! expression, a shell or XML spells it, and in part where a cut mark stands beside it. Values of less than [`SHORTEST_SECRET`] characters are not filtered; whoever tells one is told so.
//!
//! ```
//! use proctor_redact::{Redactor, StreamRedactor};
//!
//! let redactor = Redactor::default();
//! let too_short = redactor.learn_variables([("ACME_API_KEY", "hush-hush-42"), ("PIN_TOKEN", "123")]);
//! assert_eq!(too_short, ["PIN_TOKEN"]);
//! assert_eq!(redactor.redact_text("key: HUSH-HUSH-42"), "key: [redacted]");
//! assert_eq!(
//!     redactor.redact_json_line(br#"{"text":"aHVzaC1odXNoLTQy","n":1}"#).as_ref(),
//!     br#"{"text":"[redacted]","n":1}"#
//! );
//! let mut stream = StreamRedactor::new(redactor);
//! let printed = [stream.push("so hush-hu"), stream.push("sh-42 it is"), stream.finish()];
//! assert_eq!(printed.concat(), "so [redacted] it is");
//! ```
//!
//! How a text is searched: a bitmap looks at each place once (`prefilter`). Where it sees a literal, shapes are read on from there
//! (`shapes`) and known values are sought by two Aho–Corasick automata (`matcher`). Texts with escapes are decoded and searched again
//! (`view`). Beside cut marks, parts of known values are sought (`fragments`). All of it is linear in the text, and there are no regular expressions.
//!
//! This crate reads no environment, files or clocks: values are passed in.

mod fragments;
mod json_line;
mod matcher;
mod names;
mod prefilter;
mod redactor;
mod secret;
mod shapes;
mod spellings;
mod stream;
mod variables;
mod view;

#[cfg(test)]
mod growth;

pub use names::names_a_secret;
pub use redactor::Redactor;
pub use secret::{SHORTEST_SECRET, Secret};
pub use stream::StreamRedactor;
pub use variables::is_secret_variable;
