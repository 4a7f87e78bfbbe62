//! Which paths a confined program finds, and as what: the description with the system's own rules added. Reads folders, changes
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::confinement::{Confinement, Network};

/// What a path is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read-only; left out if it does not exist.
    System,
    /// Read-only.
    Read,
    /// As outside.
    Write,
    /// Empty and read-only; left out if it does not exist.
    Hidden,
    /// Empty, private and writable.
    Fresh,
}

/// Private folders of every confinement.
const FRESH: [&str; 6] = ["/tmp", "/var/tmp", "/run", "/home", "/root", "/dev/shm"];
/// Devices of every confinement.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Secrets in system folders, besides everything in `/etc` that not everybody may read.
const SECRETS: [&str; 9] = [
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/security/opasswd",
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/wireguard",
];

/// Paths in the order in which they are made: parents first.
#[derive(Debug)]
pub(super) struct View {
    entries: BTreeMap<PathBuf, Access>,
}

impl View {
    pub(super) fn of(confinement: &Confinement) -> Self {
        let resolver = name_resolution(confinement.network);
        let secrets: Vec<PathBuf> = secrets();
        let always_fresh = FRESH.map(PathBuf::from);
        // For the same path the last one wins.
        let lists: [(&[PathBuf], Access); 8] = [
            (&confinement.system, Access::System),
            (&resolver, Access::System),
            (&secrets, Access::Hidden),
            (&always_fresh, Access::Fresh),
            (&confinement.fresh, Access::Fresh),
            (&confinement.hidden, Access::Hidden),
            (&confinement.readable, Access::Read),
            (&confinement.writable, Access::Write),
        ];
        let pairs =
            lists.iter().flat_map(|(paths, access)| paths.iter().map(|path| (path, *access)));
        Self { entries: pairs.map(|(path, access)| (path.clone(), access)).collect() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.entries.iter().map(|(path, access)| (path.as_path(), *access))
    }

    /// The paths that together make up `top` without anything below it that has an entry of its own.
    pub(super) fn pieces(&self, top: &Path) -> Vec<PathBuf> {
        let below = |folder: &Path| {
            self.entries.keys().any(|path| path != folder && path.starts_with(folder))
        };
        let mut open = vec![top.to_owned()];
        let mut pieces = Vec::new();
        while let Some(path) = open.pop() {
            if path != top && self.entries.contains_key(&path) {
                continue;
            }
            if !below(&path) {
                pieces.push(path);
                continue;
            }
            let children = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(children.map(|child| child.path()));
        }
        pieces.sort_unstable();
        pieces
    }
}

/// Entries of `/etc` that not everybody may read are secrets for a confined root as well.
fn secrets() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SECRETS.iter().map(PathBuf::from).collect();
    for entry in fs::read_dir("/etc").into_iter().flatten().flatten() {
        let private = entry.metadata().is_ok_and(|metadata| {
            !metadata.file_type().is_symlink() && metadata.mode() & 0o004 == 0
        });
        if private {
            found.push(entry.path());
        }
    }
    found
}

/// Where `/etc/resolv.conf` leads, if the network is used and it leads out of `/etc`.
fn name_resolution(network: Network) -> Vec<PathBuf> {
    if network == Network::None {
        return Vec::new();
    }
    let target = fs::canonicalize("/etc/resolv.conf").ok();
    target.into_iter().filter(|path| !path.starts_with("/etc")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_list_wins_and_parents_come_first() {
        let mut confinement = Confinement::new();
        confinement.hidden = vec!["/srv/a".into(), "/srv/b".into()];
        confinement.writable = vec!["/srv/a".into(), "/tmp".into()];
        confinement.readable = vec!["/srv".into()];
        let view = View::of(&confinement);
        assert_eq!(view.entries[Path::new("/srv/a")], Access::Write);
        assert_eq!(view.entries[Path::new("/srv/b")], Access::Hidden);
        assert_eq!(view.entries[Path::new("/tmp")], Access::Write);
        assert_eq!(view.entries[Path::new("/run")], Access::Fresh);
        let order: Vec<&Path> = view.iter().map(|(path, _)| path).collect();
        let place = |path: &str| order.iter().position(|other| *other == Path::new(path)).unwrap();
        assert!(place("/srv") < place("/srv/a"));
    }

    #[test]
    fn pieces_leave_out_what_has_an_entry_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["open", "deep/open", "deep/secret"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let mut confinement = Confinement::new();
        confinement.readable = vec![root.clone()];
        confinement.hidden = vec![root.join("deep/secret")];
        let view = View::of(&confinement);
        assert_eq!(view.pieces(&root), [root.join("deep/open"), root.join("open")]);
        assert_eq!(view.pieces(&root.join("open")), [root.join("open")]);
    }
}
