//! What the controller of a run tells machines about it, so that they open the same suites.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::commands::run::arguments::RunArguments;
use crate::commands::run::conversations::ConversationArguments;
use crate::commands::selection::SelectionArguments;
use crate::error::CommandError;

/// The version of announcements.
const VERSION: u32 = 1;

/// A run that wants machines. Keys and other secrets have no place in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Announcement {
    version: u32,
    /// As seen from the root.
    paths: Vec<String>,
    examples: Vec<String>,
    tags: Vec<String>,
    suites: Vec<String>,
    seed: Option<u64>,
    no_preload: bool,
    options: Vec<String>,
    agent: Option<String>,
    concurrency: Option<u32>,
    cache: bool,
    no_cache: bool,
    /// What the parties of conversations are seeded with.
    conversation_seed: Option<u64>,
}

impl Announcement {
    /// The announcement of a run, typed in `from`.
    pub(crate) fn of(
        arguments: &RunArguments,
        conversation_seed: Option<u64>,
        from: &Path,
        root: &Path,
    ) -> Result<Self, CommandError> {
        let SelectionArguments { paths, example, tag, suite, seed, no_preload, rspec, .. } =
            arguments.selection.clone();
        let paths = paths.iter().map(|path| seen_from_root(path, from, root)).collect();
        let conversation = &arguments.conversation;
        Ok(Self {
            version: VERSION,
            paths: paths_or_error(paths)?,
            examples: example,
            tags: tag,
            suites: suite,
            seed,
            no_preload,
            options: rspec,
            agent: conversation.agent.clone(),
            concurrency: conversation.concurrency,
            cache: conversation.cache,
            no_cache: conversation.no_cache,
            conversation_seed,
        })
    }

    /// With the seed that the suites of the controller use.
    pub(crate) fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.seed = self.seed.or(seed);
        self
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.version != VERSION {
            return Err(format!("its version is {}, this one reads {VERSION}", read.version));
        }
        Ok(read)
    }

    pub(crate) fn selection(&self) -> SelectionArguments {
        SelectionArguments {
            paths: self.paths.clone(),
            example: self.examples.clone(),
            tag: self.tags.clone(),
            stable_id: Vec::new(),
            only_failures: false,
            shard: None,
            suite: self.suites.clone(),
            seed: self.seed,
            no_preload: self.no_preload,
            rspec: self.options.clone(),
        }
    }

    pub(crate) fn conversation(&self) -> ConversationArguments {
        ConversationArguments {
            agent: self.agent.clone(),
            concurrency: self.concurrency,
            cache: self.cache,
            no_cache: self.no_cache,
            ..ConversationArguments::default()
        }
    }

    pub(crate) fn conversation_seed(&self) -> Option<u64> {
        self.conversation_seed
    }
}

fn paths_or_error(paths: Vec<Option<String>>) -> Result<Vec<String>, CommandError> {
    let outside = "with --engine, paths lie within the project: machines have it elsewhere";
    paths.into_iter().collect::<Option<_>>().ok_or_else(|| CommandError::usage(outside))
}

/// A path, perhaps with a line or an id behind it, as seen from the root; `None` if it is outside.
fn seen_from_root(path: &str, from: &Path, root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let from = from.canonicalize().ok()?;
    let (file, _) = path.split_at(path.find([':', '[']).unwrap_or(path.len()));
    let absolute = from.join(file);
    // Paths may be written as seen from the root, too.
    if Path::new(file).is_relative() && !absolute.exists() {
        return Some(path.to_owned());
    }
    let absolute = absolute.canonicalize().ok()?;
    let below = absolute.strip_prefix(&root).ok()?.to_str()?;
    let below = if below.is_empty() { "." } else { below };
    Some(format!("{below}{}", &path[file.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_root_wherever_they_were_typed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join("spec/models")).unwrap();
        std::fs::write(root.join("spec/models/a_spec.rb"), "").unwrap();
        let seen = |path: &str, from: &str| seen_from_root(path, &root.join(from), &root);
        assert_eq!(
            seen("a_spec.rb:12", "spec/models").as_deref(),
            Some("spec/models/a_spec.rb:12")
        );
        assert_eq!(seen("models", "spec").as_deref(), Some("spec/models"));
        assert_eq!(
            seen("spec/models/a_spec.rb[1:2]", "spec").as_deref(),
            Some("spec/models/a_spec.rb[1:2]")
        );
        assert_eq!(seen("../..", "spec/models").as_deref(), Some("."));
        let absolute = root.join("spec").to_string_lossy().into_owned();
        assert_eq!(seen(&absolute, "").as_deref(), Some("spec"));
        assert_eq!(seen("..", ""), None);
    }

    #[test]
    fn announcements_come_back_and_those_of_other_versions_are_refused() {
        let text = r#"{"version":1,"paths":["spec"],"examples":[],"tags":[],"suites":[],"seed":null,"no_preload":false,"options":[],
            "agent":null,"concurrency":2,"cache":false,"no_cache":false,"conversation_seed":7,"later":1}"#;
        let read = Announcement::read(text).unwrap().with_seed(Some(5));
        assert_eq!(
            (read.seed, read.conversation_seed(), read.conversation().concurrency),
            (Some(5), Some(7), Some(2))
        );
        assert_eq!(Announcement::read(&read.to_text()), Ok(read));
        let other = text.replace("\"version\":1", "\"version\":2");
        assert!(Announcement::read(&other).unwrap_err().contains("version is 2"));
    }
}
