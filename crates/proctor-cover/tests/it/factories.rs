//! Factories: those that exist are found and used; those that do not are proposed; plain objects need none.

use proctor_cover::{Mode, Report, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

use crate::golden::copy;
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

/// Covers a service and a model of the shop in `tests/fixtures/factories`.
fn cover_shop(folder: &Path, to: Option<&str>) -> Report {
    let mut options = options(folder);
    options.effort.tries = 300;
    options.effort.seconds = 15.0;
    options.again = true;
    options.to = to.map(str::to_owned);
    options.mode = Mode::Paths(vec![
        PathBuf::from("app/services/checkout.rb"),
        PathBuf::from("app/models/voucher.rb"),
    ]);
    run(&options, &mut |_| {}).unwrap()
}

/// Names after `trait :` in a file of factories.
fn traits_in(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("trait :")?.strip_suffix(" do"))
        .collect()
}

/// A gateway, a transaction, a job and an email: the missing factory is written, every branch is taken, results and side effects
/// are expected, what people wrote stays as it is, and a second run changes nothing. What cannot be valid gets no factory.
#[test]
fn a_service_with_stored_objects_end_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/factories/shop");
    copy(&shop, folder.path());
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    let customers = read("spec/factories/customers.rb");
    let report = cover_shop(folder.path(), None);
    let shown = proctor_cover::text(&report);
    assert!(report.is_clean(), "{shown}");
    let checkout =
        report.files.iter().find(|file| file.spec.ends_with("checkout_spec.rb")).unwrap();
    assert_eq!(
        (checkout.after.taken, checkout.pending.len()),
        (checkout.after.branches, 0),
        "{shown}"
    );

    let spec = read("spec/services/checkout_spec.rb");
    for part in [
        "let(:order) { create(:order",
        "let(:order) { build_stubbed(:order, :",
        "Result.new(status: :paid",
        "Result.new(status: :declined",
        "Result.new(status: :not_payable",
        "expect(order.reload).to have_attributes(status: 'failed')",
        "deliveries.last).to have_attributes(to: [order.customer.email])",
        "include(job: ReceiptJob, args: [order.id])",
    ] {
        assert!(spec.contains(part), "{part} in {spec}");
    }
    assert!(!spec.contains("spec_helper"), "`.rspec` loads it: {spec}");
    assert!(!spec.contains("instance_double(Order"), "{spec}");

    let orders = read("spec/factories/orders.rb");
    let created = report.answers["implement"].as_array().unwrap().iter();
    let added: Vec<&Value> = created
        .flat_map(|one| one["data"]["files_created"].as_array().unwrap())
        .filter(|one| one["path"] == "spec/factories/orders.rb")
        .collect();
    assert_eq!(added.len(), 1, "{added:?}");
    assert_eq!(added[0]["traits_added"], serde_json::json!(traits_in(&orders)), "{orders}");
    assert_eq!(traits_in(&orders), ["paid", "failed"]);
    assert_eq!(read("spec/factories/customers.rb"), customers);

    assert!(shown.contains("no factory was written for Voucher"), "{shown}");
    assert!(shown.contains("vouchers are not sold any more"), "{shown}");
    assert!(!folder.path().join("spec/factories/vouchers.rb").exists());

    let metadata = read("tmp/rspec_metadata/app_services_checkout.yml");
    assert!(metadata.contains("object_strategy: create"), "{metadata}");
    let again = cover_shop(folder.path(), Some("implement"));
    assert!(again.is_clean(), "{}", proctor_cover::text(&again));
    assert!(again.files.iter().all(|file| file.factories.is_empty()));
    assert_eq!(
        [read("spec/services/checkout_spec.rb"), read("spec/factories/orders.rb")],
        [spec, orders]
    );
}
