//! Tips for a command line that means nothing. The parser suggests whatever is spelled alike; what help does not show is no tip.

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory as _};

use crate::cli::Cli;

/// The error without tips that lead to hidden commands and options.
pub(crate) fn without_hidden(mut error: clap::Error) -> clap::Error {
    let hidden = hidden(&Cli::command());
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        let Some(suggested) = error.remove(kind) else { continue };
        if let Some(kept) = kept(suggested, &hidden) {
            error.insert(kind, kept);
        }
    }
    error
}

fn kept(suggested: ContextValue, hidden: &[String]) -> Option<ContextValue> {
    match suggested {
        ContextValue::Strings(mut names) => {
            names.retain(|name| !hidden.contains(name));
            (!names.is_empty()).then_some(ContextValue::Strings(names))
        }
        ContextValue::String(name) if hidden.contains(&name) => None,
        other => Some(other),
    }
}

/// Names of commands, and options with their dashes, that are hidden somewhere and shown nowhere.
fn hidden(root: &Command) -> Vec<String> {
    let (mut hidden, mut shown) = (Vec::new(), Vec::new());
    let mut all = vec![root];
    while let Some(command) = all.pop() {
        let commands =
            command.get_subcommands().map(|sub| (sub.is_hide_set(), sub.get_name().to_owned()));
        let options = command
            .get_arguments()
            .filter_map(|option| Some((option.is_hide_set(), format!("--{}", option.get_long()?))));
        for (is_hidden, name) in commands.chain(options) {
            if is_hidden { hidden.push(name) } else { shown.push(name) }
        }
        all.extend(command.get_subcommands());
    }
    hidden.retain(|name| !shown.contains(name));
    hidden
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn error_text(arguments: &[&str]) -> String {
        let error = Cli::try_parse_from([&["proctor"], arguments].concat()).unwrap_err();
        without_hidden(error).to_string()
    }

    #[test]
    fn what_is_hidden_is_not_suggested_and_the_rest_is() {
        let sho = error_text(&["sho"]);
        assert!(sho.contains("'show'") && !sho.contains("'host'"), "{sho}");
        for other in [&["hst"][..], &["__gard"], &["run", "--detach"]] {
            let text = error_text(other);
            let hidden = ["'host'", "'__guard'", "'__sandbox'", "'--detached'"];
            assert!(hidden.iter().all(|name| !text.contains(name)), "{text}");
            assert!(text.contains("Usage: proctor"), "{text}");
        }
        assert!(
            !error_text(&["__gard"]).contains("similar"),
            "where all are hidden there is no tip"
        );
        assert!(error_text(&["run", "--retrys", "1"]).contains("'--retries'"));
    }
}
