//! Gives up every capability, for good: effective, permitted, inheritable, ambient and bounding sets.

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
