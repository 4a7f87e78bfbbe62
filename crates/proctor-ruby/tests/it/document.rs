//! The rules of the pipeline's document on code that is not its own example: results, private methods, side effects on
//! their branch, external sources, words.

use proctor_ruby::{Place, absorb, analyze};

/// Each decision of `m` with its private methods: `name (level, under): value! "words" -> behaviour`, then side effects.
fn described(source: &str) -> String {
    let facts = analyze(source.as_bytes()).unwrap();
    let class = &facts.classes[0];
    let method = class.methods.iter().find(|one| one.is_testable()).unwrap();
    let whole = absorb(class, method);
    let mut lines = Vec::new();
    let under = |decision: usize, values: &[String]| {
        format!("{} {}", whole.characteristics[decision].name, values.join("/"))
    };
    for one in &whole.characteristics {
        let parent = one.parent.map(|parent| format!(", {}", under(parent, &one.when_parent)));
        lines.push(format!("{} ({}{})", one.name, one.level, parent.unwrap_or_default()));
        for arm in &one.arms {
            let behavior = arm.behavior.as_ref().map_or("-", |one| one.description.as_str());
            let mark = if arm.terminal { "!" } else { "" };
            lines.push(format!("  {}{mark} \"{}\" -> {behavior}", arm.value, arm.description));
        }
    }
    for effect in &whole.side_effects {
        let at = |place: &Place| format!(" under {}", under(place.decision, &place.values));
        let place = effect.place.as_ref().map(at).unwrap_or_default();
        lines.push(format!("{}: {}{place}", effect.kind, effect.description));
    }
    if whole.characteristics.is_empty() {
        lines.push(method.outcome.description.clone());
    }
    lines.join("\n")
}

fn body(code: &str) -> String {
    described(&format!("class A\n  def m(a, b = nil)\n{code}\n  end\nend\n"))
}

#[test]
fn the_last_expression_of_a_branch_is_its_result() {
    let cases = [
        (
            "if a.paid?\n  'paid'\nelse\n  'open'\nend",
            "a_paid (1)\n  true \"a is paid\" -> returns \"paid\"\n  false! \"a is not paid\" -> returns \"open\"",
        ),
        (
            "a.expired? ? { error: 'late' } : { ok: true }",
            "a_expired (1)\n  true! \"a is expired\" -> returns error \"late\"\n  false \"a is not expired\" -> returns ok true",
        ),
        // Without `else` the result is nil.
        (
            "if b\n  a.go\nend",
            "b (1)\n  present \"b is present\" -> returns the a go\n  nil! \"b is missing\" -> returns nil",
        ),
        (
            "a&.name",
            "a (1)\n  present \"a is present\" -> returns the a name\n  nil! \"a is missing\" -> returns nil",
        ),
        // What is assigned is not the result yet.
        (
            "x = b ? 1 : 2\nx + 1",
            "b (1)\n  present \"b is present\" -> returns the x plus 1\n  nil \"b is missing\" -> returns the x plus 1",
        ),
        // The value of a block is not the result of the method.
        (
            "a.map { |x| x.odd? ? 1 : 2 }",
            "x_odd (1)\n  true \"x is odd\" -> returns the result of map\n  false \"x is not odd\" -> returns the result of map",
        ),
        // What is returned is decided within, and what follows depends on the guard only.
        (
            "return a.positive? ? 1 : 2 if b\n3",
            "b (1)\n  present \"b is present\" -> -\n  nil \"b is missing\" -> returns 3\na_positive (2, b present)\n  true! \"a is positive\" -> returns 1\n  false! \"a is not positive\" -> returns 2",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(body(code), expected, "{code}");
    }
}

#[test]
fn what_leaves_a_block_does_not_govern_what_follows_it() {
    let found = body("a.each { |x| next if x.nil?\n x.run }\nif b then 1 else 2 end");
    assert!(found.contains("\nb (1)\n"), "{found}");
    // What returns from within does.
    let found = body("a.each { |x| return x if x.ok? }\nif b then 1 else 2 end");
    assert!(found.contains("\nb (2, x_ok false)\n"), "{found}");
}

#[test]
fn a_negated_part_of_a_condition_goes_on_where_it_says_no() {
    let found = body("if !a.nil? && !b.closed? then 1 else 2 end");
    let expected = "a (1)
  present \"a is not nil\" -> -
  nil! \"a is nil\" -> returns 2
b_closed (2, a present)
  true! \"b is closed\" -> returns 2
  false \"b is not closed\" -> returns 1";
    assert_eq!(found, expected);
}

#[test]
fn branches_and_side_effects_of_private_methods_belong_to_their_caller() {
    let found = described(
        "class Dispatch
  def call(order)
    check(order)
    return :waiting unless order.stock?

    ship(order)
  end

  private

  def check(order)
    raise ArgumentError, 'no order' if order.nil?
    return if order.paid?

    remind(order)
  end

  def remind(order)
    order.vip? ? VipMailer.reminder(order).deliver_later : nil
  end

  def ship(order)
    order.big? ? :truck : :bike
  end

  def unused(order)
    order.odd? ? 1 : 2
  end
end
",
    );
    let expected = "order_stock (1)
  true \"order has stock\" -> -
  false! \"order has no stock\" -> returns :waiting
order (1)
  present \"order is not nil\" -> -
  nil! \"order is nil\" -> raises ArgumentError
order_paid (2, order present)
  true \"order is paid\" -> returns the result of ship
  false \"order is not paid\" -> -
order_big (2, order_stock true)
  true \"order is big\" -> returns :truck
  false! \"order is not big\" -> returns :bike
order_vip (3, order_paid false)
  true \"order is vip\" -> returns the result of ship
  false \"order is not vip\" -> returns the result of ship
email: sends reminder email under order_vip true";
    assert_eq!(found, expected);
}

#[test]
fn private_methods_that_call_each_other_end() {
    let found = described(
        "class A
  def m(a) = even(a)
  private
  def even(a) = a.zero? ? true : odd(a)
  def odd(a) = a.one? ? false : even(a)
end
",
    );
    assert_eq!(found.lines().filter(|line| line.ends_with(')')).count(), 2, "{found}");
}

#[test]
fn side_effects_are_on_their_branch() {
    let found = body(
        "return :none if a.nil?
EventBus.publish(:seen, a)
if b
  OrderMailer.paid(a).deliver_later
else
  OrderMailer.paid(a).deliver_later
  Rails.cache.delete(a)
end",
    );
    let effects: Vec<&str> = found.lines().filter(|line| line.contains(" under ")).collect();
    assert_eq!(
        effects,
        [
            "event: publishes the seen event under a present",
            "email: sends paid email under b present",
            "email: sends paid email under b nil",
            "cache: deletes from the cache under b nil",
        ]
    );
}

/// The words of the first decision: if it holds, and if it does not.
fn answers(condition: &str) -> (String, String) {
    let source =
        format!("class A\n  def m(a, b = nil)\n    return 1 if {condition}\n    2\n  end\nend\n");
    let facts = analyze(source.as_bytes()).unwrap();
    let one = facts.classes[0].methods[0].characteristics.last().unwrap();
    let said = |answer: bool| {
        let arm = one.arms.iter().find(|arm| arm.probe.is_some_and(|(_, one)| one == Some(answer)));
        arm.unwrap().description.clone()
    };
    (said(true), said(false))
}

#[test]
fn conditions_are_sentences() {
    for (condition, yes, no) in [
        ("a.is_a?(Integer)", "a is an Integer", "a is not an Integer"),
        ("a.is_a?(Hash) || a.nil?", "a is a Hash or is nil", "a is not a Hash and is not nil"),
        ("a.nil? || a < 3", "a is nil or is less than 3", "a is not nil and is at least 3"),
        (
            "(a.open? && b) || a.new?",
            "a is open and b is present or a is new",
            "a is not open or b is missing and a is not new",
        ),
        ("a == :on_hold", "a is on hold", "a is not on hold"),
        ("a.dig(:x, 'y') == 'z'", "a x y is \"z\"", "a x y is not \"z\""),
        ("a.between?(1, 10)", "a is between 1 and 10", "a is not between 1 and 10"),
        ("(1...5).cover?(a)", "a is from 1 to below 5", "a is not from 1 to below 5"),
        ("%i[x y].include?(a)", "a is x or y", "a is neither x nor y"),
        ("KINDS.include?(a)", "a is one of the kinds", "a is none of the kinds"),
        ("a.tags.include?(b)", "a tags includes b", "a tags does not include b"),
        ("a =~ /\\A\\d+\\z/", "a consists of digits", "a does not consist of digits"),
        ("a.match?(/\\Ahttp/)", "a starts with \"http\"", "a does not start with \"http\""),
        ("a.match?(/(x|y)+?/)", "a matches the pattern", "a does not match the pattern"),
        ("a.all?(&:valid?)", "all of a are valid", "not all of a are valid"),
        ("a.any? { |x| x > 1 }", "some of a meet the condition", "none of a meet the condition"),
        ("a.save", "a save succeeds", "a save fails"),
        ("eligible?(a)", "a is eligible", "a is not eligible"),
        ("b.allowed?(a)", "b is allowed for a", "b is not allowed for a"),
        ("b.owner_of?(a)", "b is owner of a", "b is not owner of a"),
        ("a.can_edit?(b)", "a can edit b", "a cannot edit b"),
        ("File.exist?(a)", "a exists", "a does not exist"),
        (
            "Time.now >= a.due_at",
            "the current time is at or after a due at",
            "the current time is before a due at",
        ),
        ("defined?(Rails)", "Rails is defined", "Rails is not defined"),
        ("a in {kind: :x}", "a has kind x", "a does not match the pattern"),
        (
            "PaymentGateway.charge(a)",
            "payment gateway charge succeeds",
            "payment gateway charge fails",
        ),
        ("Shop::Api.call(a).failed?", "shop api call fails", "shop api call succeeds"),
        ("User.find_by(id: a)", "user find by is present", "user find by is missing"),
        (
            "a.select { |x| x.ok? }.map(&:to_s).sort_by { |y| y.size }.first(3).include?(b.to_s)",
            "a select map sort by first includes b",
            "a select map sort by first does not include b",
        ),
    ] {
        assert_eq!(answers(condition), (yes.to_owned(), no.to_owned()), "{condition}");
    }
}

#[test]
fn values_of_clauses_are_sentences() {
    let found = body(
        "case a
when Integer, Float then 1
when 1..5 then 2
when /\\Ax/ then 3
when *LIST then 4
when ->(x) { x.odd? } then 5
when :a, :b, :c, :d, :e then 6
end",
    );
    for words in [
        "a is an Integer or a Float",
        "a is between 1 and 5",
        "a starts with \"x\"",
        "a is one of the list",
        "a meets the condition",
        "a is one of 5 values",
    ] {
        assert!(found.contains(&format!(" \"{words}\" -> ")), "{words}: {found}");
    }
    let found = body("case\nwhen a > 1 then 1\nwhen b.nil? then 2\nelse 3\nend");
    for words in ["a is greater than 1", "b is nil", "none of the conditions holds"] {
        assert!(found.contains(&format!(" \"{words}\" -> ")), "{words}: {found}");
    }
}

#[test]
fn patterns_are_sentences() {
    let found = body(
        "case a
in {type: :created, payload: {id: Integer => id}} then id
in [first, *rest] if rest.any? then first
in [x, y] unless b.nil? then x
in String | Symbol => s then s
in {name:, **nil} then name
in {error: nil} then 0
in ^b then 1
in ..3 then 2
in Point(x:, y:) then x
in [*, 3, *] then 4
in [] then 6
in {} then 7
end",
    );
    for words in [
        "a has type created and payload with an Integer as id",
        "a is a list of at least 1 element and rest is present",
        "a is a list of 2 elements and b is not nil",
        "a is a String or a Symbol",
        "a has only name",
        "a has no error",
        "a is b",
        "a is at most 3",
        "a is a Point with x and y",
        "a is a list with 3",
        "a is an empty list",
        "a is an empty hash",
    ] {
        assert!(found.contains(&format!(" \"{words}\" -> ")), "{words}: {found}");
    }
}

#[test]
fn the_failing_side_of_an_external_call_ends_the_method() {
    let found = body(
        "result = PaymentGateway.charge(a)
if result.success?
  OrderMailer.paid(a).deliver_later
  { ok: true }
else
  Webhook.failed(a)
  { ok: false }
end",
    );
    let expected = "payment_gateway_charge_result (1)
  true \"payment gateway charge succeeds\" -> returns ok true
  false! \"payment gateway charge fails\" -> returns ok false
email: sends paid email under payment_gateway_charge_result true
webhook: sends failed webhook under payment_gateway_charge_result false";
    assert_eq!(found, expected);
}
