//! The disk limit: how much the writable folders have grown, measured again and again by the launcher, which is outside.
//!
//! Why a watch: the folders must be the host's own (callers read them while the program runs and afterwards), so neither a file system
//! in memory nor an overlay can stand in their place; quotas need a privileged user and a file system made for them; and the kernel
//! limits the size of one file only. The watch can be late: a program writes at most for one pause and one count longer than it may.
//! Nothing is left to the program's good will: folders are opened relative to their parents, so no path is too long and no link is
//! followed; what cannot be counted counts as too much; files that were removed but are still open are found through the
//! descriptors of all confined processes; and what is hidden better than that still ends when the file system is nearly full.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::error::{LaunchError, Step as _};
use crate::confinement::Confinement;
use crate::layer::Layer;

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The pause is this many times as long as counting took, so that counting costs little.
const PAUSE_FACTOR: u32 = 8;
/// Folders within folders that are followed, each of which needs a descriptor.
const MAX_DEPTH: usize = 256;
/// Free bytes of the file system below which a program is ended that may have taken them in a way that cannot be counted.
const RESERVE: u64 = 256 << 20;
const BLOCK: u64 = 512;

/// What is in the folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    bytes: u64,
    entries: u64,
}

/// The folders are nested too deeply to be counted.
#[derive(Debug, PartialEq, Eq)]
struct TooDeep;

#[derive(Debug)]
pub(super) struct DiskWatch {
    folders: Vec<OwnedFd>,
    devices: BTreeSet<u64>,
    max_bytes: u64,
    max_entries: u64,
    /// What was there when the program was started.
    before: Usage,
    free_before: Vec<u64>,
    pause: Duration,
    next: Instant,
    exceeded: Option<String>,
}

impl DiskWatch {
    /// Opens the writable folders; `None` if nothing is to be watched. Must be called outside of the namespaces.
    pub(super) fn open(confinement: &Confinement) -> Result<Option<Self>, LaunchError> {
        let Some(max_bytes) = confinement.limits.written_bytes else { return Ok(None) };
        if !confinement.has(Layer::DiskLimit) {
            return Ok(None);
        }
        if !confinement.has(Layer::PidNamespace) {
            let needs = std::io::Error::other("it needs a PID namespace");
            return Err(needs).layer(Layer::DiskLimit, "watch the program");
        }
        let mut folders = Vec::new();
        for path in confinement.writable.iter().filter(|path| path.is_dir()) {
            let opened = rustix::fs::open(path, FOLDER, Mode::empty());
            folders.push(opened.layer(Layer::DiskLimit, format_args!("open {}", path.display()))?);
        }
        if folders.is_empty() {
            return Ok(None);
        }
        let abouts = folders.iter().filter_map(|folder| rustix::fs::fstat(folder).ok());
        let devices = abouts.map(|about| about.st_dev).collect();
        let free_before = folders.iter().map(free_bytes).collect();
        let max_entries = confinement.limits.written_files.unwrap_or(u64::MAX);
        let mut watch = Self {
            folders,
            devices,
            max_bytes,
            max_entries,
            before: Usage::default(),
            free_before,
            pause: SHORTEST_PAUSE,
            next: Instant::now(),
            exceeded: None,
        };
        // Folders that are too deep already are not the program's doing; nor can they be watched.
        watch.before = watch.count(u64::MAX).map_err(|TooDeep| {
            let source = std::io::Error::other(format!(
                "a writable folder has more than {MAX_DEPTH} folders within folders"
            ));
            LaunchError::Layer { layer: Layer::DiskLimit, step: "count its files".into(), source }
        })?;
        watch.next = Instant::now() + watch.pause;
        Ok(Some(watch))
    }

    /// How long to wait until the next count.
    pub(super) fn pause(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Counts; says what the program has too much of.
    pub(super) fn exceeded(&mut self) -> Option<String> {
        if self.exceeded.is_none() {
            let began = Instant::now();
            self.exceeded = self.look();
            self.pause = (began.elapsed() * PAUSE_FACTOR).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
            self.next = Instant::now() + self.pause;
        }
        self.exceeded.clone()
    }

    fn look(&self) -> Option<String> {
        let most = self.before.entries.saturating_add(self.max_entries);
        let Ok(now) = self.count(most) else {
            return Some(format!("it made more than {MAX_DEPTH} folders within folders"));
        };
        if now.entries > most {
            return Some(format!("it made more than {} files", self.max_entries));
        }
        let bytes = now.bytes.saturating_add(removed_bytes(&self.devices));
        if bytes.saturating_sub(self.before.bytes) > self.max_bytes {
            return Some(format!("it wrote more than {} bytes", self.max_bytes));
        }
        let hidden = self.folders.iter().zip(&self.free_before).any(|(folder, before)| {
            let free = free_bytes(folder);
            free < RESERVE && before.saturating_sub(free) > self.max_bytes
        });
        hidden.then(|| format!("the disk has less than {RESERVE} free bytes"))
    }

    /// Counts all folders, up to `most` entries.
    fn count(&self, most: u64) -> Result<Usage, TooDeep> {
        let mut count = Count { usage: Usage::default(), most, linked: BTreeSet::new() };
        for folder in &self.folders {
            let Ok(opened) = rustix::fs::openat(folder, ".", FOLDER, Mode::empty()) else {
                continue;
            };
            count.add_folder(&opened, 0)?;
        }
        Ok(count.usage)
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct Count {
    usage: Usage,
    most: u64,
    /// Files with several names, by device and number.
    linked: BTreeSet<(u64, u64)>,
}

impl Count {
    fn add_folder(&mut self, folder: &OwnedFd, depth: usize) -> Result<(), TooDeep> {
        if depth > MAX_DEPTH {
            return Err(TooDeep);
        }
        let Ok(entries) = Dir::read_from(folder) else { return Ok(()) };
        for entry in entries {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if self.usage.entries > self.most {
                return Ok(());
            }
            // It may be gone meanwhile.
            let Ok(about) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            self.usage.entries += 1;
            let is_folder = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
            if is_folder || about.st_nlink <= 1 || self.linked.insert((about.st_dev, about.st_ino))
            {
                self.usage.bytes += blocks(about.st_blocks);
            }
            if is_folder && let Ok(inner) = rustix::fs::openat(folder, name, FOLDER, Mode::empty())
            {
                self.add_folder(&inner, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn blocks(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0).saturating_mul(BLOCK)
}

fn free_bytes(folder: &OwnedFd) -> u64 {
    rustix::fs::fstatvfs(folder).map_or(u64::MAX, |about| about.f_bavail * about.f_frsize)
}

/// Bytes of files without a name that confined processes have open.
fn removed_bytes(devices: &BTreeSet<u64>) -> u64 {
    // The host's processes, until the root has changed: the launcher itself is not among the confined ones.
    if fs::read_link("/proc/self").is_ok() {
        return 0;
    }
    let mut seen = BTreeSet::new();
    let mut bytes: u64 = 0;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let Ok(about) = fs::metadata(descriptor.path()) else { continue };
            let counts = about.is_file() && about.nlink() == 0 && devices.contains(&about.dev());
            if counts && seen.insert((about.dev(), about.ino())) {
                bytes = bytes.saturating_add(about.blocks().saturating_mul(BLOCK));
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement::Limits;

    fn watch(folder: &std::path::Path, bytes: u64, files: u64) -> DiskWatch {
        let limits =
            Limits { written_bytes: Some(bytes), written_files: Some(files), ..Limits::default() };
        let confinement = Confinement::new().writable(folder).unwrap().limits(limits);
        DiskWatch::open(&confinement).unwrap().unwrap()
    }

    #[test]
    fn growth_is_what_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("before"), vec![1; 100_000]).unwrap();
        let mut watched = watch(folder.path(), 50_000, 3);
        assert_eq!(watched.exceeded(), None);
        fs::write(folder.path().join("a"), vec![1; 30_000]).unwrap();
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        assert_eq!(watched.exceeded(), None, "two names are one file");
        fs::create_dir(folder.path().join("c")).unwrap();
        fs::write(folder.path().join("c/d"), "").unwrap();
        assert_eq!(watched.exceeded().unwrap(), "it made more than 3 files");
        let mut watched = watch(folder.path(), 50_000, 9);
        fs::write(folder.path().join("c/d"), vec![1; 60_000]).unwrap();
        assert_eq!(watched.exceeded().unwrap(), "it wrote more than 50000 bytes");
        fs::remove_file(folder.path().join("c/d")).unwrap();
        assert!(watched.exceeded().is_some(), "once is enough");
    }

    #[test]
    fn links_are_not_followed_and_depth_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let mut watched = watch(folder.path(), 1 << 20, 1000);
        std::os::unix::fs::symlink("/usr", folder.path().join("usr")).unwrap();
        assert_eq!(watched.exceeded(), None);
        let mut deep = folder.path().to_owned();
        for _ in 0..=MAX_DEPTH {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
        }
        assert_eq!(watched.exceeded().unwrap(), "it made more than 256 folders within folders");
    }
}
