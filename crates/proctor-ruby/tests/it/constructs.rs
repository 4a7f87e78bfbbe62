//! One fixture per construct: which characteristics a body has.

use proctor_ruby::{Visibility, analyze, analyze_all, collect_literals, instrument, mutants};

/// `name:kind:level[values]`, terminal values with `!`.
fn outline(body: &str) -> Vec<String> {
    let source = format!("class A\n  def m(a, b = nil)\n{body}\n  end\nend\n");
    let facts = analyze(source.as_bytes()).unwrap();
    facts.classes[0].methods[0]
        .characteristics
        .iter()
        .map(|one| {
            let values: Vec<String> = one
                .arms
                .iter()
                .map(|arm| format!("{}{}", arm.value, if arm.terminal { "!" } else { "" }))
                .collect();
            format!("{}:{:?}:{}[{}]", one.name, one.kind, one.level, values.join("|"))
        })
        .collect()
}

#[test]
fn each_construct_is_found() {
    for (body, expected) in [
        ("if a.empty? then 1 else 2 end", vec!["a:Presence:1[present|empty!]"]),
        ("return 1 unless a.valid?\n2", vec!["a_valid:Boolean:1[true|false!]"]),
        ("raise ArgumentError if a.nil?\n2", vec!["a:Presence:1[present|nil!]"]),
        ("a > 18 ? 1 : 2", vec!["a:Range:1[greater than 18|at most 18!]"]),
        (
            "case a\nwhen :x then 1\nwhen 'y', 'z' then 2\nelse 3\nend",
            vec!["a:Enum:1[x!|y, z!|other!]"],
        ),
        ("case a\nin [x, y] then x\nin {k:} then k\nend", vec!["a:Enum:1[[x, y]!|{k:}!]"]),
        ("if a == :draft then 1 end", vec!["a:Enum:1[draft|other!]"]),
        (
            "if a.ready? && b.ready? then 1 else 2 end",
            vec!["a_ready:Boolean:1[true|false!]", "b_ready:Boolean:2[true|false!]"],
        ),
        ("a&.name", vec!["a:Presence:1[present|nil!]"]),
        ("@x ||= a", vec!["x:Presence:1[present|nil]"]),
        ("begin\n a.run\nrescue KeyError => e\n nil\nend", vec!["error:Boolean:1[none|KeyError!]"]),
        ("while a.more?\n a.next\nend", vec!["a_more:Boolean:1[true|false]"]),
        ("a.each { |x| next if x.odd?\n x }", vec!["x_odd:Boolean:1[true!|false]"]),
        ("if a =~ /x/ then 1 end", vec!["a_match:Boolean:1[true|false!]"]),
        (
            "case a\nwhen :draft then 1\nwhen :published then 2\nend",
            vec!["a:Sequential:1[draft!|published!]"],
        ),
    ] {
        assert_eq!(outline(body), expected, "{body}");
    }
}

#[test]
fn guards_are_an_ordered_path() {
    let found = outline("return 1 if a.nil?\nreturn 2 if b.nil?\n3");
    assert_eq!(found, ["a:Presence:1[present|nil!]", "b:Presence:2[present|nil!]"]);
}

#[test]
fn all_forms_of_methods_are_found_with_their_visibility() {
    let source = b"module M\n  class A\n    def x; end\n    private\n    def y; end\n    public\n    def self.z; end\n    class << self\n      def s; end\n      private\n      def t; end\n    end\n    private def q; end\n    def +(o) = o\n  end\n  P = Struct.new(:a) do\n    def twice = a * 2\n  end\nend\n";
    let facts = analyze(source).unwrap();
    let all: Vec<(String, Visibility)> = facts
        .methods()
        .map(|(class, method)| (method.id(&class.name), method.visibility))
        .collect();
    let expected = [
        ("M::A#x", Visibility::Public),
        ("M::A#y", Visibility::Private),
        ("M::A.z", Visibility::Public),
        ("M::A.s", Visibility::Public),
        ("M::A.t", Visibility::Private),
        ("M::A#q", Visibility::Private),
        ("M::A#+", Visibility::Public),
        ("M::P#twice", Visibility::Public),
    ];
    assert_eq!(all, expected.map(|(id, visibility)| (id.to_owned(), visibility)));
}

#[test]
fn what_cannot_be_analysed_is_listed() {
    let facts = analyze(b"class A\n  define_method(name) { 1 }\nend\n").unwrap();
    assert_eq!(facts.limits.len(), 1);
    assert_eq!(facts.limits[0].line, 2);
}

#[test]
fn methods_made_under_names_that_can_be_read_are_methods() {
    let source = "class A
  STATES = { open: 1, done: 2 }.freeze

  define_method(:plain) { |a, b = 1| a ? b : nil }

  STATES.each_key do |state|
    define_method(\"#{state}?\") do
      return false unless @state

      @state == state
    end
  end

  private

  %i[x y].each { |name| define_method(name) { 1 } }
end
";
    let facts = analyze(source.as_bytes()).unwrap();
    assert!(facts.limits.is_empty(), "{:?}", facts.limits);
    let methods = &facts.classes[0].methods;
    let names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["plain", "open?", "done?", "x", "y"]);
    assert_eq!(methods[0].params.len(), 2);
    assert_eq!(methods[1].characteristics.len(), 1);
    assert!(methods.iter().all(|method| method.entry_probe.is_some()), "{methods:?}");
    assert_eq!(methods[1].probes, methods[2].probes);
    assert!(!methods[3].is_testable() && methods[1].is_testable());
}

#[test]
fn calls_that_leave_the_program_and_rescued_errors_are_known() {
    let source = "class A
  def call(order)
    answer = PaymentGateway.charge(order.total)
    Net::HTTP.start('x') { |http| http.get('/') }
    answer.success? ? Money.new(1) : Money.zero
  rescue PaymentGateway::Timeout, Errno::ECONNREFUSED
    nil
  end
end
";
    let facts = analyze(source.as_bytes()).unwrap();
    let method = &facts.classes[0].methods[0];
    let doors: Vec<&str> = method.doors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(doors, ["Net::HTTP.start", "PaymentGateway.charge"]);
    assert!(method.doors[1].1.calls.get("success?").is_some(), "{:?}", method.doors);
    assert!(method.doors[0].1.block, "{:?}", method.doors);
    assert_eq!(method.rescues, ["Errno::ECONNREFUSED", "PaymentGateway::Timeout"]);
}

#[test]
fn syntax_errors_have_their_place() {
    let errors = analyze(b"class A\n  def x(\nend\n").unwrap_err();
    assert!(errors[0].line >= 2, "{errors:?}");
}

#[test]
fn probed_source_is_valid_and_keeps_its_lines() {
    let source = include_bytes!("../../../../examples/payment/app/services/payment_processor.rb");
    let probed = instrument(source, 0);
    assert_ne!(probed, source);
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count();
    assert_eq!(lines(&probed), lines(source));
    assert!(analyze(&probed).is_ok());
}

#[test]
fn faults_are_within_methods_and_differ_from_the_source() {
    let source = b"class A\n  X = 1\n  def m(a)\n    a > 1 && !a.nil? ? 'x' : nil\n  end\nend\n";
    let found = mutants(source);
    assert!(found.iter().any(|one| one.operator == "exchange operator"));
    assert!(found.iter().all(|one| one.line == 4), "{found:?}");
}

#[test]
fn examples_in_comments_are_harvested() {
    let found = collect_literals(b"# Shop.find(\"apple\") # => 1\nclass Shop; end\n");
    assert_eq!(found.calls, ["Shop.find(\"apple\")"]);
    assert_eq!(found.literals, ["\"apple\""]);
}

#[test]
fn both_sides_of_comparisons_are_noted_and_the_source_stays_valid() {
    for body in [
        "a == 'x'",
        "a =~ /x(.)/ ? $1 : nil",
        "/(?<word>x)/ =~ a\nword",
        "a.match? b",
        "case a\nwhen 'x', /y/, *[1, 2] then 1\nend",
        "a[b] || a.fetch(b, nil)",
        "a.sub(/x/, 'y').gsub('z') { |m| m }",
        "defined?(a == b)",
        "return a if a&.empty? && !b.nil?",
        "a.each { |x| break x if x <= <<~TEXT }\n  text\nTEXT",
        "\"#{a == b}\" == <<~ONE + 'x'\n  #{a < b}\nONE",
        "puts a.include? b",
        "a != b and not a.eql?(b)",
    ] {
        let source = format!("class A\n  def m(a, b = nil)\n{body}\n  end\nend\n");
        let probed = String::from_utf8(instrument(source.as_bytes(), 0)).unwrap();
        assert!(analyze(probed.as_bytes()).is_ok(), "{probed}");
        assert_eq!(probed.lines().count(), source.lines().count());
        let quiet = body.starts_with("defined?");
        let noted = ["::ProctorProbe.l(", "::ProctorProbe.p(", "::ProctorProbe.u("];
        assert_eq!(noted.iter().any(|call| probed.contains(call)), !quiet, "{probed}");
    }
}

#[test]
fn what_a_parameter_must_be_is_read_off() {
    let source = b"class A
  # @option opts [Integer] :limit
  def m(opts, kind, shape)
    return self.class.check(kind) if KINDS.include?(kind)
    case shape
    in { type: :circle, radius: Integer } then 1
    in [x, 'end'] then 2
    end
  end
  def self.check(kind) = kind == :deep
end
";
    let facts = analyze(source).unwrap();
    let params = &facts.classes[0].methods[0].params;
    assert_eq!(params[0].usage.keys[":limit"].classes, ["Integer"]);
    assert_eq!(params[1].usage.patterns, ["KINDS"]);
    assert!(params[1].usage.equals.contains(&":deep".to_owned()), "{:?}", params[1]);
    assert_eq!(params[2].usage.equals[0], "{ :type => :circle, :radius => 1 }");
    assert!(params[2].usage.equals.contains(&"[1, \"end\"]".to_owned()));
}

#[test]
fn names_that_are_answered_while_running_are_listed() {
    let facts = analyze(b"class A\n  def method_missing(name) = name\nend\n").unwrap();
    assert!(facts.limits[0].reason.starts_with("method_missing"));
}

#[test]
fn many_files_are_read_in_their_order_on_any_number_of_threads() {
    let sources: Vec<Vec<u8>> = (0..40)
        .map(|number| format!("class A{number}\n  def m = {number}\nend\n").into())
        .collect();
    let alone: Vec<_> = sources.iter().map(|source| analyze(source)).collect();
    for threads in [0, 1, 2, 7, 100] {
        assert_eq!(analyze_all(&sources, threads), alone, "{threads}");
    }
    assert!(analyze_all::<Vec<u8>>(&[], 2).is_empty());
}

#[test]
fn documentation_counts_also_above_a_line_with_a_comment_of_its_own() {
    let source = b"class A\n  # @param x [Integer] one\n  def m(x) # :nodoc:\n  end\nend\n";
    assert_eq!(analyze(source).unwrap().classes[0].methods[0].params[0].types, ["Integer"]);
}
