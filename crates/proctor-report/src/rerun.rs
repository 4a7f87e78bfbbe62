//! The command that runs one example again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use proctor_record::{Example, RunData};
use proctor_text::{shell_quote, shorten};

/// Knows which locations name exactly one example of the run.
///
/// It keeps hashes of them, because the texts of a long run would take much memory. Should two locations have one hash, their examples are
/// named by id.
#[derive(Default)]
pub(crate) struct RerunCommands {
    at: HashMap<u64, u32>,
}

impl RerunCommands {
    pub(crate) fn new(run: &RunData) -> Self {
        let mut commands = Self::default();
        run.examples.iter().for_each(|example| commands.add(example));
        commands
    }

    /// Takes an example of the run.
    pub(crate) fn add(&mut self, example: &Example) {
        if let Some(location) = &example.location {
            let count = self.at.entry(hash(location)).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// By location, which people recognise; by id where several examples stand in one place (loops,
    /// shared groups) or none is known.
    pub(crate) fn command(&self, example: &Example) -> Option<String> {
        let location = example.location.as_deref();
        let alone =
            location.filter(|place| self.at.get(&hash(place)).is_none_or(|count| *count == 1));
        let id =
            || example.id.as_ref().map(|id| format!("--stable-id {}", shell_word(id.as_str())));
        let what = match (alone, location) {
            (Some(place), _) => shell_word(place),
            (None, Some(place)) => id().unwrap_or_else(|| shell_word(place)),
            (None, None) => id()?,
        };
        Some(format!("proctor run {what}"))
    }
}

fn hash(location: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    location.hash(&mut hasher);
    hasher.finish()
}

/// A place or an id as one word of a shell.
fn shell_word(text: &str) -> String {
    shell_quote(&shorten(text, 1000)).into_owned()
}

#[cfg(test)]
mod tests {
    use proctor_events::ExampleId;

    use super::*;

    fn example(id: &str, location: Option<&str>) -> Example {
        Example {
            id: Some(ExampleId::new(id)),
            location: location.map(ToOwned::to_owned),
            ..Example::default()
        }
    }

    #[test]
    fn a_place_if_it_names_one_example_else_the_id() {
        let run = RunData {
            examples: vec![
                example("a", Some("./spec/a_spec.rb:3")),
                example("b", Some("./spec/b_spec.rb:3")),
                example("c", Some("./spec/b_spec.rb:3")),
                example("d", None),
                example("e", Some("./spec/it's here.rb:1")),
            ],
            ..RunData::default()
        };
        let rerun_commands = RerunCommands::new(&run);
        let commands: Vec<_> =
            run.examples.iter().map(|e| rerun_commands.command(e).unwrap()).collect();
        assert_eq!(
            commands,
            [
                "proctor run ./spec/a_spec.rb:3",
                "proctor run --stable-id b",
                "proctor run --stable-id c",
                "proctor run --stable-id d",
                r"proctor run './spec/it'\''s here.rb:1'",
            ]
        );
    }
}
