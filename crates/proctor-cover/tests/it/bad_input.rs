//! Bad input: a clear word each, and nothing lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use proctor_cover::{Mode, Stop, run};
use serde_json::Value;

use crate::schema::problems;
use crate::{options, project};

const PLAIN: &str =
    "class Plain\n  def size(list)\n    return 0 if list.nil?\n\n    list.length\n  end\nend\n";

/// The answer in the contract's form: what is wrong, more about it, the way out.
fn in_form(stop: &Stop) {
    let value = serde_json::to_value(stop).unwrap();
    let definition = if stop.status == "stop" { "stop" } else { "error" };
    assert_eq!(problems(definition, &value), Vec::<String>::new(), "{stop:?}");
    for part in [&stop.error, &stop.details, &stop.suggestion] {
        assert!(!part.is_empty(), "{stop:?}");
    }
}

fn git(root: &std::path::Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn without_a_repository_there_is_nothing_to_compare_with() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    for mode in [Mode::Branch, Mode::Staged] {
        let mut options = options(folder.path());
        options.mode = mode;
        let stop = run(&options, &mut |_| {}).unwrap_err();
        in_form(&stop);
        assert_eq!(stop.error, "not a git repository");
        assert!(stop.suggestion.contains("`all`"));
    }
}

#[test]
fn no_testable_files_and_no_such_file() {
    let folder = project(&[("lib/nothing.rb", "X = 1\n"), ("spec/x_spec.rb", "")]);
    let stop = run(&options(folder.path()), &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert_eq!(stop.error, "no testable files");
    let mut missing = options(folder.path());
    missing.mode = Mode::Paths(vec![PathBuf::from("lib/none.rb")]);
    let stop = run(&missing, &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert!(stop.error.contains("lib/none.rb"), "{stop:?}");
}

#[test]
fn a_selection_that_takes_nothing_names_what_there_is() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    let mut options = options(folder.path());
    options.choice.only = vec!["Other#*".to_owned()];
    let stop = run(&options, &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert!(stop.details.contains("Plain#size"), "{stop:?}");
}

#[test]
fn new_code_in_the_red_zone_stops_with_its_reason() {
    let folder = project(&[("README", "x")]);
    git(folder.path(), &["init", "-q", "."]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "first"]);
    let methods: String = (0..14).map(|n| format!("  def m{n}; {n}; end\n")).collect();
    fs::create_dir(folder.path().join("lib")).unwrap();
    fs::write(folder.path().join("lib/large.rb"), format!("class Large\n{methods}end\n")).unwrap();
    git(folder.path(), &["add", "."]);
    let mut options = options(folder.path());
    options.mode = Mode::Staged;
    let stop = run(&options, &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert_eq!((stop.status.as_str(), stop.reason.as_deref()), ("stop", Some("red_zone_new_code")));
}

#[test]
fn a_syntax_error_has_its_place() {
    let folder = project(&[("lib/broken.rb", "class A\n  def x(\nend\n")]);
    let stop = run(&options(folder.path()), &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert!(stop.details.starts_with("lib/broken.rb:"), "{stop:?}");
    assert!(!folder.path().join("tmp").exists(), "nothing was written");
}

#[test]
fn a_helper_that_does_not_load_is_shown_and_done_without() {
    let folder = project(&[
        ("lib/plain.rb", PLAIN),
        ("spec/spec_helper.rb", "require \"no_such_gem_at_all\"\n"),
    ]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let said =
        report.warnings.iter().find(|one| one.contains("spec_helper.rb does not load")).unwrap();
    assert!(said.contains("no_such_gem_at_all"), "{said}");
    let spec = fs::read_to_string(folder.path().join("spec/plain_spec.rb")).unwrap();
    assert!(!spec.contains("spec_helper"), "{spec}");
}

#[test]
fn a_source_that_does_not_load_is_shown_with_its_error() {
    let folder = project(&[
        ("lib/a.rb", "raise 'not today'\nclass A\n  def x; 1; end\nend\n"),
        ("lib/plain.rb", PLAIN),
    ]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(!report.is_clean());
    assert!(report.files[0].error.as_ref().unwrap().contains("not today"), "{report:?}");
    assert!(report.files[1].examples > 0, "the other file is covered: {report:?}");
    let answers = serde_json::to_value(&report.answers).unwrap();
    let refused = answers["implement"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["status"] == "error")
        .unwrap();
    assert_eq!(problems("error", refused), Vec::<String>::new());
}

#[test]
fn other_encodings_are_read_or_named() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    let latin = b"# encoding: iso-8859-1\nclass Latin\n  def name(x)\n    return \"M\xfcller\" if x\n\n    \"nobody\"\n  end\nend\n";
    fs::write(folder.path().join("lib/latin.rb"), latin).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        fs::read(folder.path().join("lib/latin.rb")).unwrap(),
        latin,
        "the source is never written"
    );
    fs::write(
        folder.path().join("lib/bare.rb"),
        b"class Bare\n  def name\n    \"M\xfcller\"\n  end\nend\n",
    )
    .unwrap();
    if let Err(stop) = run(&options(folder.path()), &mut |_| {}) {
        in_form(&stop);
        assert!(stop.error.contains("lib/bare.rb is not UTF-8"), "{stop:?}");
    }
}

#[test]
fn a_spec_in_another_encoding_is_left_as_it_is() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    let spec = folder.path().join("spec/plain_spec.rb");
    fs::create_dir(folder.path().join("spec")).unwrap();
    let old = b"# encoding: iso-8859-1\nRSpec.describe \"M\xfcller\" do\nend\n";
    fs::write(&spec, old).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.files[0].error.as_ref().unwrap().contains("is not UTF-8"), "{report:?}");
    assert_eq!(fs::read(&spec).unwrap(), old);
}

#[test]
fn windows_line_ends_are_read_and_kept() {
    let folder = project(&[("lib/plain.rb", &PLAIN.replace('\n', "\r\n"))]);
    fs::create_dir(folder.path().join("spec")).unwrap();
    let spec = folder.path().join("spec/plain_spec.rb");
    fs::write(&spec, "require \"plain\"\r\n\r\nRSpec.describe Plain do\r\n  it(\"is mine\") { expect(Plain.new).to be_a(Plain) }\r\nend\r\n").unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean() && report.files[0].examples > 0, "{report:?}");
    let text = fs::read_to_string(&spec).unwrap();
    assert!(text.contains("is mine") && text.contains("proctor:begin"), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let again = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(again.files[0].cached, "{again:?}");
}

#[test]
fn links_are_neither_followed_out_nor_covered_twice() {
    let outside = project(&[("secret.rb", PLAIN), ("kept_spec.rb", "# theirs\n")]);
    let folder =
        project(&[("lib/plain.rb", PLAIN), ("lib/other.rb", &PLAIN.replace("Plain", "Other"))]);
    symlink(folder.path().join("lib/plain.rb"), folder.path().join("lib/again.rb")).unwrap();
    symlink(outside.path().join("secret.rb"), folder.path().join("lib/secret.rb")).unwrap();
    symlink(folder.path(), folder.path().join("lib/loop")).unwrap();
    fs::create_dir(folder.path().join("spec")).unwrap();
    symlink(outside.path().join("kept_spec.rb"), folder.path().join("spec/other_spec.rb")).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    let names: Vec<&str> = report.files.iter().map(|file| file.source.as_str()).collect();
    assert_eq!(names, ["lib/other.rb", "lib/plain.rb"]);
    assert!(report.files[0].error.as_ref().unwrap().contains("out of the project"), "{report:?}");
    assert_eq!(fs::read_to_string(outside.path().join("kept_spec.rb")).unwrap(), "# theirs\n");
    let mut named = options(folder.path());
    named.mode = Mode::Paths(vec![PathBuf::from("lib/secret.rb")]);
    in_form(&run(&named, &mut |_| {}).unwrap_err());
}

#[test]
fn damaged_and_stale_metadata_are_made_again_or_named() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    run(&options(folder.path()), &mut |_| {}).unwrap();
    let path = folder.path().join("tmp/rspec_metadata/lib_plain.yml");
    let good = fs::read_to_string(&path).unwrap();
    let mut later = options(folder.path());
    later.from = Some("review".to_owned());
    // Stale: the source changed.
    fs::write(folder.path().join("lib/plain.rb"), PLAIN.replace("return 0", "return 1")).unwrap();
    let stop = run(&later, &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert!(stop.details.contains("another version of the source"), "{stop:?}");
    fs::write(folder.path().join("lib/plain.rb"), PLAIN).unwrap();
    // Damaged.
    fs::write(&path, "source_file: [oops\n").unwrap();
    let stop = run(&later, &mut |_| {}).unwrap_err();
    in_form(&stop);
    assert!(stop.error.contains("damaged metadata"), "{stop:?}");
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(
        report.warnings.iter().any(|one| one.contains("damaged metadata is created again")),
        "{report:?}"
    );
    let fresh: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(problems("metadata", &fresh), Vec::<String>::new());
    // Fields of others survive; the time of the last change does not matter.
    fs::write(&path, format!("{good}team_note: keep me\n")).unwrap();
    let touched = fs::File::options().write(true).open(folder.path().join("lib/plain.rb")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
    let cached = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(cached.files[0].cached, "{cached:?}");
    let mut again = options(folder.path());
    again.again = true;
    run(&again, &mut |_| {}).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("team_note: keep me"));
}

#[test]
fn a_spec_that_was_edited_by_hand_keeps_every_edit() {
    let folder = project(&[("lib/plain.rb", PLAIN)]);
    run(&options(folder.path()), &mut |_| {}).unwrap();
    let spec = folder.path().join("spec/plain_spec.rb");
    let text = fs::read_to_string(&spec).unwrap();
    let edited = text
        .replacen("RSpec.describe Plain do\n", "RSpec.describe Plain do\n  it \"is by hand\" do\n    expect(1 + 1).to eq(2)\n  end\n\n", 1)
        .replacen("describe '#size' do\n", "describe '#size' do\n    # a note of mine\n", 1);
    assert!(edited.contains("a note of mine") && edited.contains("is by hand"), "{edited}");
    fs::write(&spec, &edited).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(!report.files[0].cached);
    assert_eq!(report.files[0].kept, ["Plain#size"]);
    assert_eq!(fs::read_to_string(&spec).unwrap(), edited);
    // What is no Ruby any more is left alone, and said.
    let broken = format!("{edited}\nend end\n");
    fs::write(&spec, &broken).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.files[0].error.as_ref().unwrap().contains("not valid Ruby"), "{report:?}");
    assert_eq!(fs::read_to_string(&spec).unwrap(), broken);
}
