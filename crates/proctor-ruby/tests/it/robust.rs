//! What must hold of any Ruby file, written by anybody: checked on the Ruby code of this repository, on what Ruby itself
//! brings where it is installed, and on damaged copies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proctor_ruby::{
    Characteristic, FileFacts, MethodFacts, analyze, collect_literals, instrument, mutants,
};
use proptest::prelude::*;

/// Files of a folder and those below, sorted; links are not followed.
fn ruby_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rb") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Our own Ruby code and examples.
fn own_files() -> Vec<PathBuf> {
    let folders = ["ruby", "examples", "crates/proctor-cover/ruby", "crates/proctor-cover/tests"];
    folders.iter().flat_map(|folder| ruby_files(&repository().join(folder))).collect()
}

/// Everything that must hold of the facts of a file.
fn hold(bytes: &[u8], facts: &FileFacts) -> Result<(), String> {
    let last_line = u32::try_from(bytes.split(|byte| *byte == b'\n').count()).unwrap();
    let mut ids = BTreeSet::new();
    for class in &facts.classes {
        let (first, last) = class.lines;
        if first == 0 || first > last || last > last_line {
            return Err(format!("{}: lines {first}-{last} of {last_line}", class.name));
        }
        if !ids.insert(class.name.clone()) {
            return Err(format!("{} is there twice", class.name));
        }
    }
    for (class, method) in facts.methods() {
        let id = method.id(&class.name);
        method_holds(bytes, facts, method).map_err(|reason| format!("{id}: {reason}"))?;
        if !ids.insert(id.clone()) {
            return Err(format!("{id} is there twice"));
        }
    }
    let places: BTreeSet<u32> = facts.place_probes.iter().copied().collect();
    if places.len() != facts.place_probes.len() || places.iter().any(|id| *id >= facts.probes) {
        return Err("a probe marks two places, or does not exist".to_owned());
    }
    if facts.limits.iter().any(|limit| limit.line == 0 || limit.line > last_line) {
        return Err("a limit lies outside of the file".to_owned());
    }
    Ok(())
}

fn method_holds(bytes: &[u8], facts: &FileFacts, method: &MethodFacts) -> Result<(), String> {
    let (start, end) = (method.span.0 as usize, method.span.1 as usize);
    let code = bytes.get(start..end).ok_or("its span lies outside of the file")?;
    let text = String::from_utf8_lossy(code);
    // Rules and callbacks of stored objects are seen through these methods, scopes through one of their name.
    let declared = match method.name.as_str() {
        "valid?" => text.starts_with("valid"),
        "save" | "destroy" => {
            ["before_", "after_", "around_"].iter().any(|word| text.starts_with(word))
        }
        name => text.starts_with("scope") && text.contains(name),
    };
    let made = text.contains("define_method");
    if !code.starts_with(b"def") && !made && !declared {
        return Err("its span does not begin with def".to_owned());
    }
    let line_of = |offset: usize| bytes[..offset].split(|byte| *byte == b'\n').count();
    // The span of a method that is made in a loop is the loop.
    let (first, last) = (method.lines.0 as usize, method.lines.1 as usize);
    let fits = if made {
        line_of(start) <= first && last <= line_of(end - 1)
    } else {
        (line_of(start), line_of(end - 1)) == (first, last)
    };
    if !fits {
        return Err(format!("lines {:?} do not fit its span", method.lines));
    }
    if method.probes.0 > method.probes.1 || method.probes.1 > facts.probes {
        return Err(format!("probes {:?} of {}", method.probes, facts.probes));
    }
    let inside = |line: u32| (method.lines.0..=method.lines.1).contains(&line);
    if !method.side_effects.iter().all(|effect| inside(effect.line)) {
        return Err("a side effect lies outside".to_owned());
    }
    if !method.raise_lines.iter().all(|line| inside(*line)) {
        return Err("it raises outside of itself".to_owned());
    }
    let mut names = BTreeSet::new();
    for (index, one) in method.characteristics.iter().enumerate() {
        if !names.insert(&one.name) {
            return Err(format!("{} is there twice", one.name));
        }
        if one.lines.0 > one.lines.1 || !inside(one.lines.0) || !inside(one.lines.1) {
            return Err(format!(
                "{}: lines {:?} outside of {:?}",
                one.name, one.lines, method.lines
            ));
        }
        depends(one, &method.characteristics[..index])?;
        arms(one, method)?;
    }
    Ok(())
}

/// A characteristic depends on one that stands before it, under values that this one has.
fn depends(one: &Characteristic, before: &[Characteristic]) -> Result<(), String> {
    let Some(parent) = one.parent else {
        return if one.level == 1 && one.when_parent.is_empty() {
            Ok(())
        } else {
            Err(format!("{} has no parent but a level of {}", one.name, one.level))
        };
    };
    let Some(parent) = before.get(parent) else {
        return Err(format!("{} depends on a later one", one.name));
    };
    let known = |value: &String| parent.arms.iter().any(|arm| arm.value == *value);
    if one.level != parent.level + 1 || one.when_parent.is_empty() {
        return Err(format!("{}: level {} below {}", one.name, one.level, parent.level));
    }
    if !one.when_parent.iter().all(known) {
        return Err(format!("{} depends on unknown values {:?}", one.name, one.when_parent));
    }
    Ok(())
}

fn arms(one: &Characteristic, method: &MethodFacts) -> Result<(), String> {
    if one.arms.is_empty() {
        return Err(format!("{} has no values", one.name));
    }
    for arm in &one.arms {
        if arm.terminal && arm.behavior.is_none() {
            return Err(format!("{} = {} ends without a behaviour", one.name, arm.value));
        }
        if arm.probe.is_some_and(|(id, _)| id < method.probes.0 || id >= method.probes.1) {
            return Err(format!("{} = {}: a probe of another method", one.name, arm.value));
        }
        if arm.side_effects.iter().any(|effect| *effect >= method.side_effects.len()) {
            return Err(format!("{} = {}: an unknown side effect", one.name, arm.value));
        }
    }
    Ok(())
}

/// The facts hold, twice the same, and survive being written down.
fn check(bytes: &[u8]) -> Result<(), String> {
    let Ok(facts) = analyze(bytes) else { return Ok(()) };
    hold(bytes, &facts)?;
    if analyze(bytes).as_ref() != Ok(&facts) {
        return Err("a second look says something else".to_owned());
    }
    let written = serde_json::to_string(&facts).unwrap();
    if serde_json::from_str::<FileFacts>(&written).ok().as_ref() != Some(&facts) {
        return Err("the facts do not survive being written down".to_owned());
    }
    Ok(())
}

/// Probes leave the lines alone and the file valid; faults lie in their methods.
fn check_edits(bytes: &[u8]) -> Result<(), String> {
    if analyze(bytes).is_err() {
        return Ok(());
    }
    let probed = instrument(bytes, 0);
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count();
    if analyze(&probed).is_err() || lines(&probed) != lines(bytes) {
        return Err("the file with probes is not the same file".to_owned());
    }
    for fault in mutants(bytes) {
        let (from, to) = fault.method;
        if fault.start < from || fault.end > to || fault.start > fault.end {
            return Err(format!("fault {fault:?} lies outside of its method"));
        }
    }
    let _ = collect_literals(bytes);
    Ok(())
}

#[test]
fn our_own_ruby_code_holds() {
    let files = own_files();
    assert!(files.len() > 50, "{}", files.len());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        check(&bytes).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
        check_edits(&bytes).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
    }
}

/// A spread over everything that Ruby and its packages bring; `PROCTOR_ALL_RUBY=1` takes all of it.
#[test]
fn code_that_nobody_here_wrote_holds() {
    let all: Vec<PathBuf> = ["/usr/lib/ruby", "/usr/share/rubygems-integration"]
        .iter()
        .flat_map(|folder| ruby_files(Path::new(folder)))
        .collect();
    let every = std::env::var_os("PROCTOR_ALL_RUBY").is_some();
    let step = if every { 1 } else { (all.len() / 150).max(1) };
    for path in all.iter().step_by(step) {
        let Ok(bytes) = std::fs::read(path) else { continue };
        check(&bytes).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
        if every || bytes.len() < 20_000 {
            check_edits(&bytes).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
        }
    }
}

/// Pieces that are put into the middle of files.
const PIECES: &[&str] = &[
    "end",
    "if x",
    "unless",
    "case x",
    "in [*, y, *] if y",
    "rescue => e",
    "retry",
    "->(a) {",
    "}",
    "<<~T\n x\nT\n",
    "&.",
    "||=",
    "&&=",
    "def m(a:, **) = a",
    "class << self",
    "begin",
    "until",
    "`ls`",
    "\u{e9}",
    "\0",
    "\r\n",
    "__END__\n",
    "%w[a b]",
    "=begin\n=end\n",
    "?a",
    "it",
    "_1",
    "refine A do",
    "?",
    ":",
    "(",
    ")",
    "[",
    "]",
    "|x|",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn damaged_code_is_read_or_refused(file in 0usize..1000, cut in 0usize..100_000, length in 0usize..40, piece in 0usize..100) {
        let files = own_files();
        let mut bytes = std::fs::read(&files[file % files.len()]).unwrap();
        let at = cut % (bytes.len() + 1);
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, PIECES[piece % PIECES.len()].bytes());
        prop_assert_eq!(check(&bytes), Ok(()));
        prop_assert_eq!(check_edits(&bytes), Ok(()));
    }

    #[test]
    fn no_bytes_at_all_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(check(&bytes), Ok(()));
    }
}

/// C10: every fault of a long method was checked by parsing all of the method.
#[test]
fn the_faults_of_a_long_method_parse_and_are_found_in_time() {
    use std::fmt::Write as _;
    let mut source = "class A\n  def m(a, b)\n".to_owned();
    for number in 0..1950 {
        writeln!(source, "    return a.call({number}) if b == {number}").unwrap();
    }
    source += "    text = <<~TEXT\n      a\n    TEXT\n    text + yield\n  end\nend\n";
    let found = proctor_ruby::mutants(source.as_bytes());
    assert!(found.len() > 5000, "{}", found.len());
    for one in found.iter().step_by(211).chain(found.last()) {
        let (start, end) = (one.start as usize, one.end as usize);
        let changed = [&source[..start], &one.replacement, &source[end..]].concat();
        assert!(analyze(changed.as_bytes()).is_ok(), "{one:?}");
    }
}

#[test]
fn code_that_is_nested_deeply_is_read() {
    let bodies = [
        format!("{}0{}", "a ? 1 : (".repeat(800), ")".repeat(800)),
        format!("{}1{}", "if a then\n".repeat(800), " end".repeat(800)),
        format!("1 if {}", vec!["a.x?"; 4000].join(" || ")),
        format!("1 if {}", vec!["a.x?"; 4000].join(" && ")),
        format!("1 if {}a", "!".repeat(800)),
        format!("a{}", ".b".repeat(4000)),
    ];
    for body in bodies {
        let source = format!("class A\n  def m(a)\n{body}\n  end\nend\n");
        let facts = analyze(source.as_bytes()).unwrap();
        assert_eq!(facts.classes[0].methods.len(), 1);
        assert!(instrument(source.as_bytes(), 0).len() >= source.len());
    }
}
