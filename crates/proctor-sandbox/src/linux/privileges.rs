//! Gives up every capability, for good: effective, permitted, inheritable, ambient and bounding sets. Or becomes another user, to try what
//! that one may.

use std::ffi::OsStr;

use rustix::process::{DumpableBehavior, Gid, Uid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::error::{LaunchError, Step as _};
use super::sys;

pub(super) fn give_up() -> Result<(), LaunchError> {
    let held = rustix::thread::capabilities(None).step("read the capabilities")?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        // Root gets nothing by being root, and none of this can be undone.
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits).step("lock the capabilities")?;
        sys::empty_bounding_set().step("empty the capability bounding set")?;
    }
    // Kernels without ambient capabilities have none to clear.
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, none).step("drop the capabilities")?;
    rustix::thread::set_no_new_privs(true).step("refuse new privileges")
}

/// Becomes a user with the group of the same number and no others. Only root can.
pub(super) fn become_user(user: &OsStr) -> Result<(), LaunchError> {
    let number = user.to_str().and_then(|text| text.parse().ok());
    let number: u32 = number
        .ok_or_else(|| LaunchError::Arguments(format!("{} is no user id", user.display())))?;
    let step = format!("become user {number}");
    sys::drop_groups().step(&step)?;
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    rustix::thread::set_thread_res_gid(group, group, group).step(&step)?;
    rustix::thread::set_thread_res_uid(user, user, user).step(&step)?;
    // The kernel made the files of this process in /proc root's; those of a process that the user started are the user's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).step(&step)
}
