//! The seed's example: structure, types, levels, terminals and lines.

use proctor_ruby::{CharacteristicKind, analyze};

#[test]
fn the_payment_processor_has_the_structure_of_the_seed() {
    let source = include_bytes!("../../../../examples/payment/app/services/payment_processor.rb");
    let facts = analyze(source).unwrap();
    let class = &facts.classes[0];
    let process = class.methods.iter().find(|method| method.name == "process").unwrap();
    let status = &process.characteristics[0];
    assert_eq!((status.kind, status.lines, status.level), (CharacteristicKind::Enum, (15, 22), 1));
    let values: Vec<(&str, bool, bool)> = status
        .arms
        .iter()
        .map(|arm| (arm.value.as_str(), arm.terminal, arm.behavior.is_some()))
        .collect();
    assert_eq!(
        values,
        [("pending", false, false), ("completed", true, true), ("failed", true, true)]
    );
    let gateway = &process.characteristics[1];
    assert_eq!(
        (gateway.kind, gateway.level, gateway.parent),
        (CharacteristicKind::Boolean, 2, Some(0))
    );
    assert_eq!(gateway.when_parent, ["pending"]);
    let origin = gateway.origin.as_ref().unwrap();
    assert_eq!(
        (origin.class.as_deref(), origin.method.as_deref()),
        (Some("PaymentGateway"), Some("charge"))
    );
    let values: Vec<(&str, bool)> =
        gateway.arms.iter().map(|arm| (arm.value.as_str(), arm.terminal)).collect();
    assert_eq!(values, [("true", false), ("false", true)]);
    let kinds: Vec<&str> = process.side_effects.iter().map(|effect| effect.kind.as_str()).collect();
    assert_eq!(kinds, ["webhook", "email"]);
    let refund = class.methods.iter().find(|method| method.name == "refund").unwrap();
    let eligible = &refund.characteristics[0];
    assert_eq!(
        (eligible.kind, eligible.lines, eligible.level),
        (CharacteristicKind::Boolean, (30, 30), 1)
    );
    let values: Vec<(&str, bool)> =
        eligible.arms.iter().map(|arm| (arm.value.as_str(), arm.terminal)).collect();
    assert_eq!(values, [("true", false), ("false", true)]);
    assert_eq!(eligible.setup.class.as_deref(), Some("Transaction"));
}
