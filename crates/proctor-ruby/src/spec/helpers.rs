//! Which set-ups of a method's examples stand outside of them: what several examples need is a `let`, the object under test the
//! `subject`, what is told to stand-ins a `before`. What one example needs stays in it while it is short. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::style::Style;

/// What stands before the call of an example.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Step {
    /// A variable and the code of its value.
    Variable(String, String),
    /// Anything else.
    Statement(String),
}

/// An example before it is decided where its set-up stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Prepared {
    /// The context it belongs to, by its place.
    pub(super) context: usize,
    /// In order.
    pub(super) steps: Vec<Step>,
    /// The variable that the method is called on, if it is one.
    pub(super) owner: Option<String>,
    /// Whether its variables must be made where they stand: rows that are there before the call, or are counted.
    pub(super) ordered: bool,
    /// The call and the expectation.
    pub(super) act: Vec<String>,
    /// How many lines the call and the expectation take.
    pub(super) act_lines: usize,
}

/// What stands at the beginning of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Helpers {
    /// Name and code.
    pub(super) subject: Option<(String, String)>,
    /// Names and codes.
    pub(super) lets: Vec<(String, String)>,
    /// Statements.
    pub(super) before: Vec<String>,
}

impl Helpers {
    fn code(&self, name: &str) -> Option<&str> {
        let all = self.subject.iter().chain(&self.lets);
        all.into_iter().find(|(own, _)| own == name).map(|(_, code)| code.as_str())
    }

    fn mentions(&self, name: &str) -> bool {
        self.subject.iter().chain(&self.lets).any(|(_, code)| mentions(code, name))
    }

    fn add(&mut self, name: &str, code: &str, is_subject: bool) {
        let pair = (name.to_owned(), code.to_owned());
        if is_subject && self.subject.is_none() {
            self.subject = Some(pair);
        } else {
            self.lets.push(pair);
        }
    }
}

/// Names that a `let` would take away from the matchers and helpers of RSpec.
const RESERVED: &[&str] = &[
    "all",
    "allow",
    "argument",
    "be",
    "change",
    "class",
    "contain_exactly",
    "context",
    "cover",
    "described_class",
    "double",
    "end_with",
    "eq",
    "eql",
    "equal",
    "example",
    "exist",
    "expect",
    "fail",
    "folder",
    "format",
    "hash",
    "include",
    "inspect",
    "instance_double",
    "it",
    "match",
    "message",
    "method",
    "object_id",
    "output",
    "pending",
    "raise_error",
    "receive",
    "respond_to",
    "satisfy",
    "send",
    "skip",
    "start_with",
    "subject",
    "throw_symbol",
    "warn",
    "yield_control",
];

/// Moves set-ups out of examples; gives what stands in the method's group and in each context.
pub(super) fn arrange(
    examples: &mut [Prepared],
    contexts: usize,
    named: &[bool],
    style: &Style,
) -> (Helpers, Vec<Helpers>) {
    let mut group = Helpers::default();
    let mut inner: Vec<Helpers> = vec![Helpers::default(); contexts];
    inline_surplus(examples, style);
    share_variables(examples, &mut group, style);
    for (place, helpers) in inner.iter_mut().enumerate().filter(|(place, _)| named[*place]) {
        let mut own: Vec<&mut Prepared> =
            examples.iter_mut().filter(|example| example.context == place).collect();
        share_in_context(&mut own, &group, helpers, style);
    }
    take_away_variables(examples, &group, &inner);
    share_statements(examples, &mut group);
    for (place, helpers) in inner.iter_mut().enumerate().filter(|(place, _)| named[*place]) {
        let mut own: Vec<&mut Prepared> =
            examples.iter_mut().filter(|example| example.context == place).collect();
        shorten(&mut own, &group, helpers, style);
    }
    let alone = examples.len() == 1 && !named[examples[0].context];
    if alone {
        let mut own: Vec<&mut Prepared> = examples.iter_mut().collect();
        let mut own_group = std::mem::take(&mut group);
        shorten(&mut own, &Helpers::default(), &mut own_group, style);
        group = own_group;
    }
    for example in examples.iter_mut() {
        inline_owner(example, style);
    }
    drop_unused(examples, &mut group, &mut inner);
    (group, inner)
}

fn variables(example: &Prepared) -> impl Iterator<Item = (&str, &str)> {
    example.steps.iter().filter_map(|step| match step {
        Step::Variable(name, code) => Some((name.as_str(), code.as_str())),
        Step::Statement(_) => None,
    })
}

fn statements(example: &Prepared) -> impl Iterator<Item = &str> {
    example.steps.iter().filter_map(|step| match step {
        Step::Statement(code) => Some(code.as_str()),
        Step::Variable(..) => None,
    })
}

/// Whether a name stands somewhere in a code, as a word of its own.
pub(super) fn mentions(code: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(name).any(|(place, _)| {
        let before = code[..place].chars().next_back();
        let after = code[place + name.len()..].chars().next();
        let apart = |letter: Option<char>| letter.is_none_or(|letter| !is_part(letter));
        apart(before) && apart(after) && !matches!(before, Some('.' | ':' | '@' | '"' | '\''))
    })
}

/// Whether its variables may be made when they are first asked for: whatever is done before concerns them, or is a stub.
fn may_be_lazy(example: &Prepared) -> bool {
    if example.ordered {
        return false;
    }
    let mut made: Vec<(&str, &str)> = Vec::new();
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    for step in &example.steps {
        match step {
            Step::Variable(name, code) => made.push((name, code)),
            Step::Statement(code) if code.starts_with("allow(") => {}
            Step::Statement(code) => {
                asked.extend(
                    made.iter().filter(|(name, _)| mentions(code, name)).map(|(name, _)| name),
                );
                for (name, value) in made.iter().rev() {
                    if asked.contains(name) {
                        asked.extend(
                            made.iter()
                                .filter(|(other, _)| mentions(value, other))
                                .map(|(other, _)| other),
                        );
                    }
                }
                if made.iter().any(|(name, _)| !asked.contains(name)) {
                    return false;
                }
            }
        }
    }
    true
}

/// Too many variables for `let`: those that only one other needs are written there.
fn inline_surplus(examples: &mut [Prepared], style: &Style) {
    loop {
        let mut names: Vec<String> = Vec::new();
        for example in examples.iter() {
            let others =
                variables(example).filter(|(name, _)| Some(*name) != example.owner.as_deref());
            for (name, _) in others {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        if names.len() <= style.helpers {
            return;
        }
        let once = |name: &&String| examples.iter().all(|example| is_needed_once(example, name));
        let Some(name) = names.iter().rev().find(once) else { return };
        for example in examples.iter_mut() {
            inline(example, name);
        }
    }
}

/// Whether a variable, if an example has it, is needed by one other variable and nothing else.
fn is_needed_once(example: &Prepared, name: &str) -> bool {
    let by_variables = variables(example).filter(|(_, code)| mentions(code, name)).count();
    let others = statements(example).chain(example.act.iter().map(String::as_str));
    let is_there = variables(example).any(|(own, _)| own == name);
    !is_there || (by_variables == 1 && !others.into_iter().any(|code| mentions(code, name)))
}

/// Writes the value of a variable where it is needed.
fn inline(example: &mut Prepared, name: &str) {
    let code = variables(example).find(|(own, _)| *own == name).map(|(_, code)| code.to_owned());
    let Some(code) = code else { return };
    example.steps.retain(|step| !matches!(step, Step::Variable(own, _) if own == name));
    for step in &mut example.steps {
        if let Step::Variable(_, other) = step
            && mentions(other, name)
        {
            *other = substituted(other, name, &code);
        }
    }
}

/// A code with the value of a variable in place of its last mention, which is not the label in front of it.
fn substituted(code: &str, name: &str, value: &str) -> String {
    match code.rfind(name) {
        Some(place) => format!("{}{value}{}", &code[..place], &code[place + name.len()..]),
        None => code.to_owned(),
    }
}

/// Variables that several examples of the method have in common.
fn share_variables(examples: &[Prepared], group: &mut Helpers, style: &Style) {
    let mut codes: Vec<(&str, BTreeMap<&str, usize>, Vec<&str>)> = Vec::new();
    for example in examples.iter().filter(|example| may_be_lazy(example)) {
        for (name, code) in variables(example).filter(|(name, _)| !RESERVED.contains(name)) {
            let place = codes.iter().position(|(own, ..)| *own == name).unwrap_or_else(|| {
                codes.push((name, BTreeMap::new(), Vec::new()));
                codes.len() - 1
            });
            *codes[place].1.entry(code).or_default() += 1;
            codes[place].2.push(code);
        }
    }
    // What is made of others comes after them; whether it is shared decides whether they are.
    for (name, counts, order) in codes.into_iter().rev() {
        let most = counts.values().copied().max().unwrap_or_default();
        // The same is told to different objects of one name: each context has its own.
        let is_told = order.len() > 1 && (told_twice(examples, name) || group.mentions(name));
        let best = order.into_iter().find(|code| counts[code] == most);
        let is_subject = examples.iter().any(|example| example.owner.as_deref() == Some(name));
        let room = is_subject || group.lets.len() < style.helpers;
        if let Some(code) = best.filter(|_| (most > 1 || is_told) && room) {
            group.add(name, code, is_subject);
        }
    }
    group.lets.reverse();
}

/// Whether several examples have the same statement about a variable.
fn told_twice(examples: &[Prepared], name: &str) -> bool {
    let all: Vec<&str> = examples.iter().flat_map(statements).collect();
    all.iter().enumerate().any(|(place, code)| {
        code.starts_with("allow(") && mentions(code, name) && all[..place].contains(code)
    })
}

/// Variables that differ from those of the group, the same for all examples of a context.
fn share_in_context(
    examples: &mut [&mut Prepared],
    group: &Helpers,
    helpers: &mut Helpers,
    style: &Style,
) {
    if examples.is_empty() || !examples.iter().all(|example| may_be_lazy(example)) {
        return;
    }
    let first = variables(examples[0]).map(|(name, code)| (name.to_owned(), code.to_owned()));
    for (name, code) in first.collect::<Vec<_>>() {
        let same = |example: &&mut Prepared| {
            variables(example).all(|(own, other)| own != name || other == code)
        };
        let is_subject = examples[0].owner.as_deref() == Some(&name);
        let overrides = group.code(&name).is_some_and(|own| own != code);
        let needed = overrides || (examples.len() > 1 && group.code(&name).is_none());
        let count = group.lets.iter().filter(|(own, _)| *own != name).count() + helpers.lets.len();
        let room = is_subject || overrides || count < style.helpers;
        if needed && room && !RESERVED.contains(&name.as_str()) && examples.iter().all(same) {
            helpers.add(&name, &code, is_subject);
        }
    }
}

/// Removes variables from examples that see the same value outside.
fn take_away_variables(examples: &mut [Prepared], group: &Helpers, inner: &[Helpers]) {
    for example in examples.iter_mut().filter(|example| may_be_lazy(example)) {
        let seen = |name: &str| inner[example.context].code(name).or_else(|| group.code(name));
        let mut own: BTreeSet<String> = variables(example)
            .filter(|(name, code)| seen(name) != Some(*code))
            .map(|(name, _)| name.to_owned())
            .collect();
        // What is made of a variable of the example must stand in the example, too.
        loop {
            let more: Vec<String> = variables(example)
                .filter(|(name, code)| {
                    !own.contains(*name) && own.iter().any(|other| mentions(code, other))
                })
                .map(|(name, _)| name.to_owned())
                .collect();
            if more.is_empty() {
                break;
            }
            own.extend(more);
        }
        example
            .steps
            .retain(|step| !matches!(step, Step::Variable(name, _) if !own.contains(name)));
    }
}

/// Stubs that at least half of the examples have in common.
fn share_statements(examples: &mut [Prepared], group: &mut Helpers) {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for example in examples.iter() {
        let own: Vec<&str> = variables(example).map(|(name, _)| name).collect();
        let is_free = |code: &&str| {
            code.starts_with("allow(") && !own.iter().any(|name| mentions(code, name))
        };
        for code in statements(example).filter(is_free) {
            match counts.iter_mut().find(|(known, _)| known == code) {
                Some((_, count)) => *count += 1,
                None => counts.push((code.to_owned(), 1)),
            }
        }
    }
    let total = examples.len();
    let shared: Vec<String> = counts
        .into_iter()
        .filter(|(code, count)| {
            *count > 1
                && count * 2 >= total
                && words_of(code).all(|word| is_seen(word, examples, group))
        })
        .map(|(code, _)| code)
        .collect();
    for example in examples.iter_mut() {
        example
            .steps
            .retain(|step| !matches!(step, Step::Statement(code) if shared.contains(code)));
    }
    group.before.extend(shared);
}

/// Names of variables in a code.
fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
}

/// A word that is no variable of any example, or one that the group has.
fn is_seen(word: &str, examples: &[Prepared], group: &Helpers) -> bool {
    let is_variable =
        examples.iter().any(|example| variables(example).any(|(name, _)| name == word));
    !is_variable || group.code(word).is_some()
}

/// Examples of a context that are too long: what they have in common stands before them.
fn shorten(examples: &mut [&mut Prepared], group: &Helpers, helpers: &mut Helpers, style: &Style) {
    let Some(first) = examples.first() else { return };
    let steps = first.steps.clone();
    let same = examples.iter().all(|example| example.steps == steps);
    let is_long =
        |example: &&mut Prepared| example.steps.len() + example.act_lines > style.example_lines;
    let needed = examples.iter().any(is_long) || examples.len() > 1;
    if !same || steps.is_empty() || !needed || !examples.iter().all(|example| may_be_lazy(example))
    {
        return;
    }
    let owner = first.owner.clone();
    let mut moved = helpers.clone();
    for step in &steps {
        match step {
            Step::Variable(name, code) => {
                let is_subject = owner.as_deref() == Some(name);
                let count = group.lets.len() + moved.lets.len();
                if RESERVED.contains(&name.as_str()) || (!is_subject && count >= style.helpers) {
                    return;
                }
                moved.add(name, code, is_subject);
            }
            Step::Statement(code) => moved.before.push(code.clone()),
        }
    }
    *helpers = moved;
    for example in examples.iter_mut() {
        example.steps.clear();
    }
}

/// An object under test that only one line of its example needs is written there.
fn inline_owner(example: &mut Prepared, style: &Style) {
    let (Some(owner), [act]) = (&example.owner, example.act.as_slice()) else { return };
    let Some(Step::Variable(name, code)) = example.steps.last() else { return };
    let uses = act.match_indices(owner.as_str()).count();
    let is_call = act.starts_with(&format!("expect({owner}."))
        || act.starts_with(&format!("expect {{ {owner}."));
    let length = act.chars().count() + code.chars().count() + 8;
    if name == owner && uses == 1 && is_call && length <= style.width {
        example.act = vec![act.replacen(owner.as_str(), code, 1)];
        example.steps.pop();
    }
}

/// Drops helpers that nothing asks for.
fn drop_unused(examples: &[Prepared], group: &mut Helpers, inner: &mut [Helpers]) {
    let mut codes: Vec<String> = Vec::new();
    for example in examples {
        codes.extend(example.act.iter().cloned());
        codes.extend(example.steps.iter().map(|step| match step {
            Step::Variable(_, code) | Step::Statement(code) => code.clone(),
        }));
    }
    for helpers in inner.iter().chain([&*group]) {
        codes.extend(helpers.before.iter().cloned());
        codes.extend(helpers.lets.iter().chain(&helpers.subject).map(|(_, code)| code.clone()));
    }
    let used = |name: &str| codes.iter().any(|code| mentions(code, name));
    for helpers in inner.iter_mut().chain([group]) {
        helpers.lets.retain(|(name, _)| used(name));
        if helpers.subject.as_ref().is_some_and(|(name, _)| !used(name)) {
            helpers.subject = None;
        }
    }
}
