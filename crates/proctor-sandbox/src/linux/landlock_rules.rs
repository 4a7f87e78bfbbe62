//! Landlock: the rules of the view once more, in a way that holds for descriptors and paths that lead around mounts.
//!
//! Where there is a mount namespace, everything that is visible can be read. Without one, only what is listed can be read; a
//! folder that holds something hidden is allowed piece by piece, so it cannot be listed and files that appear later are not seen.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::error::{LaunchError, Step as _};
use super::files;
use super::sys;
use super::view::{Access, DEVICES, View};
use crate::confinement::{Confinement, Network};
use crate::layer::Layer;

/// The newest version whose rights are asked for; older kernels take what they know.
const NEWEST: ABI = ABI::V9;
/// The first version that knows truncation, without which Landlock alone does not keep files.
const ALONE: u32 = 3;

/// What a rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    Read,
    Write,
    Device,
}

pub(super) fn apply(confinement: &Confinement, view: &View) -> Result<(), LaunchError> {
    let version = sys::landlock_version().layer(Layer::Landlock, "find it in this kernel")?;
    if version < ALONE && !confinement.has(Layer::MountNamespace) {
        let why = format!("version {version} cannot keep files without a mount namespace");
        return Err(io::Error::other(why)).layer(Layer::Landlock, "rely on it");
    }
    restrict(confinement, &rules(confinement, view)).layer(Layer::Landlock, "apply its rules")
}

/// The paths and what is allowed below them.
fn rules(confinement: &Confinement, view: &View) -> Vec<(PathBuf, Grant)> {
    let mounted = confinement.has(Layer::MountNamespace);
    let mut rules: Vec<(PathBuf, Grant)> =
        DEVICES.iter().map(|name| (Path::new("/dev").join(name), Grant::Device)).collect();
    if mounted {
        rules.push(("/".into(), Grant::Read));
    } else {
        rules.push(("/proc".into(), Grant::Read));
    }
    for (path, access) in view.iter() {
        let grant = match access {
            Access::System | Access::Read => Grant::Read,
            Access::Write => Grant::Write,
            Access::Fresh if mounted => Grant::Write,
            Access::Fresh | Access::Hidden => continue,
        };
        if !mounted {
            rules.extend(view.pieces(path).into_iter().map(|piece| (piece, grant)));
        } else if grant == Grant::Write {
            rules.push((path.to_owned(), grant));
        }
    }
    rules
}

fn restrict(confinement: &Confinement, rules: &[(PathBuf, Grant)]) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .map_err(io::Error::other)?;
    if confinement.network == Network::None && !confinement.has(Layer::NetworkNamespace) {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(io::Error::other)?;
    }
    let mut ruleset = ruleset.create().map_err(io::Error::other)?;
    for (path, grant) in rules {
        // What is not there needs no rule.
        let Some(place) = files::open_if_there(path)? else { continue };
        let mut rights = rights(*grant, confinement.may_use_unix_sockets());
        if !place.is_folder {
            rights &= AccessFs::from_file(NEWEST);
        }
        ruleset = ruleset.add_rule(PathBeneath::new(place.fd, rights)).map_err(io::Error::other)?;
    }
    let status = ruleset.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the kernel does not enforce it"));
    }
    Ok(())
}

fn rights(grant: Grant, unix_sockets: bool) -> BitFlags<AccessFs> {
    let sockets = AccessFs::ResolveUnix | AccessFs::MakeSock;
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let read = AccessFs::from_read(NEWEST);
    match (grant, unix_sockets) {
        (Grant::Read, false) => read,
        (Grant::Read, true) => read | AccessFs::ResolveUnix,
        (Grant::Write, false) => AccessFs::from_all(NEWEST) & !(devices | sockets),
        (Grant::Write, true) => AccessFs::from_all(NEWEST) & !devices,
        (Grant::Device, _) => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_mounts_the_root_is_readable_and_only_some_of_it_writable() {
        let mut confinement = Confinement::new();
        confinement.writable = vec!["/srv/copy".into()];
        confinement.readable = vec!["/srv".into()];
        let rules = rules(&confinement, &View::of(&confinement));
        let writable: Vec<&Path> = rules
            .iter()
            .filter(|(_, grant)| *grant == Grant::Write)
            .map(|(path, _)| path.as_path())
            .collect();
        let expected = ["/dev/shm", "/home", "/root", "/run", "/srv/copy", "/tmp", "/var/tmp"];
        assert_eq!(writable, expected.map(Path::new));
        assert!(rules.contains(&("/".into(), Grant::Read)));
    }

    #[test]
    fn without_mounts_only_what_is_listed_is_readable() {
        let confinement = Confinement::new().layers([Layer::Landlock]);
        let rules = rules(&confinement, &View::of(&confinement));
        assert!(rules.contains(&("/usr".into(), Grant::Read)));
        for path in ["/", "/etc", "/etc/shadow", "/tmp"] {
            assert!(rules.iter().all(|(rule, _)| rule != Path::new(path)), "{path}");
        }
        assert!(rules.contains(&("/etc/passwd".into(), Grant::Read)));
    }
}
