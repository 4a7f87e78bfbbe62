//! Kinds of objects that ordinary projects have, each written as somebody else would write it: every branch is taken, and plain
//! RSpec passes.

use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::{Report, run};

use crate::{holds, options, project};

fn cover(files: &[(&str, &str)]) -> (tempfile::TempDir, Report) {
    let folder = project(files);
    let mut options = options(folder.path());
    options.effort.tries = 800;
    options.effort.seconds = 20.0;
    options.effort.mutation_seconds = 20.0;
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(holds(&report), "{}", proctor_cover::text(&report));
    let output = Command::new("rspec").current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    (folder, report)
}

/// Every branch of a file is taken, and nothing is left open.
fn assert_covered(report: &Report, path: &str) {
    let text = proctor_cover::text(report);
    let file = report.files.iter().find(|file| file.source == path).unwrap();
    assert!(file.pending.is_empty() && file.examples > 0, "{text}");
    assert_eq!(file.after.taken, file.after.branches, "{text}");
}

fn spec(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join("spec").join(path)).unwrap()
}

const FORM: &str = r#"require "active_model"

class BookingForm
  include ActiveModel::Model
  include ActiveModel::Attributes

  attribute :email, :string
  attribute :seats, :integer
  attribute :reminder, :boolean, default: false
  attr_accessor :bookings, :mailing

  validates :email, presence: true, format: { with: /@/ }
  validates :seats, numericality: { greater_than: 2 }

  def save
    return false unless valid?

    booking = bookings.create(email: email, seats: seats)
    mailing.subscribe(email) if reminder
    booking
  end
end
"#;

const NOTE: &str = r"class Note
  def initialize(text)
    @text = text
  end

  def short?
    @text.length < 20
  end
end
";

/// With `ActiveSupport` loaded and no database, everything was taken for something that disturbs other examples. A form was never
/// valid, so that what it does then stayed open.
#[test]
fn a_form_is_valid_and_works_with_stand_ins() {
    let (folder, report) = cover(&[("app/forms/booking_form.rb", FORM), ("lib/note.rb", NOTE)]);
    assert_covered(&report, "app/forms/booking_form.rb");
    assert_covered(&report, "lib/note.rb");
    let text = spec(folder.path(), "forms/booking_form_spec.rb");
    for part in ["email: 'user@example.com'", "seats: 10", "have_received(:subscribe)"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // A method that does something is not asked what the object is like.
    assert!(!text.contains("have_attributes(save:"), "{text}");
}

const WEIGHT: &str = r#"class Weight
  include Comparable
  attr_reader :grams, :unit

  def initialize(grams, unit = "g")
    @grams = Integer(grams)
    @unit = unit
  end

  def <=>(other)
    return nil unless other.is_a?(Weight)

    grams <=> other.grams
  end

  def hash = [grams, unit].hash

  def +(other) = Weight.new(grams + other.grams, unit)

  def discounted(share)
    share.zero? ? self : Weight.new(grams - grams * share / 100, unit)
  end
end
"#;

/// Every example that named the hash of a value was wrong in the next process, and nearly all of them did.
#[test]
fn the_hash_of_a_value_is_another_number_in_every_process() {
    let (folder, report) = cover(&[("lib/weight.rb", WEIGHT)]);
    assert_covered(&report, "lib/weight.rb");
    let text = spec(folder.path(), "weight_spec.rb");
    assert!(text.contains("hash).to be_an_instance_of(Integer)"), "{text}");
    assert!(!text.contains("hash: "), "{text}");
    assert!(report.files[0].dropped.is_empty(), "{}", proctor_cover::text(&report));
}

const PRESENTER: &str = r##"require "delegate"

class TalkPresenter < SimpleDelegator
  def initialize(talk, room: nil)
    super(talk)
    @room = room
  end

  def line
    return title if speaker.nil?

    "#{title} by #{speaker.full_name}"
  end

  def place
    return "to be announced" unless @room

    cancelled? ? "cancelled" : "in #{@room}"
  end
end
"##;

/// What a delegator does not define is asked of the object that it was given.
#[test]
fn a_presenter_is_given_the_object_that_it_speaks_of() {
    let (folder, report) = cover(&[("app/presenters/talk_presenter.rb", PRESENTER)]);
    assert_covered(&report, "app/presenters/talk_presenter.rb");
    let text = spec(folder.path(), "presenters/talk_presenter_spec.rb");
    assert!(text.contains("instance_double('Talk'"), "{text}");
}

const IMPORT: &str = r#"require "csv"

class GuestImport
  COLUMNS = %w[name email].freeze

  def initialize(guests)
    @guests = guests
  end

  def run(text)
    table = CSV.parse(text, headers: true)
    missing = COLUMNS - table.headers
    raise ArgumentError, "missing: #{missing.join(', ')}" if missing.any?

    table.map do |row|
      if row["email"].to_s.empty? then :invalid
      elsif @guests.known?(row["email"]) then :skipped
      else @guests.add(row["email"], diet: row["diet"])
      end
    end
  end
end
"#;

#[test]
fn a_table_has_the_headers_that_its_reader_names() {
    let (folder, report) = cover(&[("lib/guest_import.rb", IMPORT)]);
    assert_covered(&report, "lib/guest_import.rb");
    let text = spec(folder.path(), "guest_import_spec.rb");
    assert!(text.contains("name,email") && text.contains("missing: "), "{text}");
}

const BANK: &str = r#"require "net/http"
require "json"

class BankGateway
  class Refused < StandardError; end
  class Busy < StandardError; end

  def transfer(account, amount)
    response = Net::HTTP.post_form(URI("https://bank.test/transfers"), "account" => account, "amount" => amount)
    raise Busy if response.is_a?(Net::HTTPTooManyRequests)
    raise Refused, "not enough money" if response.code == "402"

    JSON.parse(response.body).fetch("id")
  end
end
"#;

/// The status and the class that the code asks for are answered, not only the usual ones.
#[test]
fn another_machine_answers_what_is_asked_for() {
    let (folder, report) = cover(&[("lib/bank_gateway.rb", BANK)]);
    assert_covered(&report, "lib/bank_gateway.rb");
    let text = spec(folder.path(), "bank_gateway_spec.rb");
    for part in ["Net::HTTPTooManyRequests", "Net::HTTPPaymentRequired"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

const REFUND: &str = r"class RefundTicket
  class Declined < StandardError; end

  def initialize(gateway:, audit:, clock: Time)
    @gateway = gateway
    @audit = audit
    @clock = clock
  end

  def call(ticket:, amount: nil)
    return :too_late if ticket.starts_at <= @clock.now

    amount ||= ticket.price
    return :too_much if amount > ticket.price

    @gateway.refund(ticket.charge_id, amount)
    @audit.refunded(ticket, amount)
    :refunded
  rescue Declined
    @audit.refund_declined(ticket)
    :declined
  end
end
";

/// An argument that is left out and one that is given go the same way until they are compared; who fails is who does something.
#[test]
fn a_service_fails_where_it_does_something() {
    let (folder, report) = cover(&[("app/services/refund_ticket.rb", REFUND)]);
    assert_covered(&report, "app/services/refund_ticket.rb");
    let text = spec(folder.path(), "services/refund_ticket_spec.rb");
    assert!(text.contains("receive(:refund).and_raise(RefundTicket::Declined"), "{text}");
    assert!(text.contains("reports refunded to the audit"), "{text}");
    assert!(!text.contains("receive(:now).and_raise"), "{text}");
    assert!(!text.contains("to charge id"), "{text}");
}

const LEDGER: &str = r"module Countable
  def many?
    count > 3
  end
end

class Ledger
  include Countable

  def initialize(lines = [])
    @lines = lines
  end

  def count = @lines.length

  def total
    @lines.empty? ? 0 : @lines.sum
  end
end
";

/// Only the class that a file is named after is found by its name: a spec that began with another one of the file did not load.
#[test]
fn a_spec_begins_with_the_class_that_its_file_is_named_after() {
    let loader = "require \"zeitwerk\"\nLOADER = Zeitwerk::Loader.new\nLOADER.push_dir(File.expand_path(\"../app/models\", __dir__))\nLOADER.setup\n";
    let (folder, report) = cover(&[
        ("app/models/ledger.rb", LEDGER),
        ("config/environment.rb", loader),
        ("spec/spec_helper.rb", "require_relative \"../config/environment\"\n"),
        (".rspec", "--require spec_helper\n"),
    ]);
    assert_covered(&report, "app/models/ledger.rb");
    let text = spec(folder.path(), "models/ledger_spec.rb");
    assert!(text.contains("RSpec.describe Ledger do"), "{text}");
    assert!(text.contains("describe Countable, "), "{text}");
}

const REGISTRY: &str = r#"class Registry
  def initialize
    @entries = {}
  end

  def register(name, options = {}, &block)
    raise ArgumentError, "block required" unless block

    @entries[name] = { block: block, once: options.fetch(:once, false) }
    self
  end

  def run(name, *args)
    entry = @entries[name] or raise(KeyError, "unknown: #{name}")
    @entries.delete(name) if entry[:once]
    entry[:block].call(*args)
  rescue ArgumentError
    :failed
  end
end
"#;

/// What a block is given to keeps it: the states of an object come from calls with blocks, and with options, too.
#[test]
fn an_object_keeps_blocks_that_it_was_given() {
    let (_, report) = cover(&[("lib/registry.rb", REGISTRY)]);
    assert_covered(&report, "lib/registry.rb");
}
