//! Factories: those that exist are found and used; those that do not are proposed; plain objects need none.

use proctor_cover::{Mode, run};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

use crate::{options, project};

const MODEL: &str =
    "class Ticket\n  attr_accessor :state\n\n  def initialize(state) = @state = state\nend\n";
const SERVICE: &str = "\
class Closer
  # @param [Ticket] ticket
  def close(ticket)
    case ticket.state
    when :open
      ticket.state = :closed
    when :closed
      return :already
    end
    ticket.state
  end
end
";
const FACTORIES: &str = "\
FactoryBot.define do
  factory :ticket do
    state { :open }

    trait :closed do
      state { :closed }
    end
  end
end
";

fn metadata(files: &[(&str, &str)]) -> (Value, Value) {
    let folder = project(files);
    let mut options = options(folder.path());
    options.mode = Mode::Paths(vec![PathBuf::from("app/services/closer.rb")]);
    options.to = Some("factories".to_owned());
    let report = run(&options, &mut |_| {}).unwrap();
    let text = fs::read_to_string(folder.path().join("tmp/rspec_metadata/app_services_closer.yml"))
        .unwrap();
    (serde_saphyr::from_str(&text).unwrap(), report.answers["factories"].clone())
}

#[test]
fn existing_factories_and_traits_are_used() {
    let (metadata, answer) = metadata(&[
        ("app/models/ticket.rb", MODEL),
        ("app/services/closer.rb", SERVICE),
        ("spec/factories/tickets.rb", FACTORIES),
    ]);
    let codes: Vec<&str> = metadata["factories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        codes[..2],
        ["build_stubbed(:ticket)", "build_stubbed(:ticket, :closed)"],
        "{metadata}"
    );
    assert!(metadata["factories"].as_array().unwrap().iter().all(|one| one["exists"] == true));
    assert_eq!(answer[0]["data"]["known"][0]["place"], "spec/factories/tickets.rb:2");
}

#[test]
fn missing_factories_are_proposed_and_plain_objects_need_none() {
    let (metadata, answer) =
        metadata(&[("app/models/ticket.rb", MODEL), ("app/services/closer.rb", SERVICE)]);
    let first = &metadata["factories"][0];
    assert_eq!((&first["exists"], &first["factory"]), (&Value::Bool(false), &"ticket".into()));
    assert!(
        first["sketch"].as_str().unwrap().contains("trait(:closed) { state { :closed } }"),
        "{first}"
    );
    assert_eq!(answer[0]["status"], "success");
    let warnings = metadata["automation"]["warnings"].to_string();
    assert!(warnings.contains("Factory :ticket not found"), "{warnings}");
    let (plain, answer) = self::metadata(&[("app/services/closer.rb", SERVICE)]);
    assert_eq!(plain["automation"]["factory_agent_skipped"], true);
    assert_eq!(answer[0]["status"], "skip");
}
