//! What a confined program may reach and how much it may use. Plain values.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::abilities::Abilities;
use crate::layer::Layer;
use crate::path_text;

/// The version of descriptions that this crate writes and reads.
const VERSION: u32 = 1;

/// System folders that a program needs to run at all; those that do not exist are left out.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/var/lib/gems",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
];

/// A description of how a program is confined.
///
/// Paths are absolute and free of symbolic links; [`Confinement::readable`] and its siblings resolve them. The launcher refuses a
/// path in which a link appeared since. Where lists overlap, the longer path wins; for the same path `writable` wins over
/// `readable`, and that over `hidden`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    version: u32,
    /// Read-only folders and files that are left out where they do not exist. Starts with the system's folders.
    #[serde(with = "path_text")]
    pub system: Vec<PathBuf>,
    /// Read-only folders and files that must exist.
    #[serde(with = "path_text")]
    pub readable: Vec<PathBuf>,
    /// Folders and files that may be changed and must exist.
    #[serde(with = "path_text")]
    pub writable: Vec<PathBuf>,
    /// Folders and files below the others that appear empty; those that do not exist are left out.
    #[serde(with = "path_text")]
    pub hidden: Vec<PathBuf>,
    /// Empty, writable, private folders, besides `/tmp`, `/var/tmp`, `/run`, `/home`, `/root` and `/dev/shm`. The caller's home folder
    /// belongs here if it is not below `/home`.
    #[serde(with = "path_text")]
    pub fresh: Vec<PathBuf>,
    /// Links to be made inside, as pairs of name and target: for paths that were given through a symbolic link.
    #[serde(with = "path_text")]
    links: Vec<PathBuf>,
    /// Files on which a shared lock is held until the last confined process has ended, however it ends. They are not visible inside.
    #[serde(with = "path_text")]
    pub locks: Vec<PathBuf>,
    /// Where the launcher writes a [`crate::LaunchReport`]. Not visible inside.
    #[serde(with = "path_text::optional")]
    pub report: Option<PathBuf>,
    /// What can be connected to.
    pub network: Network,
    /// Whether unix sockets can be made and connected to, as far as their paths are visible. Always so with the host's network. Without
    /// the mount namespace every path of the host is visible.
    pub unix_sockets: bool,
    /// How much may be used.
    pub limits: Limits,
    /// What must be applied: a launcher that cannot apply one of them runs nothing.
    pub layers: BTreeSet<Layer>,
}

/// What a confined program can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// An own loopback only; no unix sockets except connected pairs, unless [`Confinement::unix_sockets`] says so.
    None,
    /// The host's network; unix sockets too, as far as their paths are visible. Abstract sockets of the host stay out of reach.
    Host,
}

/// How much a confined program may use; `None` leaves what the caller has. Time limits and captured output are the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes of address space of each process. Runtimes that reserve much more than they use (V8, Go, JVM) need `None`.
    pub address_space: Option<u64>,
    /// Bytes of the largest file that can be written.
    pub file_size: Option<u64>,
    /// Open descriptors of each process.
    pub open_files: Option<u64>,
    /// Processes and threads of all confined processes together. For root the kernel's bound is up to 300 more.
    pub processes: Option<u64>,
    /// Seconds of processor time of each process.
    pub processor_seconds: Option<u64>,
    /// Bytes in all fresh folders together. They are kept in memory.
    pub fresh_bytes: u64,
    /// Bytes by which all writable folders together may grow. A program that goes beyond is ended as by `SIGXFSZ`.
    pub written_bytes: Option<u64>,
    /// Files and folders by which all writable folders together may grow. Used together with `written_bytes`.
    pub written_files: Option<u64>,
}

/// A path that cannot be part of a description.
#[derive(Debug, thiserror::Error)]
#[error("cannot confine to {}: {source}", .path.display())]
pub struct PathError {
    path: PathBuf,
    source: io::Error,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address_space: Some(4 << 30),
            file_size: Some(256 << 20),
            open_files: Some(1024),
            processes: Some(256),
            processor_seconds: Some(600),
            fresh_bytes: 256 << 20,
            written_bytes: Some(1 << 30),
            written_files: Some(200_000),
        }
    }
}

impl Confinement {
    /// Nothing but the system's folders, no network, every layer, the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: VERSION,
            system: SYSTEM.map(PathBuf::from).to_vec(),
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: Vec::new(),
            fresh: Vec::new(),
            links: Vec::new(),
            locks: Vec::new(),
            report: None,
            network: Network::None,
            unix_sockets: false,
            limits: Limits::default(),
            layers: Layer::ALL.into(),
        }
    }

    /// Adds a folder or file that can be read.
    pub fn readable(mut self, path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = self.resolve(path.as_ref())?;
        self.readable.push(path);
        Ok(self)
    }

    /// Adds a folder or file that can be changed.
    pub fn writable(mut self, path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = self.resolve(path.as_ref())?;
        self.writable.push(path);
        Ok(self)
    }

    /// Adds a folder or file that appears empty.
    pub fn hidden(mut self, path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = self.resolve(path.as_ref())?;
        self.hidden.push(path);
        Ok(self)
    }

    /// Adds an empty, private folder.
    #[must_use]
    pub fn fresh(mut self, path: impl Into<PathBuf>) -> Self {
        self.fresh.push(path.into());
        self
    }

    /// Adds a file on which a shared lock is held as long as a confined process lives.
    #[must_use]
    pub fn lock(mut self, path: impl Into<PathBuf>) -> Self {
        self.locks.push(path.into());
        self
    }

    /// Sets the file that the launcher writes its report to.
    #[must_use]
    pub fn report(mut self, path: impl Into<PathBuf>) -> Self {
        self.report = Some(path.into());
        self
    }

    /// Sets what can be connected to.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Lets the program use unix sockets whose paths are visible to it.
    #[must_use]
    pub fn unix_sockets(mut self) -> Self {
        self.unix_sockets = true;
        self
    }

    /// Sets how much may be used.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Requires exactly these layers.
    #[must_use]
    pub fn layers(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.layers = layers.into_iter().collect();
        self
    }

    /// Requires the layers that this machine has, no others.
    #[must_use]
    pub fn with(mut self, abilities: &Abilities) -> Self {
        self.layers = abilities.layers();
        self
    }

    /// What this confinement lacks, in words; empty if every layer is required.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
        let missing = Layer::ALL.iter().filter(|layer| self.is_missing(**layer));
        missing.map(|layer| format!("no {}: {}", layer.name(), layer.without_it())).collect()
    }

    fn is_missing(&self, layer: Layer) -> bool {
        let wanted = layer != Layer::NetworkNamespace || self.network == Network::None;
        wanted && !self.layers.contains(&layer)
    }

    /// The path without links. What was given is remembered, so that its name works inside as well.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf, PathError> {
        let failed = |source| PathError { path: path.to_owned(), source };
        let given = std::path::absolute(path).map_err(failed)?;
        let resolved = given.canonicalize().map_err(failed)?;
        if resolved == Path::new("/") {
            return Err(failed(io::Error::other("the root folder would show everything")));
        }
        // A name with `..` is not one that could be made inside; what it leads to is there.
        if given != resolved && is_plain(&given) {
            self.links.extend([given, resolved.clone()]);
        }
        Ok(resolved)
    }

    /// Names and targets of the links to be made inside.
    pub(crate) fn links(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.links.chunks_exact(2).map(|pair| (pair[0].as_path(), pair[1].as_path()))
    }

    pub(crate) fn may_use_unix_sockets(&self) -> bool {
        self.unix_sockets || self.network == Network::Host
    }

    pub(crate) fn has(&self, layer: Layer) -> bool {
        let applies = layer != Layer::NetworkNamespace || self.network == Network::None;
        applies && self.layers.contains(&layer)
    }

    pub(crate) fn encode(&self) -> String {
        // Paths are text by now and keys are names, so there is nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn decode(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.version != VERSION {
            return Err(format!("version {} of the description is not known", read.version));
        }
        let lists = [
            &read.system,
            &read.readable,
            &read.writable,
            &read.hidden,
            &read.fresh,
            &read.links,
            &read.locks,
        ];
        let relative =
            lists.into_iter().flatten().chain(&read.report).find(|path| !is_plain(path)).cloned();
        match relative {
            Some(path) => Err(format!("{} is not an absolute path", path.display())),
            None => Ok(read),
        }
    }
}

impl Default for Confinement {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a path is absolute, below the root, and has no `..`.
fn is_plain(path: &Path) -> bool {
    use std::path::Component;
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.clone().next().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_the_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let confinement = Confinement::new()
            .readable("/usr")
            .unwrap()
            .writable(folder.path())
            .unwrap()
            .network(Network::Host)
            .layers([Layer::Landlock]);
        assert_eq!(Confinement::decode(&confinement.encode()), Ok(confinement));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let good = Confinement::new().encode();
        for (from, to, why) in [
            ("\"version\":1", "\"version\":2", "version 2 of the description is not known"),
            ("\"/usr\"", "\"usr\"", "usr is not an absolute path"),
            ("\"/usr\"", "\"/\"", "/ is not an absolute path"),
            ("\"/usr\"", "\"/usr/../root\"", "/usr/../root is not an absolute path"),
            ("\"fresh\"", "\"frech\"", "unknown field `frech`"),
        ] {
            let error = Confinement::decode(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn a_path_given_through_a_link_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let confinement = Confinement::new().readable(root.join("link")).unwrap();
        assert_eq!(confinement.readable, [root.join("real")]);
        let links: Vec<_> = confinement.links().collect();
        assert_eq!(links, [(root.join("link").as_path(), root.join("real").as_path())]);
        let around = Confinement::new().readable(root.join("real/../real")).unwrap();
        assert_eq!((around.links().count(), &around.readable), (0, &vec![root.join("real")]));
        assert_eq!(Confinement::decode(&around.encode()), Ok(around));
        let error = Confinement::new().writable("/").unwrap_err().to_string();
        assert_eq!(error, "cannot confine to /: the root folder would show everything");
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(Confinement::new().shortcomings().is_empty());
        let all_but = |layer| Layer::ALL.into_iter().filter(move |other| *other != layer);
        let without_network = Confinement::new().layers(all_but(Layer::NetworkNamespace));
        assert_eq!(without_network.shortcomings().len(), 1);
        assert!(without_network.network(Network::Host).shortcomings().is_empty());
    }
}
