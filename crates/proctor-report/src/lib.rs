//! Runs as text for people and as files for programs.
//!
//! * A [`Reporter`] shows a run while it happens: [`Interleaved`], [`Grouped`], [`Quiet`], [`Terse`];
//!   [`auto_mode`] chooses one. [`summary`] is what most of them end with.
//! * [`transcript`] shows a whole run after the fact; [`LiveLines`] shows events as they come.
//! * [`junit`], [`run_json`], [`trajectories`] and [`github_annotations`] are for other programs; [`markdown`] and [`write_html`] are
//!   for people elsewhere; [`comparison_text`] and [`comparison_markdown`] show what two runs differ in.
//!
//! All take what the recording holds and give strings, or hand them on piece by piece ([`write_transcript`], [`write_json`], [`write_junit`]), so that
//! a run that stays on disk is reported in little memory; nothing here prints. Text that agents or tests
//! produced is shown through `proctor_text::printable`, so that it cannot move the cursor or repaint the screen.

#[cfg(test)]
mod agreement;
mod atif;
mod backtrace;
mod comparison;
mod counts;
pub mod event_text;
mod failure;
mod github;
mod html;
mod html_outline;
mod json;
mod junit;
mod live;
mod markdown;
mod mode;
mod otlp;
mod page;
mod pieces;
mod rates;
mod reporter;
mod rerun;
#[cfg(test)]
mod streamed;
mod style;
mod summary;
mod terminal_lines;
#[cfg(test)]
mod testing;
mod transcript;

pub use atif::{ATIF_VERSION, Trajectory, trajectories, trajectories_of};
pub use comparison::{comparison_markdown, comparison_text};
pub use github::{ANNOTATION_LIMIT, github_annotations, without_workflow_commands};
pub use html::{EVENTS_MARK, write_html};
pub use html_outline::HtmlOutline;
pub use json::{RunJson, run_json, write_json};
pub use junit::{JunitDialect, junit, junit_dialect, write_junit};
pub use live::LiveLines;
pub use markdown::{MARKDOWN_LIMIT, markdown, markdown_of};
pub use mode::{AGENT_HINTS, AGENT_VARIABLES, CI_VARIABLES, Mode, TerminalProperties, auto_mode};
pub use otlp::{CONVENTIONS, otlp_traces};
pub use reporter::{AgentLines, Grouped, Interleaved, Quiet, Reporter, Terse};
pub use rerun::rerun_command;
pub use style::{Paint, Style, duration};
pub use summary::{SummaryOptions, summary};
pub use transcript::{Detail, transcript, write_transcript};
