//! Files below one folder, and nowhere else.
//!
//! Two gates, one behind the other: [`RelPath`] refuses a text that could mean something outside; [`Root`]
//! resolves it with the kernel's own "beneath" rule, so that a symbolic link planted by the program
//! under test cannot lead out, not even one that is swapped in between a check and its use. Links that
//! stay inside are followed. Owns the folder's descriptor; knows nothing of workspaces.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Longest path and longest name that are accepted.
const LONGEST_PATH: usize = 1024;
const LONGEST_NAME: usize = 255;

/// Characters that look like a separator or a dot. They would not escape, but a person who reads the
/// path would think that it does, or that it does not.
const LOOK_ALIKES: &[char] = &[
    '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{2215}', '\u{2216}', '\u{29f5}', '\u{29f8}',
    '\u{29f9}', '\u{fe52}', '\u{fe68}', '\u{ff0e}', '\u{ff0f}', '\u{ff3c}',
];

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path {path:?} is not allowed: {why}")]
pub struct PathProblem {
    /// The path as given.
    pub path: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// A relative path that cannot lead out by its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

impl RelPath {
    /// Checks a path. `./a//b` becomes `a/b`.
    pub fn parse(text: &str) -> Result<Self, PathProblem> {
        let refuse = |why| Err(PathProblem { path: proctor_text::truncate(text, 80), why });
        if text.len() > LONGEST_PATH {
            return refuse("it is too long");
        }
        if text.contains('\0') {
            return refuse("it contains a NUL character");
        }
        if text.starts_with('/') {
            return refuse("it is absolute; give it relative to the workspace");
        }
        if text.chars().any(|letter| letter.is_control() || is_invisible(letter)) {
            return refuse("it contains a control or invisible character");
        }
        if text.contains(LOOK_ALIKES) {
            return refuse("it contains a character that imitates a dot or a slash");
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return refuse("it contains `..`"),
                part if part.len() > LONGEST_NAME => return refuse("a name in it is too long"),
                part => parts.push(part),
            }
        }
        if parts.is_empty() {
            return refuse("it names the workspace itself");
        }
        Ok(Self(parts.join("/")))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parent_and_name(&self) -> (Option<&str>, &str) {
        match self.0.rsplit_once('/') {
            Some((parent, name)) => (Some(parent), name),
            None => (None, &self.0),
        }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Zero-width and direction-changing characters.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A folder below which files are read and written.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

impl Root {
    /// Opens the folder; a symbolic link in its place is refused.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Reads a regular file of at most `cap` bytes.
    pub fn read(&self, path: &RelPath, cap: u64) -> io::Result<Vec<u8>> {
        // Do not block on a named pipe.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(self.resolve(path.as_str(), flags, Mode::empty())?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if about.len() > cap {
            let size = about.len();
            return Err(io::Error::other(format!(
                "its {size} bytes are more than the {cap} allowed"
            )));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
        file.take(cap).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What stands there, if anything does. A link that leads out counts as an error.
    pub fn kind(&self, path: &RelPath) -> io::Result<Option<FileType>> {
        match self.resolve(path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(found) => {
                let about = rustix::fs::fstat(&found)?;
                Ok(Some(FileType::from_raw_mode(about.st_mode)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(Errno::NOTDIR.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a file as a whole, making the folders it needs. What stood there is replaced, also if it
    /// was a link; readers see the old or the new content, never half of it.
    pub fn write(&self, path: &RelPath, bytes: &[u8], mode: u32) -> io::Result<()> {
        let folder = self.make_parent(path)?;
        let (_, name) = path.parent_and_name();
        let temporary = format!(".proctor-{}", uuid::Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let flags = flags | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &*temporary, flags, Mode::from_raw_mode(mode))?;
        let written = File::from(file)
            .write_all(bytes)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &*temporary, &folder, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&folder, &*temporary, AtFlags::empty());
        }
        written
    }

    /// Appends to a regular file with a single write, making it if it is not there.
    pub fn append(&self, path: &RelPath, bytes: &[u8]) -> io::Result<()> {
        // Do not block on a named pipe.
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(0o644);
        let mut file = File::from(self.resolve(path.as_str(), flags | OFlags::CLOEXEC, mode)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        file.write_all(bytes)
    }

    /// Makes a folder and those above it.
    pub fn make_folder(&self, path: &RelPath) -> io::Result<()> {
        self.make_folders(path.as_str()).map(drop)
    }

    /// Removes a file or a link (never what it points to).
    pub fn remove(&self, path: &RelPath) -> io::Result<()> {
        let (parent, name) = path.parent_and_name();
        let folder = self.open_folder(parent)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Gives a file of the top folder another name there.
    pub(crate) fn rename_top(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, from, &self.folder, to)?)
    }

    pub(crate) fn make_link(&self, path: &RelPath, target: &str) -> io::Result<()> {
        let folder = self.make_parent(path)?;
        let (_, name) = path.parent_and_name();
        let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
        Ok(rustix::fs::symlinkat(target, &folder, name)?)
    }

    fn make_parent(&self, path: &RelPath) -> io::Result<OwnedFd> {
        match path.parent_and_name().0 {
            Some(parent) => self.make_folders(parent),
            None => self.open_folder(None),
        }
    }

    fn make_folders(&self, path: &str) -> io::Result<OwnedFd> {
        let mut folder = self.open_folder(None)?;
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let (above, name) = match path[..at].rsplit_once('/') {
                Some((above, name)) => (Some(above), name),
                None => (None, &path[..at]),
            };
            let above = self.open_folder(above)?;
            match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => folder = self.open_folder(Some(&path[..at]))?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(folder)
    }

    fn open_folder(&self, path: Option<&str>) -> io::Result<OwnedFd> {
        match path {
            None => Ok(self.folder.try_clone()?),
            Some(path) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                self.resolve(path, flags, Mode::empty())
            }
        }
    }

    fn resolve(&self, path: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let rule = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.folder, path, flags, mode, rule) {
            // No such call here, or a rename during the lookup, after which the kernel asks to try again.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
                self.resolve_without_links(path, flags, mode)
            }
            Err(Errno::XDEV | Errno::LOOP) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a symbolic link on the way leads out of the workspace",
            )),
            other => Ok(other?),
        }
    }

    /// For kernels without the rule: no links at all, one component at a time.
    fn resolve_without_links(&self, path: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let mut folder = self.folder.try_clone()?;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return Ok(rustix::fs::openat(&folder, part, flags | OFlags::NOFOLLOW, mode)?);
            }
            let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = rustix::fs::openat(&folder, part, through, Mode::empty())?;
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests;
