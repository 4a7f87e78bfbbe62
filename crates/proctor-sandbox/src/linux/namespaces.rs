//! New namespaces for this process, and the loopback inside.

use std::fs;
use std::io;

use rustix::thread::UnshareFlags;

use super::error::{LaunchError, Step as _};
use super::sys;
use crate::confinement::Confinement;
use crate::layer::Layer;

/// The namespaces besides the user namespace, which comes first and gives the right to make these.
const OTHERS: [(Layer, UnshareFlags); 6] = [
    (Layer::MountNamespace, UnshareFlags::NEWNS),
    (Layer::IpcNamespace, UnshareFlags::NEWIPC),
    (Layer::UtsNamespace, UnshareFlags::NEWUTS),
    (Layer::CgroupNamespace, UnshareFlags::NEWCGROUP),
    (Layer::NetworkNamespace, UnshareFlags::NEWNET),
    // For children: the next one is process 1.
    (Layer::PidNamespace, UnshareFlags::NEWPID),
];

pub(super) fn enter(confinement: &Confinement) -> Result<(), LaunchError> {
    if !confinement.has(Layer::UserNamespace) {
        return match OTHERS.iter().find(|(layer, _)| confinement.has(*layer)) {
            Some((layer, _)) => {
                Err(io::Error::other("it needs a user namespace")).layer(*layer, "make it alone")
            }
            None => Ok(()),
        };
    }
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    // Root's other groups would stay with it. Other users cannot drop theirs, and gain nothing by them inside.
    let _ = sys::drop_groups();
    let layer = Layer::UserNamespace;
    sys::unshare(UnshareFlags::NEWUSER).map_err(explain).layer(layer, "make it")?;
    fs::write("/proc/self/setgroups", "deny").layer(layer, "fix the groups")?;
    let map = |id: u32| format!("{id} {id} 1");
    fs::write("/proc/self/uid_map", map(user.as_raw())).layer(layer, "map the user")?;
    fs::write("/proc/self/gid_map", map(group.as_raw())).layer(layer, "map the group")?;
    for (layer, flag) in OTHERS.into_iter().filter(|(layer, _)| confinement.has(*layer)) {
        sys::unshare(flag).map_err(explain).layer(layer, "make it")?;
    }
    Ok(())
}

/// Names the setting of this machine that forbids namespaces, where there is one.
pub(super) fn explain(error: io::Error) -> io::Error {
    let settings = [
        ("user/max_user_namespaces", "0"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ];
    let found = settings.iter().find(|(name, value)| {
        fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|text| text.trim() == *value)
    });
    match found {
        Some((name, value)) => {
            io::Error::new(error.kind(), format!("{error} (/proc/sys/{name} is {value})"))
        }
        None => error,
    }
}

/// Without it, a server that a program starts for itself could not be reached.
pub(super) fn raise_loopback() -> Result<(), LaunchError> {
    sys::raise_loopback().layer(Layer::NetworkNamespace, "raise the loopback")
}
