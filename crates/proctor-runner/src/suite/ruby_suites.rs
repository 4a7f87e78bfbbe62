//! Which suites of Ruby's test frameworks take part in a run, and what each is asked.

use std::path::Path;

use proctor_converse::Settings;

use super::filter::{BadPattern, ExampleFilter};
use super::minitest::MinitestRequest;
use super::rspec::RspecRequest;
use super::{ExampleFiles, MinitestSuite, RspecSuite, Suite};

/// What was asked of all suites in Ruby, and what the project declares of each.
#[derive(Debug, Clone, Copy)]
pub struct RubySuites<'a> {
    /// The Ruby to run.
    pub ruby: &'a str,
    /// Whether to load once and fork. Without it every worker loads the project itself.
    pub preload: bool,
    /// Texts of descriptions, or `/REGEX/`: in Ruby's syntax for RSpec, in ours for Minitest.
    pub examples: &'a [String],
    /// Tags, or `~tag` for those to leave out.
    pub tags: &'a [String],
    /// The seed that orders the examples.
    pub seed: Option<u64>,
    /// Further options of one framework: RSpec's where it takes part, else Minitest's.
    pub options: &'a [String],
    /// The folder in which paths were typed.
    pub from: &'a Path,
    /// The project's root, where the examples run.
    pub root: &'a Path,
    /// Whether the project declares its specs deterministic.
    pub rspec_deterministic: Option<bool>,
    /// Whether the project declares its tests deterministic.
    pub minitest_deterministic: Option<bool>,
}

impl RubySuites<'_> {
    /// The suites that have files. `conversations` makes what conversations of specs are conducted with; it is called only if
    /// RSpec takes part.
    ///
    /// # Errors
    /// What `conversations` returns, and a pattern that cannot be read, if Minitest takes part.
    pub fn with_files<E: From<BadPattern>>(
        &self,
        files: &ExampleFiles,
        conversations: impl FnOnce() -> Result<Settings, E>,
    ) -> Result<Vec<Suite>, E> {
        let mut suites = Vec::new();
        if let Some(paths) = &files.rspec {
            suites.push(Suite::from(self.rspec(paths, conversations()?)));
        }
        if let Some(paths) = &files.minitest {
            let options = if files.rspec.is_some() { &[] } else { self.options };
            suites.push(Suite::from(self.minitest(paths, options)?));
        }
        Ok(suites)
    }

    fn rspec(&self, paths: &[String], conversations: Settings) -> RspecSuite {
        let Self { examples, tags, seed, options, from, root, .. } = *self;
        let request = RspecRequest { examples, tags, seed, options, paths, from, root };
        RspecSuite {
            ruby: self.ruby.to_owned(),
            args: request.arguments(),
            preload: self.preload,
            conversations: Some(Box::new(conversations)),
            deterministic: self.rspec_deterministic,
        }
    }

    fn minitest(&self, paths: &[String], options: &[String]) -> Result<MinitestSuite, BadPattern> {
        let Self { seed, from, root, .. } = *self;
        let request = MinitestRequest { seed, options, paths, from, root };
        Ok(MinitestSuite {
            ruby: self.ruby.to_owned(),
            args: request.arguments(),
            preload: self.preload,
            filter: ExampleFilter::from_words(self.examples, self.tags)?,
            deterministic: self.minitest_deterministic,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_converse::{Cassette, SharedResources};
    use proctor_process::{Guard, GuardCommand};

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Refusal {
        Pattern(String),
        Conversations,
    }

    impl From<BadPattern> for Refusal {
        fn from(error: BadPattern) -> Self {
            Self::Pattern(error.text)
        }
    }

    fn settings() -> Settings {
        Settings {
            root: "/nowhere".into(),
            bin: "/nowhere".into(),
            unpacked: "/nowhere".into(),
            guard: Guard::Program(GuardCommand::new("/nowhere", ["guard"])),
            environment: Arc::new(|_| None),
            pass_env: Vec::new(),
            agents: std::collections::BTreeMap::default(),
            models: std::collections::BTreeMap::default(),
            agent: None,
            agent_for_all: None,
            saved: None,
            cassette: Cassette::Off,
            cache: None,
            budget_usd: None,
            record_tapes: false,
            seed: 1,
            shared: SharedResources::default(),
        }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn files(rspec: Option<&[&str]>, minitest: Option<&[&str]>) -> ExampleFiles {
        ExampleFiles {
            rspec: rspec.map(words),
            minitest: minitest.map(words),
            ..ExampleFiles::default()
        }
    }

    fn asked<'a>(examples: &'a [String], options: &'a [String]) -> RubySuites<'a> {
        RubySuites {
            ruby: "ruby3",
            preload: true,
            examples,
            tags: &[],
            seed: Some(7),
            options,
            from: Path::new("/nowhere"),
            root: Path::new("/nowhere"),
            rspec_deterministic: Some(true),
            minitest_deterministic: Some(false),
        }
    }

    /// The names of the suites, in order.
    fn names(
        asked: &RubySuites<'_>,
        files: &ExampleFiles,
        conversations: Result<Settings, Refusal>,
    ) -> Result<Vec<String>, Refusal> {
        let suites = asked.with_files(files, || conversations)?;
        Ok(suites.iter().map(|suite| suite.name().to_owned()).collect())
    }

    #[test]
    fn frameworks_without_files_take_no_part() {
        let asked = asked(&[], &[]);
        let named = |rspec, minitest| names(&asked, &files(rspec, minitest), Ok(settings()));
        assert_eq!(named(None, None), Ok(vec![]));
        assert_eq!(named(Some(&[]), None), Ok(words(&["rspec"])));
        assert_eq!(named(None, Some(&[])), Ok(words(&["minitest"])));
        assert_eq!(named(Some(&[]), Some(&[])), Ok(words(&["rspec", "minitest"])));
    }

    #[test]
    fn options_are_those_of_rspec_where_it_takes_part() {
        let options = words(&["--verbose"]);
        let asked = asked(&[], &options);
        let (alone, beside) = (files(None, Some(&["t"])), files(Some(&["s"]), Some(&["t"])));
        for (files, expected) in [(alone, "t -- --seed 7 --verbose"), (beside, "t -- --seed 7")] {
            let suites = asked.with_files(&files, || Ok::<_, Refusal>(settings())).unwrap();
            let shown = format!("{suites:?}");
            let args = format!("{:?}", words(&expected.split(' ').collect::<Vec<_>>()));
            assert!(shown.contains(&args), "no {args} in {shown}");
        }
        let rspec = asked.rspec(&words(&["s"]), settings());
        assert_eq!(rspec.args, ["--seed", "7", "--verbose", "s"]);
        assert_eq!((rspec.ruby.as_str(), rspec.deterministic), ("ruby3", Some(true)));
    }

    /// RSpec reads patterns itself: one that only Ruby understands is none of our business.
    #[test]
    fn a_pattern_is_refused_only_where_minitest_takes_part() {
        let examples = words(&["/(?<=a)b/"]);
        let asked = asked(&examples, &[]);
        let named = |files| names(&asked, &files, Ok(settings()));
        assert_eq!(named(files(Some(&[]), None)), Ok(words(&["rspec"])));
        let refused = Err(Refusal::Pattern("/(?<=a)b/".to_owned()));
        assert_eq!(named(files(Some(&[]), Some(&[]))), refused);
    }

    #[test]
    fn settings_of_conversations_are_made_only_for_rspec() {
        let asked = asked(&[], &[]);
        let named = |files| names(&asked, &files, Err(Refusal::Conversations));
        assert_eq!(named(files(None, Some(&[]))), Ok(words(&["minitest"])));
        assert_eq!(named(files(Some(&[]), None)), Err(Refusal::Conversations));
    }
}
