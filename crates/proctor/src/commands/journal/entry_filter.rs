//! Which entries a command is about.

use clap::Args;
use jiff::SignedDuration;
use proctor_journal::{Domain, Filter, FoundEntry, OutcomeStatus, Strategy, UtcTime};

use super::context::{JournalContext, now};
use super::values::{domain, status, strategy};
use crate::error::CommandError;
use crate::terminal::Terminal;

/// Which entries.
#[derive(Debug, Args)]
pub(crate) struct FilterArguments {
    /// Only this kind of work
    #[arg(short, long, value_name = "DOMAIN", value_parser = domain())]
    pub(crate) domain: Option<Domain>,

    /// Only this approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Option<Strategy>,

    /// Only entries that ended so
    #[arg(long, value_name = "STATUS", value_parser = status())]
    pub(crate) status: Option<OutcomeStatus>,

    /// Only entries that are still active
    #[arg(long, conflicts_with_all = ["ended", "status"])]
    pub(crate) active: bool,

    /// Only entries that have ended
    #[arg(long)]
    pub(crate) ended: bool,

    /// Only this session, or `current`
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Only entries created since: `2025-12-03`, `2025-12-03T14:30:00Z`, or how long ago: `7d`, `12h`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only entries created before
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Only falsified entries without an annotation
    #[arg(long)]
    pub(crate) needs_annotation: bool,
}

/// The entries that the arguments mean, newest first.
pub(super) fn entries(
    arguments: &FilterArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<Vec<FoundEntry>, CommandError> {
    let filter = filter(arguments, context)?;
    JournalContext::value_of(context.journal.list(&filter), terminal)
}

pub(super) fn filter(
    arguments: &FilterArguments,
    context: &JournalContext,
) -> Result<Filter, CommandError> {
    let time = |name: &str, text: Option<&String>| text.map(|text| time(name, text)).transpose();
    Ok(Filter {
        lane: context.journal.lane_name().map(ToOwned::to_owned),
        domain: arguments.domain,
        strategy: arguments.strategy,
        status: arguments.status,
        tier: None,
        active: match (arguments.active, arguments.ended) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        session: session(arguments, context)?,
        since: time("--since", arguments.since.as_ref())?,
        until: time("--until", arguments.until.as_ref())?,
        needs_annotation: arguments.needs_annotation,
        limit: None,
    })
}

fn session(
    arguments: &FilterArguments,
    context: &JournalContext,
) -> Result<Option<String>, CommandError> {
    match arguments.session.as_deref() {
        Some("current") => match context.journal.session_id()? {
            Some(id) => Ok(Some(id)),
            None => Err(CommandError::refused("--session current: no session is open")
                .hint("`proctor journal session start` starts one; `proctor journal list` shows ended ones")),
        },
        other => Ok(other.map(ToOwned::to_owned)),
    }
}

/// A time, or how long ago it was.
fn time(name: &str, text: &str) -> Result<UtcTime, CommandError> {
    let problem = |problem: &dyn std::fmt::Display| {
        CommandError::usage(format_args!("{name} {text}: {problem}"))
            .hint("a date is 2025-12-03, a time 2025-12-03T14:30:00Z, a week ago 7d")
    };
    match ago(text) {
        Some(ago) => {
            let then = now().now.timestamp().checked_sub(ago);
            then.map(UtcTime::new).map_err(|error| problem(&error))
        }
        None => text.parse().map_err(|error| problem(&error)),
    }
}

/// `7d`, `12h`, `2w`, `30m`
fn ago(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        'm' => 0,
        _ => return None,
    };
    let number: i64 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number >= 0)?;
    let minutes = if hours == 0 { number } else { number.checked_mul(hours * 60)? };
    Some(SignedDuration::from_secs(minutes.checked_mul(60)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_past_are_told_from_dates() {
        assert_eq!(ago("7d"), Some(SignedDuration::from_secs(7 * 24 * 3600)));
        assert_eq!(ago("90m"), Some(SignedDuration::from_secs(90 * 60)));
        assert_eq!((ago("2025-12-03"), ago("-3d"), ago("")), (None, None, None));
        assert_eq!(time("--since", "2025-12-03").unwrap().to_string(), "2025-12-03T00:00:00Z");
        let refused = time("--since", "yesterday").unwrap_err().to_string();
        assert!(refused.starts_with("--since yesterday: `yesterday` is not a time"), "{refused}");
    }
}
