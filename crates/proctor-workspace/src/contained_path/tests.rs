use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<String, &'static str> {
    RelPath::parse(text).map(|path| path.0).map_err(|problem| problem.why)
}

#[test]
fn ordinary_paths_are_tidied_and_kept() {
    assert_eq!(parse("src/main.rs").unwrap(), "src/main.rs");
    assert_eq!(parse("./a//b/./c").unwrap(), "a/b/c");
    assert_eq!(parse("naïve/日本語.md").unwrap(), "naïve/日本語.md");
    assert_eq!(parse("..hidden/a..b").unwrap(), "..hidden/a..b");
}

#[test]
fn texts_that_could_lead_out_or_deceive_are_refused() {
    for bad in ["..", "../x", "a/../../x", "a/..", "/etc/passwd", "//x", "", ".", "./"] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
    for bad in ["a\0b", "a\nb", "a\u{202e}b", "a\u{200b}", "\u{feff}a"] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
    for bad in ["．．/x", "a／b", "a∕b", "a⁄b", "‥/x", "…", "a＼b"] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
    assert!(parse(&"x".repeat(256)).is_err());
    assert!(parse(&"x/".repeat(600)).is_err());
}

#[test]
fn links_inside_are_followed_and_links_outside_are_not() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let at = |text: &str| RelPath::parse(text).unwrap();
    root.write(&at("real/file"), b"inside", 0o644).unwrap();
    std::os::unix::fs::symlink("real", folder.path().join("alias")).unwrap();
    assert_eq!(root.read(&at("alias/file"), 100).unwrap(), b"inside");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("exit")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("peek")).unwrap();
    std::os::unix::fs::symlink("../..", folder.path().join("real/up")).unwrap();
    for way in ["exit/secret", "peek", "real/up/etc"] {
        let error = root.read(&at(way), 100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{way}: {error}");
        assert!(root.kind(&at(way)).is_err(), "{way}");
    }
    assert!(root.write(&at("exit/new"), b"x", 0o644).is_err());
    for way in ["exit/secret", "exit/new", "peek"] {
        assert!(root.append(&at(way), b"x").is_err(), "{way}");
    }
    root.append(&at("alias/file"), b"!").unwrap();
    assert_eq!(root.read(&at("real/file"), 100).unwrap(), b"inside!");
    assert!(!outside.path().join("new").exists());
    // Writing over a link replaces the link, and removing removes the link.
    root.write(&at("peek"), b"mine", 0o644).unwrap();
    root.remove(&at("exit")).unwrap();
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    assert_eq!(root.read(&at("peek"), 100).unwrap(), b"mine");
}

#[test]
fn pipes_and_large_files_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let at = |text: &str| RelPath::parse(text).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.unwrap().success());
    assert!(root.read(&at("pipe"), 100).unwrap_err().to_string().contains("regular"));
    root.write(&at("large"), &[0; 101], 0o644).unwrap();
    assert!(root.read(&at("large"), 100).unwrap_err().to_string().contains("101 bytes"));
    assert_eq!(root.kind(&at("none/such")).unwrap(), None);
    assert_eq!(root.kind(&at("large/such")).unwrap(), None);
}

proptest! {
    /// Whatever is accepted stays below the folder when the kernel reads it word by word.
    #[test]
    fn accepted_paths_never_climb(text in "[a./\\\\\u{2024}\u{ff0f}\0 ]{0,40}") {
        if let Ok(path) = RelPath::parse(&text) {
            prop_assert!(!path.as_str().starts_with('/'));
            prop_assert!(path.as_str().split('/').all(|part| !part.is_empty() && part != ".."));
        }
    }
}
