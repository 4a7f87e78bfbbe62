//! System calls that neither the standard library nor rustix offer.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(crate) fn check(outcome: libc::c_long) -> io::Result<libc::c_long> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}

pub(crate) fn text(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap_or_default()
}

/// A system call with numbers and addresses as arguments.
pub(crate) fn call<const N: usize>(
    number: libc::c_long,
    arguments: [usize; N],
) -> io::Result<libc::c_long> {
    let mut all = [0_usize; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: attempts pass numbers and addresses of values that outlive the call.
    check(unsafe { libc::syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]) })
}

pub(crate) fn address<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<u8>() as usize
}

/// Forks; true in the child.
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the program has one thread where this is used.
    match check(libc::c_long::from(unsafe { libc::fork() }))? {
        0 => Ok(None),
        child => Ok(i32::try_from(child).ok()),
    }
}

pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}
