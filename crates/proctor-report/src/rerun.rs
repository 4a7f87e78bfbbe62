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
        command(example, alone.is_some())
    }
}

/// The command that runs one example of a run again, and no other.
pub fn rerun_command(run: &RunData, example: &Example) -> Option<String> {
    let at_the_place = run.examples.iter().filter(|other| other.location == example.location);
    command(example, at_the_place.take(2).count() < 2)
}

/// `is_alone`: no other example of the run stands in the same place.
fn command(example: &Example, is_alone: bool) -> Option<String> {
    // The other rows of a set stand there too, even where the run was of this one alone.
    let is_alone = is_alone && example.scenario.is_none();
    let id = example.id.as_ref().map(|id| format!("--stable-id {}", shell_word(id.as_str())));
    let place = example.location.as_deref().map(shell_word);
    let what = if is_alone { place.or(id) } else { id.or(place) }?;
    Some(format!("proctor run {what}"))
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
    fn a_command_is_safe_to_paste() {
        assert_eq!(shell_word("./spec/a_spec.rb:10"), "./spec/a_spec.rb:10");
        assert_eq!(shell_word("./spec/it's.rb:1"), r"'./spec/it'\''s.rb:1'");
        assert_eq!(shell_word("a.rb[1:2]"), "'a.rb[1:2]'");
        assert_eq!(shell_word("$(boom)"), "'$(boom)'");
    }

    #[test]
    fn a_row_of_a_set_is_named_by_its_id_even_if_it_ran_alone() {
        let row = Example {
            scenario: Some(proctor_events::Json::new(&"second").unwrap()),
            ..example("a", Some("./a.scenario.yaml:7"))
        };
        let run = RunData { examples: vec![row], ..RunData::default() };
        let expected = Some("proctor run --stable-id a".to_owned());
        assert_eq!(RerunCommands::new(&run).command(&run.examples[0]), expected);
        assert_eq!(rerun_command(&run, &run.examples[0]), expected);
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
        let one_by_one: Vec<_> =
            run.examples.iter().map(|example| rerun_command(&run, example).unwrap()).collect();
        assert_eq!(commands, one_by_one);
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
