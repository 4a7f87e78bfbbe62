//! `proctor list`: discovery without a run.

use crate::example::{Discovery, duplicate_titles};
use crate::plan::Selection;
use crate::suite::{Suite, SuiteEnvironment, SuiteError};

/// Why examples could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The runtime could not be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[from] std::io::Error),
    /// A suite cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// The examples of some suites, as they would be run.
pub fn list(
    suites: &[Suite],
    environment: &SuiteEnvironment,
    selection: &Selection,
) -> Result<Discovery, ListError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Nothing will be run, so no worker needs to be ready.
    let environment = SuiteEnvironment { workers: 0, ..environment.clone() };
    runtime.block_on(async {
        let mut all = Discovery::default();
        for (suite_index, suite) in suites.iter().enumerate() {
            let opened = suite.open(&environment).await?;
            let mut found = opened.discovery;
            for example in &mut found.examples {
                example.suite_index = suite_index;
            }
            (opened.finish)(true).await;
            all.examples.extend(found.examples);
            all.errors.extend(found.errors);
            all.notes.extend(found.notes);
            all.seed = all.seed.or(found.seed);
            all.load_ms += found.load_ms;
            all.versions.extend(found.versions);
        }
        all.notes.extend(duplicate_titles(&all.examples));
        all.examples = selection.apply(all.examples);
        Ok(all)
    })
}
