//! The audit's kinds of code (C1, C2, C6): injected collaborators, service objects, methods that are made, Rack, HTTP, states.
//! The files lie in `tests/fixtures/objects`; each is covered, every branch of it taken, and plain RSpec passes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_cover::{Mode, Report, run};

use crate::golden::copy;
use crate::options;

fn cover(name: &str) -> (tempfile::TempDir, Report) {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/objects");
    copy(&fixtures.join(name), folder.path());
    let mut options = options(folder.path());
    options.effort.tries = 1500;
    options.effort.seconds = 30.0;
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{}", proctor_cover::text(&report));
    for seed in [3, 11] {
        let order = format!("random:{seed}");
        let output =
            Command::new("rspec").args(["--order", &order]).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    (folder, report)
}

/// Every branch of this file is taken.
fn assert_covered(report: &Report, source: &str) {
    let file = report.files.iter().find(|file| file.source == source).unwrap();
    assert!(file.after.branches > 0 && file.pending.is_empty(), "{}", proctor_cover::text(report));
    assert_eq!(file.after.taken, file.after.branches, "{}", proctor_cover::text(report));
}

fn spec(folder: &tempfile::TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).unwrap()
}

#[test]
fn a_service_object_with_gateway_transaction_and_notification() {
    let (folder, report) = cover("service");
    assert_covered(&report, "app/services/place_order.rb");
    let text = spec(&folder, "spec/services/place_order_spec.rb");
    // Results, side effects, a block that is called, and constants of other files without autoload.
    for part in ["status: :paid", "and_yield", "have_received(:order_paid)", "payment_gateway'"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The same with nothing else selected: what the others would have taught must be found by the method itself.
#[test]
fn a_service_object_alone() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/objects");
    copy(&fixtures.join("service"), folder.path());
    let mut options = options(folder.path());
    options.effort.tries = 1500;
    options.effort.seconds = 30.0;
    options.mode = Mode::Paths(vec![PathBuf::from("app/services/place_order.rb")]);
    options.choice.only = vec!["PlaceOrder#call".to_owned()];
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{}", proctor_cover::text(&report));
    assert_covered(&report, "app/services/place_order.rb");
}

#[test]
fn four_collaborators_with_long_names() {
    let (folder, report) = cover("collaborators");
    assert_covered(&report, "lib/subscription_renewal.rb");
    let text = spec(&folder, "spec/subscription_renewal_spec.rb");
    for part in ["eq(:renewed)", "eq(:unknown)", "have_received(:deliver_receipt)"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn methods_made_by_define_method() {
    let (folder, report) = cover("dynamic");
    assert_covered(&report, "lib/report_card.rb");
    let text = spec(&folder, "spec/report_card_spec.rb");
    assert!(text.contains("describe '#excellent?'") && text.contains("describe '#describe'"));
}

#[test]
fn a_rack_handler_with_patterns() {
    let (_, report) = cover("rack");
    assert_covered(&report, "lib/shop_app.rb");
}

#[test]
fn another_machine_is_never_asked() {
    let (folder, report) = cover("http");
    assert_covered(&report, "lib/weather_client.rb");
    let text = spec(&folder, "spec/weather_client_spec.rb");
    assert!(text.contains("allow(Net::HTTP).to receive(:get_response)"), "{text}");
}

#[test]
fn a_cart_that_is_full_checked_out_twice_and_empty_again() {
    let (folder, report) = cover("cart");
    assert_covered(&report, "lib/cart.rb");
    let text = spec(&folder, "spec/cart_spec.rb");
    assert!(!text.contains("|it|"), "no shadowed `it`: {text}");
}

/// C2: the gateway was called for real, and the happy path stayed pending.
#[test]
fn the_gateway_of_the_seed_is_stubbed_and_its_happy_path_is_green() {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/payment"), folder.path());
    let mut options = options(folder.path());
    options.mode = Mode::Paths(vec![PathBuf::from("app/services/payment_processor.rb")]);
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{}", proctor_cover::text(&report));
    assert_covered(&report, "app/services/payment_processor.rb");
    let text = spec(&folder, "spec/services/payment_processor_spec.rb");
    assert!(text.contains("status: :processed"), "{text}");
    assert!(text.contains("allow(PaymentGateway).to receive(:charge)"), "{text}");
}
