//! The tools of the runner: start a run, see how it goes, stop it, read what became of it.
//!
//! All state is on disk: the recording says what happened, the control socket whether the run lives. So any number of
//! servers, shells and people look at the same runs, and closing one of them changes nothing. A client's own memory is only which
//! run it started last, for calls that name none.

mod compare;
mod list;
pub(crate) mod project_paths;
mod result_index;
mod results;
mod run_names;
mod run_state;
mod show;
mod start;
mod started_runs;
mod stop;
mod view;
mod watch;
mod workspace_coverage;

use crate::table::Tool;

pub(crate) use list::Listings;
pub(crate) use run_state::RunCache;
pub(crate) use started_runs::StartedRuns;

/// The rows.
pub(crate) fn tools() -> Vec<Tool> {
    let mut all = start::tools();
    all.extend(watch::tools());
    all.extend(stop::tools());
    all.extend(results::tools());
    all.extend(compare::tools());
    all.extend(list::tools());
    all.extend(show::tools());
    all
}
