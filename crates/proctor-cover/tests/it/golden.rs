//! The seed's example, the payment processor, through all stages: structure, types, levels, terminals and lines equal the
//! seed's. Wording is free.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_cover::{Mode, STAGES, answers_yaml, run};
use serde_json::{Value, json};

use crate::options;
use crate::schema::problems;

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn payment() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/payment"), folder.path());
    folder
}

fn read(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A method's characteristics with everything but words and names: names only where they tie parts together.
fn structure_of(method: &Value) -> Value {
    let all = method["characteristics"].as_array().unwrap();
    let place = |name: &Value| all.iter().position(|one| &one["name"] == name);
    let list: Vec<Value> = all
        .iter()
        .map(|one| {
            let values: Vec<Value> = one["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| json!([value["value"], value["terminal"], value["behavior_id"].is_string()]))
                .collect();
            json!({
                "type": one["type"], "source_line": one["source_line"], "source": one["source"], "setup": one["setup"],
                "level": one["level"], "depends_on": place(&one["depends_on"]), "when_parent": one["when_parent"], "values": values,
            })
        })
        .collect();
    Value::Array(list)
}

#[test]
fn the_payment_processor_goes_through_all_stages_as_the_seed_has_it() {
    let folder = payment();
    let mut options = options(folder.path());
    options.mode = Mode::Paths(vec![PathBuf::from("app/services/payment_processor.rb")]);
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let path = folder.path().join("tmp/rspec_metadata/app_services_payment_processor.yml");
    let metadata = read(&path);
    assert_eq!(problems("metadata", &metadata), Vec::<String>::new());

    // Discovery.
    let top = |key: &str| metadata[key].clone();
    assert_eq!(
        (top("slug"), top("source_file"), top("class_name"), top("spec_path")),
        (
            json!("app_services_payment_processor"),
            json!("app/services/payment_processor.rb"),
            json!("PaymentProcessor"),
            json!("spec/services/payment_processor_spec.rb")
        )
    );
    let found: Vec<Value> = metadata["methods_to_analyze"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["name"], one["line_range"], one["selected"]]))
        .collect();
    assert_eq!(found, [json!(["process", [11, 28], true]), json!(["refund", [29, 34], true])]);

    // Code analysis.
    let methods = metadata["methods"].as_array().unwrap();
    let names: Vec<Value> =
        methods.iter().map(|one| json!([one["name"], one["type"], one["analyzed"]])).collect();
    assert_eq!(names, [json!(["process", "instance", true]), json!(["refund", "instance", true])]);
    assert_eq!(
        structure_of(&methods[0]),
        json!([
            {
                "type": "enum", "source_line": "15-22", "source": null, "setup": { "type": "model", "class": "Payment" },
                "level": 1, "depends_on": null, "when_parent": null,
                "values": [["pending", false, false], ["completed", true, true], ["failed", true, true]],
            },
            {
                "type": "boolean", "source_line": "23",
                "source": { "kind": "external", "class": "PaymentGateway", "method": "charge" }, "setup": { "type": "action", "class": null },
                "level": 2, "depends_on": 0, "when_parent": ["pending"],
                "values": [[true, false, true], [false, true, true]],
            },
        ])
    );
    assert_eq!(
        structure_of(&methods[1]),
        json!([{
            "type": "boolean", "source_line": "30", "source": null, "setup": { "type": "model", "class": "Transaction" },
            "level": 1, "depends_on": null, "when_parent": null, "values": [[true, false, true], [false, true, true]],
        }])
    );
    let effects: Vec<&Value> =
        methods[0]["side_effects"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(effects, [&json!("webhook"), &json!("email")]);
    assert!(methods[0]["dependencies"].as_array().unwrap().contains(&json!("PaymentGateway")));
    // The bank: four ways to end early, two successes, two side effects; each is used, none twice.
    let bank = metadata["behaviors"].as_array().unwrap();
    let count = |kind: &str| bank.iter().filter(|one| one["type"] == kind).count();
    assert_eq!((count("terminal"), count("success"), count("side_effect")), (4, 2, 2), "{bank:?}");
    assert!(bank.iter().all(|one| one["enabled"] == true && one["used_by"] == 1), "{bank:?}");

    // Isolation, architecture, factories, implementation, review.
    isolation(methods);
    structure(&metadata["structure"]);
    assert_eq!(metadata["automation"]["factory_agent_completed"], true);
    for (_, agent) in STAGES {
        assert_eq!(metadata["automation"][format!("{agent}_completed")], true, "{agent}");
        assert!(metadata["automation"][format!("{agent}_version")].is_string(), "{agent}");
    }
    assert_eq!(metadata["review"]["tests_passed"], true);
    let broken = metadata["review"]["violations"].as_array().unwrap();
    assert!(broken.iter().all(|one| one["severity"] != "must"), "{broken:?}");
    let answers: Value = serde_saphyr::from_str(&answers_yaml(&report.answers)).unwrap();
    assert_eq!(problems("answers", &answers), Vec::<String>::new());
}

fn isolation(methods: &[Value]) {
    let config = |place: usize| &methods[place]["test_config"];
    assert_eq!(config(0)["test_level"], "integration", "stored objects and three dependencies");
    assert_eq!(
        config(0)["isolation"],
        json!({ "db": "real", "external_http": "stubbed", "queue": "stubbed" })
    );
    assert_eq!(config(1)["test_level"], "unit");
    assert_eq!(
        config(1)["isolation"],
        json!({ "db": "stubbed", "external_http": "none", "queue": "none" })
    );
}

fn structure(structure: &Value) {
    assert_eq!(structure["describe"], "PaymentProcessor");
    let process = &structure["methods"][0];
    assert_eq!(process["name"], "#process");
    let contexts = process["contexts"].as_array().unwrap();
    // The happy path first, with the gateway below it; then the two that end early.
    assert_eq!(contexts.len(), 3);
    let below = contexts[0]["children"].as_array().unwrap();
    assert_eq!(below.iter().map(|one| one["leaf"] == true).collect::<Vec<_>>(), [true, false]);
    assert_eq!(below[1]["terminal"], true);
    assert_eq!(
        below[0]["examples"].as_array().unwrap().len(),
        3,
        "two side effects, then the result"
    );
    assert!(
        contexts[1..]
            .iter()
            .all(|one| one["terminal"] == true && one["examples"].as_array().unwrap().len() == 1)
    );
    let refund = structure["methods"][1]["contexts"].as_array().unwrap();
    assert_eq!((refund.len(), &refund[1]["terminal"]), (2, &json!(true)));
}

#[test]
fn every_stage_answers_in_its_contract() {
    let folder = payment();
    let mut options = options(folder.path());
    options.mode = Mode::Paths(vec![PathBuf::from("app")]);
    let mut answered = Vec::new();
    for (stage, _) in STAGES {
        options.from = (*stage != "discover").then(|| (*stage).to_owned());
        options.to = Some((*stage).to_owned());
        let report = run(&options, &mut |_| {}).unwrap();
        let answers: Value = serde_saphyr::from_str(&answers_yaml(&report.answers)).unwrap();
        assert_eq!(problems("answers", &answers), Vec::<String>::new(), "{stage}: {answers}");
        assert!(answers.get(*stage).is_some(), "{stage}: {answers}");
        answered.push(*stage);
        for entry in fs::read_dir(folder.path().join("tmp/rspec_metadata")).unwrap() {
            let metadata = read(&entry.unwrap().path());
            assert_eq!(problems("metadata", &metadata), Vec::<String>::new(), "{stage}");
        }
    }
    assert_eq!(answered.len(), 7);
}
