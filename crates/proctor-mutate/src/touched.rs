//! Which examples reach which code, from what the clean run reported; and which examples therefore look at a mutant. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_ruby::mutation::{CodePlace, MethodPlace, SourceMutant};
use serde::Deserialize;
use serde_json::Value;

use crate::campaign::Mode;

/// What is known of the watched files.
#[derive(Debug, Clone, Default)]
pub(crate) struct TouchedCode {
    files: BTreeMap<String, TouchedFile>,
    /// By file: the last checkpoint before it was loaded.
    checkpoints: BTreeMap<String, u32>,
}

/// Places of one file: a line (`12`), a method by the line of its `def` (`c12`), a block (`b12`).
#[derive(Debug, Clone, Default)]
struct TouchedFile {
    /// Whether the suite loads it before the first example.
    loaded_first: bool,
    /// What can be traced at all.
    places: BTreeSet<String>,
    /// What is reached while the suite is loaded.
    at_load: BTreeSet<String>,
    /// By place: the examples that reach it.
    examples: HashMap<String, BTreeSet<usize>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LoadReply {
    files: BTreeMap<String, Vec<String>>,
    load: BTreeMap<String, Vec<String>>,
    checkpoints: BTreeMap<String, u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TouchNotice {
    touched: BTreeMap<String, Vec<String>>,
    keys: Vec<String>,
    files: BTreeMap<String, Vec<String>>,
}

/// How a mutant is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// No example reaches it.
    NotCovered,
    /// These look, in order. Where the suite is loaded anew, those that are most likely to notice it are tried first.
    Run { mode: Mode, examples: Vec<usize>, likely: Vec<usize> },
}

impl TouchedCode {
    /// Reads what the loaded suite says of itself.
    pub(crate) fn from_load(reply: &Value) -> Self {
        let LoadReply { files, load, checkpoints } =
            serde_json::from_value(reply.clone()).unwrap_or_default();
        let mut touched = Self { checkpoints, ..Self::default() };
        for (path, places) in files {
            let at_load = load.get(&path).cloned().unwrap_or_default().into_iter().collect();
            let places = places.into_iter().collect();
            let file =
                TouchedFile { loaded_first: true, places, at_load, examples: HashMap::new() };
            touched.files.insert(path, file);
        }
        touched
    }

    /// The checkpoint from which the suite can be loaded with another text of this file.
    pub(crate) fn checkpoint(&self, path: &str) -> Option<u32> {
        self.checkpoints.get(path).copied()
    }

    /// Adds a notice of the clean run. `index` finds an example by its key.
    pub(crate) fn add(&mut self, notice: &Value, index: &HashMap<String, usize>) {
        let Ok(notice) = serde_json::from_value::<TouchNotice>(notice.clone()) else { return };
        for (path, places) in notice.files {
            self.files.entry(path).or_default().places.extend(places);
        }
        let examples: Vec<usize> =
            notice.keys.iter().filter_map(|key| index.get(key).copied()).collect();
        for (path, places) in notice.touched {
            let file = self.files.entry(path).or_default();
            for place in places {
                file.examples.entry(place).or_default().extend(&examples);
            }
        }
    }

    /// Which of `all` look at a mutant, and how it can be put into force.
    pub(crate) fn choose(
        &self,
        path: &str,
        mutant: &SourceMutant,
        place: &CodePlace,
        all: &[usize],
    ) -> Choice {
        let Some(file) = self.files.get(path) else { return Choice::NotCovered };
        let (mode, chosen) = match &place.method {
            Some(method) => file.choose_in_method(mutant, method),
            None => file.choose_outside(mutant, place),
        };
        let looks =
            |example: &&usize| chosen.as_ref().is_none_or(|chosen| chosen.contains(example));
        let examples: Vec<usize> = all.iter().filter(looks).copied().collect();
        if examples.is_empty() {
            return Choice::NotCovered;
        }
        let reaching = file.reaching(mutant, place);
        let likely: Vec<usize> =
            examples.iter().filter(|it| reaching.contains(it)).copied().collect();
        // The first try is not worth its load if it runs nearly everything.
        let likely = if likely.len() * 2 > examples.len() && likely.len() < examples.len() {
            Vec::new()
        } else {
            likely
        };
        Choice::Run { mode, examples, likely }
    }
}

/// The lines of a mutant's statement below the head of its method. The line of the `def` is reached when the method is defined, and a body
/// that is one literal has no line of its own.
fn own_lines(mutant: &SourceMutant, method: &MethodPlace) -> Option<(u32, u32)> {
    mutant.statement.filter(|lines| lines.0 > method.lines.0)
}

/// The examples that look; `None` for all of them.
type Chosen = Option<BTreeSet<usize>>;

impl TouchedFile {
    fn choose_in_method(&self, mutant: &SourceMutant, method: &MethodPlace) -> (Mode, Chosen) {
        let call = format!("c{}", method.lines.0);
        // What the method did while the suite was loaded is there already; but not what it did not reach.
        if self.at_load.contains(&call) && !self.is_unreached_at_load(mutant, method) {
            return (Mode::Fresh, None);
        }
        let in_fork = method.obstacle.is_none() || !self.loaded_first;
        let mode = if in_fork { Mode::Fork } else { Mode::Fresh };
        let by_line = own_lines(mutant, method).and_then(|lines| self.reached_in(lines));
        (mode, by_line.or_else(|| self.reached(&call)))
    }

    /// Whether a method that was called while the suite was loaded did not get to the statement of a mutant. A block may have been
    /// made then and be called later.
    fn is_unreached_at_load(&self, mutant: &SourceMutant, method: &MethodPlace) -> bool {
        let Some((first, last)) = own_lines(mutant, method) else { return false };
        let mut traced = (first..=last)
            .map(|line| line.to_string())
            .filter(|line| self.places.contains(line))
            .peekable();
        !mutant.in_inner_block
            && traced.peek().is_some()
            && traced.all(|line| !self.at_load.contains(&line))
    }

    /// The examples that reach the code of a mutant when they run, or else its method, or else anything in its file.
    fn reaching(&self, mutant: &SourceMutant, place: &CodePlace) -> BTreeSet<usize> {
        let lines = mutant.statement.unwrap_or((mutant.line, mutant.end_line));
        let by_line = self.reached_in(lines);
        let by_call = || self.reached(&format!("c{}", place.method.as_ref()?.lines.0));
        let found = by_line.filter(|it| !it.is_empty()).or_else(by_call);
        let found = found.filter(|it| !it.is_empty());
        found.unwrap_or_else(|| self.examples.values().flatten().copied().collect())
    }

    fn choose_outside(&self, mutant: &SourceMutant, place: &CodePlace) -> (Mode, Chosen) {
        if !self.loaded_first {
            return (Mode::Fork, None);
        }
        let lines = mutant.statement.unwrap_or((mutant.line, mutant.end_line));
        let is_early =
            (lines.0..=lines.1).any(|line| self.at_load.contains(line.to_string().as_str()));
        if !place.in_block || is_early {
            return (Mode::Fresh, None);
        }
        (Mode::Fresh, self.reached_in(lines))
    }

    /// The examples that reach any of these lines; `None` if none of the lines can be traced.
    fn reached_in(&self, (first, last): (u32, u32)) -> Chosen {
        let lines = (first..=last).map(|line| line.to_string());
        let mut chosen: Chosen = None;
        for line in lines.filter(|line| self.places.contains(line)) {
            chosen.get_or_insert_default().extend(self.examples.get(&line).into_iter().flatten());
        }
        chosen
    }

    /// The examples that reach this place; `None` if it cannot be traced.
    fn reached(&self, place: &str) -> Chosen {
        let is_traced = self.places.contains(place);
        is_traced.then(|| self.examples.get(place).cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proctor_ruby::mutation::file_mutants;
    use serde_json::json;

    use super::*;

    const SOURCE: &str = "class A\n  B = 1\n  def a(x)\n    return 2 if x\n    3\n  end\n  def self.m = 4\n  m\n  scope -> {\n    5\n  }\n  def lit\n    nil\n  end\n  def short = 6\nend\n";

    fn code() -> TouchedCode {
        let reply = json!({
            "files": {"/a.rb": ["1", "2", "3", "4", "5", "c3", "7", "c7", "8", "9", "10", "b9", "12", "c12", "15", "c15"]},
            "load": {"/a.rb": ["1", "2", "3", "7", "c7", "8", "9", "12"]},
        });
        let mut code = TouchedCode::from_load(&reply);
        let index = HashMap::from([("x".to_owned(), 0), ("y".to_owned(), 1), ("z".to_owned(), 2)]);
        code.add(&json!({"touched": {"/a.rb": ["c3", "4"]}, "keys": ["x"]}), &index);
        code.add(
            &json!({"touched": {"/a.rb": ["c3", "4", "5", "10", "b9"]}, "keys": ["y"]}),
            &index,
        );
        code.add(&json!({"touched": {"/a.rb": ["c12", "c15"]}, "keys": ["z", "x"]}), &index);
        code
    }

    fn choice(line: u32, operator: &str) -> Option<(Mode, Vec<usize>)> {
        mode_and_examples(choose(&code(), SOURCE, line, operator))
    }

    fn mode_and_examples(choice: Choice) -> Option<(Mode, Vec<usize>)> {
        match choice {
            Choice::Run { mode, examples, .. } => Some((mode, examples)),
            Choice::NotCovered => None,
        }
    }

    fn choose(code: &TouchedCode, source: &str, line: u32, operator: &str) -> Choice {
        let file = file_mutants(source.as_bytes()).unwrap();
        let mutant = file.mutants.iter().find(|it| it.line == line && it.operator == operator);
        let mutant = mutant.unwrap_or_else(|| panic!("{:#?}", file.mutants));
        code.choose("/a.rb", mutant, &file.places[mutant.place], &[0, 1, 2])
    }

    fn run(mode: Mode, examples: &[usize]) -> (Mode, Vec<usize>) {
        (mode, examples.to_vec())
    }

    #[test]
    fn only_examples_that_reach_the_statement_look() {
        assert_eq!(choice(4, "change number"), Some(run(Mode::Fork, &[0, 1])));
        assert_eq!(choice(5, "change number"), Some(run(Mode::Fork, &[1])));
        // A body of one literal has no line that could be traced.
        assert_eq!(choice(13, "change nil"), Some(run(Mode::Fork, &[0, 2])));
        // The only line of this one is reached when it is defined.
        assert_eq!(choice(15, "change number"), Some(run(Mode::Fork, &[0, 2])));
    }

    #[test]
    fn what_ran_while_the_suite_was_loaded_is_loaded_anew_for_all() {
        assert_eq!(choice(2, "change number"), Some(run(Mode::Fresh, &[0, 1, 2])));
        assert_eq!(choice(7, "change number"), Some(run(Mode::Fresh, &[0, 1, 2])));
        assert_eq!(choice(10, "change number"), Some(run(Mode::Fresh, &[1])));
    }

    #[test]
    fn a_file_that_nobody_loads_is_not_covered_and_a_late_one_is_changed_in_the_fork() {
        let file = file_mutants(SOURCE.as_bytes()).unwrap();
        let mutant = &file.mutants[0];
        let place = &file.places[mutant.place];
        assert_eq!(code().choose("/b.rb", mutant, place, &[0]), Choice::NotCovered);
        let mut late = TouchedCode::default();
        let index = HashMap::from([("x".to_owned(), 0)]);
        late.add(
            &json!({"files": {"/a.rb": ["2"]}, "touched": {"/a.rb": ["2"]}, "keys": ["x"]}),
            &index,
        );
        let choice = late.choose("/a.rb", mutant, place, &[0, 1]);
        assert_eq!(mode_and_examples(choice), Some(run(Mode::Fork, &[0, 1])));
    }

    #[test]
    fn what_a_call_during_the_load_did_not_reach_needs_no_load_but_blocks_do() {
        let source = "class A\n  def a(x)\n    if x\n      y = 1\n    end\n    define(:b) do\n      2\n    end\n  end\nend\n";
        let reply = json!({
            "files": {"/a.rb": ["1", "2", "c2", "3", "4", "6", "7", "b6"]},
            "load": {"/a.rb": ["1", "2", "c2", "3", "6"]},
            "checkpoints": {"/a.rb": 3},
        });
        let mut code = TouchedCode::from_load(&reply);
        assert_eq!((code.checkpoint("/a.rb"), code.checkpoint("/b.rb")), (Some(3), None));
        let index = HashMap::from([("x".to_owned(), 0), ("y".to_owned(), 1)]);
        code.add(
            &json!({"touched": {"/a.rb": ["c2", "3", "4", "6", "b6", "7"]}, "keys": ["y"]}),
            &index,
        );
        let choice = |line, operator| choose(&code, source, line, operator);
        assert_eq!(mode_and_examples(choice(4, "change number")), Some(run(Mode::Fork, &[1])));
        // The block was made while the suite was loaded, and is what examples call.
        assert_eq!(
            mode_and_examples(choice(7, "change number")),
            Some(run(Mode::Fresh, &[0, 1, 2]))
        );
        // All may notice what happened while the suite was loaded; those that reach the code are asked first.
        let likely = Choice::Run { mode: Mode::Fresh, examples: vec![0, 1, 2], likely: vec![1] };
        assert_eq!(choice(3, "negate condition"), likely);
    }
}
