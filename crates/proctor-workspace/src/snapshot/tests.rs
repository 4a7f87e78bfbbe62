use super::*;
use std::fs;

struct Fixture {
    _folder: tempfile::TempDir,
    files: PathBuf,
    root: Root,
    snapshots: Snapshots,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir_all(files.join("src")).unwrap();
    fs::write(files.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(files.join("blob"), [0u8, 255, 1]).unwrap();
    let root = Root::open(&files).unwrap();
    let snapshots = Snapshots::of(folder.path(), "w");
    Fixture { _folder: folder, files, root, snapshots }
}

fn all() -> Selection {
    Selection::new(&[], &[]).unwrap()
}

#[test]
fn what_changed_is_found_and_can_be_put_back() {
    let bed = fixture();
    std::os::unix::fs::symlink("src/main.rs", bed.files.join("link")).unwrap();
    let (id, before) = bed.snapshots.take(&bed.root, &all(), None).unwrap();
    assert_eq!(id, "snap_w_001");
    fs::write(bed.files.join("src/main.rs"), "fn main() { go() }\n").unwrap();
    fs::write(bed.files.join("new"), "n").unwrap();
    fs::remove_file(bed.files.join("blob")).unwrap();
    fs::remove_file(bed.files.join("link")).unwrap();
    let now = Snapshots::look(&bed.root, &all(), &before).unwrap();
    let changes = diff::compare(&before, &now);
    assert_eq!(changes.changed, ["src/main.rs"]);
    assert_eq!(changes.added, ["new"]);
    assert_eq!(changes.deleted, ["blob", "link"]);
    assert_eq!(bed.snapshots.content(&before.entries["blob"]).unwrap(), [0, 255, 1]);
    bed.snapshots.restore(&bed.root, &id, &all()).unwrap();
    let now = Snapshots::look(&bed.root, &all(), &before).unwrap();
    assert!(diff::compare(&before, &now).is_empty());
    assert_eq!(fs::read_link(bed.files.join("link")).unwrap(), Path::new("src/main.rs"));
}

#[test]
fn the_same_content_is_kept_once_and_a_change_of_equal_size_is_seen() {
    let bed = fixture();
    for name in ["a", "b", "c"] {
        fs::write(bed.files.join(name), vec![b'x'; 10_000]).unwrap();
    }
    let (_, first) = bed.snapshots.take(&bed.root, &all(), None).unwrap();
    let size = || fs::metadata(bed.snapshots.folder.join("pack")).unwrap().len();
    let once = size();
    assert!(once < 20_000, "{once}");
    bed.snapshots.take(&bed.root, &all(), None).unwrap();
    assert_eq!(size(), once);
    // Same size, same moment: only reading tells.
    fs::write(bed.files.join("a"), vec![b'y'; 10_000]).unwrap();
    let now = Snapshots::look(&bed.root, &all(), &first).unwrap();
    assert_eq!(diff::compare(&first, &now).changed, ["a"]);
}

#[test]
fn noise_is_left_out_unless_asked_for() {
    let bed = fixture();
    fs::create_dir_all(bed.files.join(".ralph/agent")).unwrap();
    fs::write(bed.files.join(".ralph/agent/summary.md"), "s").unwrap();
    fs::write(bed.files.join("session.jsonl"), "{}").unwrap();
    let paths = |selection: &Selection| {
        let manifest = Snapshots::look(&bed.root, selection, &Manifest::default()).unwrap();
        manifest.entries.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(paths(&all()), ["blob", "src/main.rs"]);
    let asked = Selection::new(&[".ralph/**".to_owned()], &[]).unwrap();
    assert_eq!(paths(&asked), [".ralph/agent/summary.md"]);
    let without = Selection::new(&[], &["src".to_owned()]).unwrap();
    assert_eq!(paths(&without), ["blob"]);
    assert!(Selection::new(&["{a".to_owned()], &[]).is_err());
}

#[test]
fn links_out_and_odd_names_and_pipes_do_no_harm() {
    use std::os::unix::ffi::OsStrExt as _;
    let bed = fixture();
    std::os::unix::fs::symlink("/etc", bed.files.join("etc")).unwrap();
    fs::write(bed.files.join(std::ffi::OsStr::from_bytes(b"odd\xff")), "o").unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(bed.files.join("p")).status().unwrap().success()
    );
    let (_, manifest) = bed.snapshots.take(&bed.root, &all(), None).unwrap();
    let paths: Vec<_> = manifest.entries.keys().map(String::as_str).collect();
    assert_eq!(paths, ["blob", "etc", "odd\\xff", "src/main.rs"]);
    assert_eq!(manifest.entries["etc"].kind, Kind::Link { target: "/etc".to_owned() });
}

#[test]
fn a_damaged_store_is_noticed_and_a_torn_index_is_mended() {
    let bed = fixture();
    let (_, manifest) = bed.snapshots.take(&bed.root, &all(), None).unwrap();
    let pack = bed.snapshots.folder.join("pack");
    fs::write(&pack, vec![7; fs::read(&pack).unwrap().len()]).unwrap();
    let error = bed.snapshots.content(&manifest.entries["src/main.rs"]).unwrap_err();
    assert!(error.message.contains("damaged"), "{error}");
    let index = bed.snapshots.folder.join("index");
    let mut bytes = fs::read(&index).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(&index, bytes).unwrap();
    fs::write(bed.files.join("late"), "late").unwrap();
    let (id, _) = bed.snapshots.take(&bed.root, &all(), None).unwrap();
    let again = bed.snapshots.load(&id).unwrap();
    assert_eq!(bed.snapshots.content(&again.entries["late"]).unwrap(), b"late");
    assert_eq!(bed.snapshots.load("snap_w_999").unwrap_err().kind, ErrorKind::UnknownSnapshot);
    assert!(bed.snapshots.load("../x").is_err());
}
