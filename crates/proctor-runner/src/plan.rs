//! From examples to jobs: selection, shards, repetitions, units, estimates. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use proctor_events::ExampleId;

use crate::dispatch::JobSpec;
use crate::example::Example;

/// Which of the discovered examples to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these (`--only-failures`); `None` means all.
    pub only: Option<HashSet<ExampleId>>,
    /// Only those whose id begins with one of these (`--stable-id`).
    pub ids: Vec<String>,
    /// Only this share: (k, n), from 1.
    pub shard: Option<(u32, u32)>,
}

impl Selection {
    /// The examples that are to run, in order.
    pub fn apply(&self, examples: Vec<Example>) -> Vec<Example> {
        let wanted = |example: &Example| {
            let named = self.ids.is_empty()
                || self.ids.iter().any(|id| example.id.as_str().starts_with(id.as_str()));
            named && self.only.as_ref().is_none_or(|only| only.contains(&example.id))
        };
        let selected: Vec<Example> = examples.into_iter().filter(wanted).collect();
        match self.shard {
            Some((part, parts)) => shard(selected, part, parts),
            None => selected,
        }
    }
}

/// Deals units out like cards, in the order of their ids: the same on every machine that has the same suite.
fn shard(examples: Vec<Example>, part: u32, parts: u32) -> Vec<Example> {
    let mut first_ids: BTreeMap<ExampleId, (usize, Option<u32>)> = BTreeMap::new();
    let mut known: HashMap<(usize, u32), ExampleId> = HashMap::new();
    for example in &examples {
        let unit = example.unit.map(|unit| (example.suite_index, unit));
        let first = match &unit {
            Some(key) => known.entry(*key).or_insert_with(|| example.id.clone()).clone(),
            None => example.id.clone(),
        };
        first_ids.insert(first, (example.suite_index, example.unit));
    }
    let mine: HashSet<ExampleId> = first_ids
        .into_keys()
        .zip((0..parts).cycle())
        .filter(|(_, turn)| turn + 1 == part)
        .map(|(id, _)| id)
        .collect();
    examples
        .into_iter()
        .filter(|example| {
            let first = example.unit.and_then(|unit| known.get(&(example.suite_index, unit)));
            mine.contains(first.unwrap_or(&example.id))
        })
        .collect()
}

/// One example in one repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedJob {
    pub(crate) example: usize,
    pub(crate) repeat: u32,
}

/// Everything that will be run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) jobs: Vec<PlannedJob>,
    pub(crate) specs: Vec<JobSpec>,
}

/// How the plan is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanOptions {
    /// The most repetitions of an example that are planned at once; the others may follow.
    pub(crate) most_repeats: u32,
    pub(crate) split_groups: bool,
    pub(crate) workers: u32,
}

/// Makes jobs of examples whose repetitions are set. The slots of a suite are the pool with the suite's index.
pub(crate) fn plan(
    examples: &[Example],
    estimates: &HashMap<ExampleId, f64>,
    options: PlanOptions,
) -> (Plan, JobBuilder) {
    let times = |example: &Example| example.repeats.unwrap_or(1).min(options.most_repeats);
    let mut repetitions = Vec::new();
    for repeat in 1..=examples.iter().map(times).max().unwrap_or(1) {
        let due = examples.iter().enumerate().filter(|(_, example)| times(example) >= repeat);
        repetitions.extend(due.map(|(example, _)| PlannedJob { example, repeat }));
    }
    let builder = JobBuilder::new(examples, estimates, options);
    (builder.build(examples, repetitions), builder)
}

/// Makes jobs of repetitions, at the beginning of a run and as it goes.
#[derive(Debug, Clone)]
pub(crate) struct JobBuilder {
    /// How long each example took before, in milliseconds.
    estimates: Vec<Option<f64>>,
    /// Where long groups are cut in two.
    cuts: HashSet<usize>,
}

impl JobBuilder {
    fn new(
        examples: &[Example],
        estimates: &HashMap<ExampleId, f64>,
        options: PlanOptions,
    ) -> Self {
        Self {
            estimates: examples.iter().map(|e| estimates.get(&e.id).copied()).collect(),
            cuts: if options.split_groups {
                cuts(examples, estimates, options.workers)
            } else {
                HashSet::new()
            },
        }
    }

    /// Jobs next to each other of one group in one repetition get the same unit.
    pub(crate) fn build(&self, examples: &[Example], jobs: Vec<PlannedJob>) -> Plan {
        let mut specs = Vec::with_capacity(jobs.len());
        let mut units = 0;
        let mut open: Option<(usize, u32, u32)> = None;
        for PlannedJob { example: place, repeat } in jobs.iter().copied() {
            let example = &examples[place];
            let unit = example.unit.map(|unit| {
                let same = open == Some((example.suite_index, unit, repeat));
                if !same || self.cuts.contains(&place) {
                    units += 1;
                }
                units
            });
            open = example.unit.map(|unit| (example.suite_index, unit, repeat));
            specs.push(JobSpec {
                pool: example.suite_index,
                unit,
                estimate: self.estimates[place],
                gated: example.pass_rate.is_some(),
            });
        }
        Plan { jobs, specs }
    }
}

/// How often an example is run: as often as was asked for, else as it says itself.
pub(crate) fn times(example: &Example, asked: u32) -> u32 {
    if asked > 0 { asked } else { example.repeats.unwrap_or(1).max(1) }
}

/// Where long groups are cut in two: those that take more than a third of a worker's share.
fn cuts(examples: &[Example], estimates: &HashMap<ExampleId, f64>, workers: u32) -> HashSet<usize> {
    let known: Vec<f64> = examples.iter().filter_map(|e| estimates.get(&e.id).copied()).collect();
    #[expect(clippy::cast_precision_loss, reason = "a number of examples")]
    let mean = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
    let cost = |example: &Example| estimates.get(&example.id).copied().unwrap_or(mean);
    let share = examples.iter().map(cost).sum::<f64>() / f64::from(workers.max(1));
    let mut groups: BTreeMap<(usize, u32), Vec<usize>> = BTreeMap::new();
    for (place, example) in examples.iter().enumerate() {
        if let Some(unit) = example.unit {
            groups.entry((example.suite_index, unit)).or_default().push(place);
        }
    }
    groups
        .into_values()
        .filter(|places| places.len() > 1)
        .filter(|places| places.iter().map(|p| cost(&examples[*p])).sum::<f64>() > share / 3.0)
        .map(|places| places[places.len().div_ceil(2)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(number: u32, unit: Option<u32>) -> Example {
        Example {
            id: ExampleId::from(format!("{:012x}", number * 7919 % 1000).as_str()),
            key: number.to_string(),
            suite: "rspec".into(),
            suite_index: 0,
            file: "./a".into(),
            path: vec![number.to_string()],
            location: None,
            description: String::new(),
            full_description: String::new(),
            tags: Vec::new(),
            unit,
            scenario: None,
            repeats: None,
            pass_rate: None,
            deterministic: None,
            scripted: false,
        }
    }

    fn keys(examples: &[Example]) -> Vec<&str> {
        examples.iter().map(|example| example.key.as_str()).collect()
    }

    #[test]
    fn shards_cover_everything_once_and_keep_units_whole() {
        let all: Vec<Example> =
            (0..50).map(|n| example(n, (n % 5 == 0).then_some(n / 10))).collect();
        let mut seen = Vec::new();
        for part in 1..=3 {
            let selection = Selection { shard: Some((part, 3)), ..Selection::default() };
            let mine = selection.apply(all.clone());
            assert!(mine.len() > 8, "{}", mine.len());
            for unit in 0..5 {
                let count = mine.iter().filter(|e| e.unit == Some(unit)).count();
                assert!(count == 0 || count == 2);
            }
            seen.extend(mine.into_iter().map(|e| e.key));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 50);
    }

    #[test]
    fn selection_by_id_and_by_earlier_failure() {
        let all: Vec<Example> = (0..4).map(|n| example(n, None)).collect();
        let id = all[2].id.clone();
        let by_id = Selection { ids: vec![id.to_string()], ..Selection::default() };
        assert_eq!(keys(&by_id.apply(all.clone())), ["2"]);
        let only = Selection { only: Some([id].into()), ..Selection::default() };
        assert_eq!(keys(&only.apply(all)), ["2"]);
    }

    #[test]
    fn repeats_make_new_units_and_split_groups_halves_long_ones() {
        let twice = |n| Example { repeats: Some(2), ..example(n, Some(0)) };
        let all: Vec<Example> = (0..6).map(twice).collect();
        let options = PlanOptions { most_repeats: 2, split_groups: false, workers: 2 };
        let whole = plan(&all, &HashMap::new(), options).0;
        let units = |plan: &Plan| plan.specs.iter().map(|s| s.unit.unwrap()).collect::<Vec<_>>();
        assert_eq!(units(&whole), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        let halved = plan(
            &all,
            &HashMap::new(),
            PlanOptions { most_repeats: 1, split_groups: true, ..options },
        )
        .0;
        assert_eq!(units(&halved), [1, 1, 1, 2, 2, 2]);
    }

    /// Audit A7: pools were found by the name of the suite, and the last one of a name got the jobs of all.
    #[test]
    fn a7_suites_of_one_name_have_jobs_and_units_of_their_own() {
        let of_suite = |suite_index, n| Example { suite_index, ..example(n, Some(0)) };
        let all = [of_suite(0, 1), of_suite(0, 2), of_suite(1, 3), of_suite(1, 4)];
        let options = PlanOptions { most_repeats: 1, split_groups: false, workers: 2 };
        let plan = plan(&all, &HashMap::new(), options).0;
        let jobs: Vec<(usize, Option<u32>)> =
            plan.specs.iter().map(|spec| (spec.pool, spec.unit)).collect();
        assert_eq!(jobs, [(0, Some(1)), (0, Some(1)), (1, Some(2)), (1, Some(2))]);
    }
}
