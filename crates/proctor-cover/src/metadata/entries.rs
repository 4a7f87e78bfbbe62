//! From the facts of a source to the entries of its metadata: methods, characteristics, the bank of behaviours. Pure.

use proctor_ruby::{
    Behavior, BehaviorKind, Characteristic, ClassFacts, MethodFacts, SetupKind, SideEffect,
    WholeMethod, absorb,
};
use serde_json::Value;

use super::{
    BankEntry, CharacteristicEntry, EffectEntry, Metadata, MethodEntry, SetupEntry, ValueEntry,
};

impl Metadata {
    /// Fills in what the analysis found.
    pub fn analyze(&mut self, facts: &proctor_ruby::FileFacts, is_model: &dyn Fn(&str) -> bool) {
        let mut bank = EntryBuilder::default();
        let mut methods = Vec::new();
        for (class, method) in facts.methods().filter(|(_, method)| method.is_testable()) {
            let id = method.id(&class.name);
            let Some(choice) = self
                .methods_to_analyze
                .iter()
                .find(|choice| choice.method_id == id && choice.selected)
            else {
                continue;
            };
            methods.push(entry(class, method, &choice.method_mode, &mut bank, is_model));
        }
        let disabled: Vec<String> =
            self.behaviors.iter().filter(|one| !one.enabled).map(|one| one.id.clone()).collect();
        for one in &mut bank.entries {
            one.enabled = !disabled.contains(&one.id);
        }
        self.behaviors = bank.entries;
        self.methods = methods;
        self.limits = facts
            .limits
            .iter()
            .map(|limit| format!("line {}: {}", limit.line, limit.reason))
            .collect();
    }
}

#[derive(Default)]
struct EntryBuilder {
    entries: Vec<BankEntry>,
}

impl EntryBuilder {
    fn id(&mut self, kind: &str, description: &str, subtype: Option<&str>) -> String {
        if let Some(known) =
            self.entries.iter_mut().find(|one| one.description == description && one.kind == kind)
        {
            known.used_by += 1;
            return known.id.clone();
        }
        let words: String = description
            .chars()
            .map(
                |letter| {
                    if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' }
                },
            )
            .collect();
        let plain =
            words.split('_').filter(|word| !word.is_empty()).take(8).collect::<Vec<_>>().join("_");
        let mut id = plain.clone();
        let mut number = 2;
        while self.entries.iter().any(|one| one.id == id) {
            id = format!("{plain}_{number}");
            number += 1;
        }
        self.entries.push(BankEntry {
            id: id.clone(),
            description: description.to_owned(),
            kind: kind.to_owned(),
            subtype: subtype.map(str::to_owned),
            enabled: true,
            used_by: 1,
        });
        id
    }

    fn behavior(&mut self, behavior: &Behavior) -> String {
        let kind = match behavior.kind {
            BehaviorKind::Terminal => "terminal",
            BehaviorKind::Success => "success",
            BehaviorKind::SideEffect => "side_effect",
        };
        self.id(kind, &behavior.description, None)
    }
}

/// The entry of a method, with what its private methods decide and do.
fn entry(
    class: &ClassFacts,
    method: &MethodFacts,
    mode: &str,
    bank: &mut EntryBuilder,
    is_model: &dyn Fn(&str) -> bool,
) -> MethodEntry {
    let whole = absorb(class, method);
    let all = &whole.characteristics;
    let characteristics: Vec<_> =
        all.iter().map(|one| characteristic(one, all, bank, is_model)).collect();
    let side_effects = whole.side_effects.iter().map(|effect| side_effect(effect, all, bank));
    let side_effects = side_effects.collect();
    let behavior_id = characteristics.is_empty().then(|| bank.behavior(&method.outcome));
    MethodEntry {
        name: method.name.clone(),
        class_name: class.name.clone(),
        kind: if method.scope == proctor_ruby::Scope::Class { "class" } else { "instance" }
            .to_owned(),
        analyzed: true,
        method_mode: mode.to_owned(),
        side_effects,
        characteristics,
        dependencies: dependencies(class, method, &whole),
        behavior_id,
        test_config: None,
    }
}

/// Classes that a method and its private methods use.
fn dependencies(class: &ClassFacts, method: &MethodFacts, whole: &WholeMethod) -> Vec<String> {
    let private = class.methods.iter().filter(|one| whole.absorbed.contains(&one.name));
    let private = private.filter(|one| one.scope == method.scope);
    let mut found: Vec<String> = Vec::new();
    for name in method.constants.iter().chain(private.flat_map(|one| &one.constants)) {
        if *name != class.name && !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

fn side_effect(
    effect: &SideEffect,
    all: &[Characteristic],
    bank: &mut EntryBuilder,
) -> EffectEntry {
    let place = effect.place.as_ref();
    EffectEntry {
        kind: effect.kind.clone(),
        behavior_id: bank.id("side_effect", &effect.description, Some(&effect.kind)),
        depends_on: place.map(|place| all[place.decision].name.clone()),
        when_parent: place.map(|place| place.values.clone()),
    }
}

fn characteristic(
    one: &Characteristic,
    all: &[Characteristic],
    bank: &mut EntryBuilder,
    is_model: &dyn Fn(&str) -> bool,
) -> CharacteristicEntry {
    let values = one
        .arms
        .iter()
        .map(|arm| ValueEntry {
            value: match arm.value.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                other => Value::String(other.to_owned()),
            },
            description: arm.description.clone(),
            terminal: arm.terminal,
            behavior_id: arm.behavior.as_ref().map(|behavior| bank.behavior(behavior)),
        })
        .collect();
    let class = one.setup.class.clone().filter(|class| is_model(class));
    let kind = if class.is_some() { SetupKind::Model } else { one.setup.kind };
    let (from, to) = one.lines;
    CharacteristicEntry {
        name: one.name.clone(),
        description: one.description.clone(),
        kind: one.kind,
        source: one.origin.clone(),
        values,
        threshold_value: one.threshold.as_ref().map(|(value, _)| value.clone()),
        threshold_operator: one.threshold.as_ref().map(|(_, operator)| operator.clone()),
        source_line: if from == to { from.to_string() } else { format!("{from}-{to}") },
        setup: SetupEntry { kind, class },
        level: one.level,
        depends_on: one.parent.map(|parent| all[parent].name.clone()),
        when_parent: one.parent.map(|_| one.when_parent.clone()),
    }
}
