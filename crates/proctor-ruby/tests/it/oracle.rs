//! The oracle for every construct that the analysis promises to know: what a reader of the code would say.

use proctor_ruby::{
    BehaviorKind, FileFacts, InputKind, MethodFacts, Scope, Visibility, analyze, instrument,
};

fn method(body: &str) -> MethodFacts {
    let source =
        format!("class A\n  attr_reader :limit\n  def m(a, b = nil)\n{body}\n  end\nend\n");
    let facts = analyze(source.as_bytes()).unwrap_or_else(|errors| panic!("{body}: {errors:?}"));
    // Whatever is analysed can also be watched.
    let probed = instrument(source.as_bytes(), 0);
    assert!(analyze(&probed).is_ok(), "{}", String::from_utf8_lossy(&probed));
    facts.classes[0].methods[0].clone()
}

/// `name:kind:level[values]`, terminal values with `!`, values that no probe tells with `?`.
fn outline(method: &MethodFacts) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &method.characteristics {
        let values: Vec<String> = one
            .arms
            .iter()
            .map(|arm| format!("{}{}", arm.value, if arm.terminal { "!" } else { "" }))
            .collect();
        lines.push(format!("{}:{:?}:{}[{}]", one.name, one.kind, one.level, values.join("|")));
    }
    lines
}

fn check(table: &[(&str, &[&str])]) {
    for (body, expected) in table {
        assert_eq!(outline(&method(body)), *expected, "{body}");
    }
}

#[test]
fn conditions() {
    check(&[
        (
            "if a > 1 then 1\nelsif a == 0 then 2\nelse 3\nend",
            &["a:Range:1[greater than 1|at most 1]", "a_2:Enum:2[0|other!]"],
        ),
        ("return 1 unless a\n2", &["a:Presence:1[present|nil!]"]),
        ("unless a.ok?\n1\nelse\n2\nend", &["a_ok:Boolean:1[true|false!]"]),
        ("a ? (b ? 1 : 2) : 3", &["a:Presence:1[present|nil!]", "b:Presence:2[present|nil!]"]),
        ("1 if not a.ok?", &["a_ok:Boolean:1[true!|false]"]),
        ("1 if a.ok? and b", &["a_ok:Boolean:1[true|false!]", "b:Presence:2[present|nil!]"]),
        ("1 if a || b", &["a_b:Boolean:1[true|false!]"]),
        ("a || b", &["a:Presence:1[present|nil!]"]),
        ("a && b.go", &["a:Presence:1[present|nil!]"]),
        ("if (found = a.match(/x/)) then found[0] end", &["found:Presence:1[present|nil!]"]),
        ("1 if a in {k: Integer}", &["a_in_k_integer:Boolean:1[true|false!]"]),
        ("1 if defined?(a.b)", &["defined_a_b:Boolean:1[true|false!]"]),
        (
            "1 if a.any? { |x| x ? b : 1 }",
            &["x:Presence:1[present|nil]", "a:Presence:1[present|nil!]"],
        ),
    ]);
}

#[test]
fn cases_and_patterns() {
    check(&[
        ("case\nwhen a > 1 then 1\nwhen b then 2\nend", &["condition:Enum:1[a > 1!|b!]"]),
        (
            "case a\nwhen Integer, /x/ then 1\nwhen *LIST then return 2\nend",
            &["a:Enum:1[Integer, /x/!|*LIST!]"],
        ),
        (
            "case a\nin [Integer => x, *] then x\nin {name: String} then 1\nin [*, 3, *] then 2\nin y if y > 3 then 3\nin nil | false then 4\nin ^b then 5\nelse raise 'x'\nend",
            &[
                "a:Enum:1[[Integer => x, *]!|{name: String}!|[*, 3, *]!|y if y > 3!|nil | false!|^b!|other!]",
            ],
        ),
        (
            "case a.kind\nin :x then b ? 1 : 2\nin :y then 3\nend",
            &["a_kind:Enum:1[:x|:y!]", "b:Presence:2[present|nil!]"],
        ),
        ("x = case a\n    in 1 then 2\n    end\nx", &["a:Enum:1[1]"]),
        (
            "case a&.kind\nwhen 1 then 2\nelse 3\nend",
            &["a:Presence:1[present|nil]", "a_kind:Enum:1[1!|other!]"],
        ),
    ]);
}

#[test]
fn safe_navigation() {
    check(&[
        ("a&.b&.c", &["a:Presence:1[present|nil]", "a_b:Presence:2[present|nil!]"]),
        (
            "return 1 unless a&.ok?\n2",
            &["a:Presence:1[present|nil!]", "a_ok:Boolean:2[true|false!]"],
        ),
        ("a&.go(b ? 1 : 2)", &["a:Presence:1[present|nil!]", "b:Presence:2[present|nil]"]),
        ("b.go(*a&.list)", &["a:Presence:1[present|nil]"]),
    ]);
}

#[test]
fn errors() {
    check(&[
        ("a.to_i rescue 0", &["error:Boolean:1[none|StandardError!]"]),
        ("a.run\nrescue KeyError\nnil", &["error:Boolean:1[none|KeyError!]"]),
        (
            "x = begin\n  a.run\nrescue\n  raise ArgumentError, 'x'\nend\nx",
            &["error:Boolean:1[none|StandardError!]"],
        ),
        (
            "begin\n a.run\nrescue IOError, KeyError => e\n retry if b.again?\n raise\nelse\n a.ok? ? 1 : 2\nensure\n a.close if a.open?\nend",
            &[
                "error:Boolean:1[none|IOError or KeyError!]",
                "a_ok:Boolean:2[true|false!]",
                "b_again:Boolean:2[true!|false]",
                "a_open:Boolean:1[true|false]",
            ],
        ),
    ]);
    let retried = method("begin\n a.run\nrescue KeyError\n retry\nend");
    let behavior = retried.characteristics[0].arms[1].behavior.clone().unwrap();
    assert_eq!(
        (behavior.kind, behavior.description.as_str()),
        (BehaviorKind::Terminal, "tries again")
    );
}

#[test]
fn assignments_that_depend_on_what_is_there() {
    check(&[
        ("a[:k] ||= b", &["a_k:Presence:1[present|nil]"]),
        ("a.name ||= b", &["a_name:Presence:1[present|nil]"]),
        ("@@x ||= a", &["x:Presence:1[present|nil]"]),
        ("$x ||= a", &["x:Presence:1[present|nil]"]),
        ("b &&= a", &["b:Presence:1[present|nil]"]),
        ("@x ||= (a ? 1 : 2)", &["x:Presence:1[present|nil]", "a:Presence:2[present|nil]"]),
        ("@x &&= a ? 1 : 2", &["x:Presence:1[present|nil]", "a:Presence:2[present|nil]"]),
    ]);
    // A probe tells whether the value was needed.
    for (body, place) in [("a[:k] ||= b", 1), ("a.name ||= b", 1), ("@@x ||= b", 1), ("b &&= a", 0)]
    {
        assert!(method(body).characteristics[0].arms[place].probe.is_some(), "{body}");
    }
}

#[test]
fn loops_with_early_exits() {
    check(&[
        ("until a.done?\n a.step\nend", &["a_done:Boolean:1[true|false]"]),
        ("loop do\n break if a.done?\n a.step\nend", &["a_done:Boolean:1[true!|false]"]),
        ("begin\n a.step\nend while a.more?", &["a_more:Boolean:1[true|false]"]),
        (
            "begin\n b ? 1 : 2\nend until a.done?",
            &["b:Presence:1[present|nil]", "a_done:Boolean:1[true|false]"],
        ),
        ("for x in a do\n return x if x.ok?\nend\nnil", &["x_ok:Boolean:1[true!|false]"]),
        (
            "while a.more?\n return 1 if b\n a.step\nend",
            &["a_more:Boolean:1[true|false]", "b:Presence:2[present!|nil]"],
        ),
        (
            "a.each { |x| next unless x.ok?\n redo if b\n x }",
            &["x_ok:Boolean:1[true|false!]", "b:Presence:2[present!|nil]"],
        ),
        ("catch(:x) { throw :x if a }", &["a:Presence:1[present!|nil]"]),
    ]);
}

#[test]
fn decisions_within_expressions() {
    let both: &[&str] = &["a:Presence:1[present|nil]", "b:Presence:1[present|nil]"];
    let one: &[&str] = &["a:Presence:1[present|nil]"];
    check(&[
        ("[a ? 1 : 2, { k: (b ? 3 : 4) }]", both),
        ("\"#{a ? 1 : 2}\"", one),
        ("yield(a ? 1 : 2)", one),
        ("super(a ? 1 : 2)", one),
        ("super() { a ? 1 : 2 }", one),
        ("go(k: a ? 1 : 2)", one),
        ("x, y = a ? [1, 2] : [3, 4]", one),
        ("->(x) { a ? 1 : 2 }", one),
        ("@n += a ? 1 : 2", one),
        ("self.n = a ? 1 : 2", one),
        ("return a ? 1 : 2, 3", one),
        ("go(<<~TEXT, a ? 1 : 2)\n  x\nTEXT", one),
        ("(a ? 1 : 2)..(b ? 3 : 4)", both),
        (
            "go do\n  a ? 1 : 2\nrescue\n  nil\nend",
            &["a:Presence:1[present|nil]", "error:Boolean:1[none|StandardError]"],
        ),
        ("a.map { _1.odd? ? 1 : 2 }", &["element_odd:Boolean:1[true|false]"]),
        ("a.map { it.odd? ? 1 : 2 }", &["element_odd:Boolean:1[true|false]"]),
        (
            "a.each_with_object({}) { |(k, v), all| all[k] = v if b }",
            &["b:Presence:1[present|nil]"],
        ),
        ("def inner = a ? 1 : 2", &[]),
    ]);
}

#[test]
fn a_condition_on_a_local_leads_back_to_where_it_comes_from() {
    let inputs = |body: &str, place: usize| -> Vec<String> {
        let inputs = &method(body).characteristics[place].inputs;
        inputs
            .iter()
            .map(|input| {
                let kind = match input.kind {
                    InputKind::Parameter => "parameter",
                    InputKind::Attribute => "attribute",
                    InputKind::Call => "call",
                };
                format!("{kind} {}", input.name)
            })
            .collect()
    };
    let body = "rate = b[:rate]\ntotal = rate * @factor + fee(a)\nreturn 0 if total > limit\n1";
    assert_eq!(
        inputs(body, 0),
        ["parameter b", "attribute @factor", "call fee", "parameter a", "attribute limit"]
    );
    assert_eq!(inputs("x = Rates.find(1)\nx.ok? ? 1 : 2", 0), ["call Rates.find"]);
    assert_eq!(inputs("a.each { |row| row.ok? ? 1 : 2 }", 0), ["parameter a"]);
    assert_eq!(inputs("a.each { it.ok? ? 1 : 2 }", 0), ["parameter a"]);
    assert_eq!(inputs("x = 1\nx ||= b\nx ? 1 : 2", 1), ["parameter b"]);
    assert_eq!(inputs("x = a\nx = 1\nx ? 1 : 2", 0), [""; 0]);
    let external =
        method("x = Rates.find(1)\nx.ok? ? 1 : 2").characteristics[0].origin.clone().unwrap();
    assert_eq!(
        (external.class.as_deref(), external.method.as_deref()),
        (Some("Rates"), Some("find"))
    );
}

#[test]
fn what_reaches_outside_is_a_side_effect_on_its_branch() {
    let effects = |body: &str| -> Vec<String> {
        method(body)
            .side_effects
            .iter()
            .map(|one| format!("{}: {}", one.kind, one.description))
            .collect()
    };
    assert_eq!(effects("`ls #{a}`"), ["external_api: runs a command"]);
    assert_eq!(effects("x = [`ls`]"), ["external_api: runs a command"]);
    assert_eq!(effects("system('ls')"), ["external_api: runs a command"]);
    assert_eq!(effects("Open3.capture2(a)"), ["external_api: runs a command"]);
    assert_eq!(effects("open(a)"), ["external_api: opens what lies outside"]);
    assert_eq!(effects("a.open(1)"), [""; 0]);
    assert_eq!(effects("UserMailer.welcome(a).deliver_later"), ["email: sends welcome email"]);
    assert_eq!(effects("Net::HTTP.get(a)"), ["external_api: sends a GET request"]);
    // Arguments and texts say nothing about the receiver.
    assert_eq!(effects("a.fetch(:webhook_url).sub('cache', 'events').size"), [""; 0]);
    let branched = method("if a\n  `ls`\nelse\n  1\nend");
    assert_eq!(branched.characteristics[0].arms[0].side_effects, [0]);
    assert_eq!(branched.characteristics[0].arms[1].side_effects, [0; 0]);
    let asked = method("`git status`.empty? ? 1 : 2").characteristics[0].origin.clone().unwrap();
    assert_eq!((asked.class.as_deref(), asked.method.as_deref()), (Some("Kernel"), Some("`")));
    let own = analyze(b"class A\n  def go = open(1)\n  def open(x) = x\nend\n").unwrap();
    assert_eq!(own.classes[0].methods[0].side_effects, []);
}

fn ids(facts: &FileFacts) -> Vec<String> {
    let mark = |method: &MethodFacts| match method.visibility {
        Visibility::Public => "",
        Visibility::Protected => " protected",
        Visibility::Private => " private",
    };
    facts
        .methods()
        .map(|(class, method)| format!("{}{}", method.id(&class.name), mark(method)))
        .collect()
}

#[test]
fn all_ways_to_write_methods() {
    let facts = analyze(include_bytes!("ways.rb")).unwrap();
    assert_eq!(
        ids(&facts),
        [
            "Tools#help",
            "A.make",
            "A.hidden private",
            "A.build private",
            "A#initialize",
            "A#[]",
            "A#[]=",
            "A#<=>",
            "A#+@",
            "A#!",
            "A#call",
            "A#a=",
            "A#one",
            "A#two private",
            "A#three",
            "A#four protected",
            "A#five private",
            "A#six private",
            "A#seven private",
            "A#eight private",
            "A#modern",
            "A#old",
            "B#b",
            "C#sum",
            "D#twice",
        ]
    );
    let class = |name: &str| facts.classes.iter().find(|class| class.name == name).unwrap();
    assert!(class("Tools").methods[0].module_function);
    assert_eq!(class("A").readers, ["a", "secret", "nine"]);
    assert_eq!(class("B").superclass.as_deref(), Some("Base"));
    assert_eq!(class("A::E").superclass.as_deref(), Some("StandardError"));
    assert_eq!(
        (class("C").members.clone(), class("D").members.clone()),
        (vec!["x".to_owned(), "y".to_owned()], vec!["z".to_owned()])
    );
    assert_eq!(class("A").methods[0].scope, Scope::Class);
    assert!(facts.limits.is_empty(), "{:?}", facts.limits);
}

#[test]
fn what_is_made_while_running_is_listed_with_its_line() {
    for (line, reason) in [
        ("define_method(name) { 1 }", "define_method: made while running, not analysed"),
        ("class_eval 'def x; end'", "class_eval: made while running, not analysed"),
        ("[1].each { |n| define_method(n) { n } }", "block of each: not analysed"),
        ("names.each do |n| def x; end end", "block of each: not analysed"),
        ("included do; end", "block of included: not analysed"),
        ("delegate :x, to: :y", "delegate: delegation, not analysed"),
        ("def_delegators :@a, :x, :y", "def_delegators: delegation, not analysed"),
        ("alias size length", "size: another name for length, covered under that one"),
        ("alias_method :size, :length", "size: another name for length, covered under that one"),
        (
            "refine(String) { def shout = upcase }",
            "refinement of String: seen only where it is used, not analysed",
        ),
        (
            "def make; define_method(:x) { 1 }; end",
            "define_method in make: made while running, not analysed",
        ),
        ("def make; eval('1'); end", "eval in make: made while running, not analysed"),
        ("def make; def inner; end; end", "def inner in make: made while running, not analysed"),
        (
            "def method_missing(n) = n",
            "method_missing: answers names that are not written anywhere, not covered",
        ),
        ("def obj.x; end", "method of a single object"),
        ("class << obj; def x; end; end", "singleton class of an object"),
        ("class foo::Bar; end", "class with a computed name"),
        ("A.class_eval { def x; end }", "class_eval: made while running, not analysed"),
    ] {
        let source = format!("class A\n  {line}\nend\n");
        let facts = analyze(source.as_bytes()).unwrap();
        let limits: Vec<(u32, &str)> =
            facts.limits.iter().map(|limit| (limit.line, limit.reason.as_str())).collect();
        assert_eq!(limits, [(2, reason)], "{line}");
    }
    let facts = analyze(b"def free; end\n").unwrap();
    assert_eq!(facts.limits[0].reason, "method outside of any class");
}

#[test]
fn files_of_all_kinds() {
    let expected = ["A#m"];
    let plain =
        "class A\n  # caf\u{e9}\n  def m(a)\n    return 1 if a == '\u{e9}'\n    2\n  end\nend\n";
    let windows = plain.replace('\n', "\r\n");
    let marked = format!("\u{feff}{plain}");
    let mut latin = b"# encoding: iso-8859-1\n".to_vec();
    latin.extend(plain.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()));
    let data = format!("{plain}__END__\ndef nonsense(\n");
    let files = [plain.as_bytes(), windows.as_bytes(), marked.as_bytes(), &latin, data.as_bytes()];
    for (number, bytes) in files.into_iter().enumerate() {
        let facts = analyze(bytes).unwrap_or_else(|errors| panic!("{number}: {errors:?}"));
        assert_eq!(ids(&facts), expected, "{number}");
        let method = &facts.classes[0].methods[0];
        assert_eq!(method.characteristics.len(), 1);
        assert_eq!(method.characteristics[0].lines.0, if number == 3 { 5 } else { 4 });
        let (start, end) = (method.span.0 as usize, method.span.1 as usize);
        assert!(bytes[start..end].starts_with(b"def m(a)") && bytes[start..end].ends_with(b"end"));
        // Probes are put into the bytes as they are.
        let probed = instrument(bytes, 0);
        assert!(analyze(&probed).is_ok() && probed != bytes, "{number}");
        assert_eq!(facts.loc, 6, "{number}");
    }
    assert!(analyze(&latin[23..]).is_err(), "bytes that are no text of the stated encoding");
}

#[test]
fn lines_of_code_are_neither_blank_nor_comments_nor_data() {
    let facts =
        analyze(b"=begin\nwords\n=end\n\nx = 1 # one\n# two\n\ty = 2\n__END__\nz\n").unwrap();
    assert_eq!(facts.loc, 2);
}

#[test]
fn a_digest_changes_with_the_code_and_not_with_its_layout() {
    let digest = |code: &str| {
        let source = format!("class A\n{code}\nend\n");
        analyze(source.as_bytes()).unwrap().classes[0].methods[0].digest.clone()
    };
    let same = digest("def m(a)\n  a.go(1, k: 2)\nend");
    assert_eq!(same, digest("def m( a )   # words\n  a\n    .go(1,\n  k:   2)\nend"));
    for (one, other) in [
        ("def m(x) = x += 1", "def m(x) = x -= 1"),
        ("def m = @x += 1", "def m = @y += 1"),
        ("def m = A::B.new", "def m = A::C.new"),
        ("def m(a, b) = a.go(b)", "def m(a, b) = go(a, b)"),
        ("def m(a: 1) = 2", "def m(b: 1) = 2"),
        ("def m(a = 1) = 2", "def m(b = 1) = 2"),
        ("def m(a); unless a; 1; else 2; end; end", "def m(a); unless a; 1; 2; end; end"),
        ("def m(a); begin; 1; end while a; end", "def m(a); while a; 1; end; end"),
        ("def m(a) = a.b ||= 1", "def m(a) = a.c ||= 1"),
        ("def m(a) = a[0] += 1", "def m(a) = a[0] *= 1"),
        (
            "def m(a); case a; in Integer => x then 1; end; end",
            "def m(a); case a; in Integer => y then 1; end; end",
        ),
        ("def m(a) = (1..a)", "def m(a) = (1...a)"),
        ("def m(a) = a&.b", "def m(a) = a.b"),
        ("def m(a) = /x#{a}/i", "def m(a) = /x#{a}/m"),
        ("def m = [1, [2]]", "def m = [[1], 2]"),
        ("def m = $x = 1", "def m = $y = 1"),
        ("def m = go('a', 'b')", "def m = go('ab')"),
    ] {
        assert_ne!(digest(one), digest(other), "{one} / {other}");
    }
}
