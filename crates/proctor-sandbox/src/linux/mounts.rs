//! The root folder of a mount namespace, built from the [`View`] with detached mounts that are attached when they are complete.
//!
//! One small file system in memory holds the folders on the way (read-only at the end), a second one everything that is fresh, so
//! that one limit holds for all of it. Host paths are opened once, cloned with all mounts below them, made read-only while they are
//! attached nowhere, and then attached. `/proc` is new and read-only: a confined root owns the files of `/proc/sys`.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};

use super::error::{LaunchError, Step as _};
use super::files::{self, Place};
use super::namespaces::explain;
use super::sys;
use super::view::{Access, DEVICES, View};
use crate::confinement::Confinement;
use crate::layer::Layer;

const LAYER: Layer = Layer::MountNamespace;
/// Where the new root is attached while it is built; any folder that every system has.
const STAGE: &str = "/proc";
/// The folder in the new root where the file system of fresh folders is attached while it is built.
const SCRATCH: &str = ".scratch";
/// Files of a new `/proc` that tell about the host.
const PROC_SECRETS: [&str; 6] =
    ["kcore", "keys", "key-users", "kmsg", "timer_list", "sysrq-trigger"];
/// Links of `/dev`.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

const SAFE: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const READ_ONLY: MountAttrFlags = SAFE.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// A root that is in place, but for the last step.
pub(super) struct BuiltRoot {
    root: OwnedFd,
    proc: OwnedFd,
    /// Hidden folders, which stay writable while things may have to be attached in them.
    hidden: Vec<OwnedFd>,
}

/// The root while it is being built.
struct Builder {
    root: OwnedFd,
    scratch: OwnedFd,
    made: u32,
    hidden: Vec<OwnedFd>,
}

/// Builds the root and enters it.
pub(super) fn build(confinement: &Confinement, view: &View) -> Result<BuiltRoot, LaunchError> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)
        .map_err(|error| explain(error.into()))
        .layer(LAYER, "separate its mounts from the host's")?;
    let mut builder = Builder::new(confinement.limits.fresh_bytes).layer(LAYER, "start a root")?;
    let proc = builder.add_proc().layer(LAYER, "mount a new /proc")?;
    builder.add_devices().layer(LAYER, "make a new /dev")?;
    for (path, access) in view.iter() {
        builder
            .add(path, access)
            .step(format_args!("show {} inside the sandbox", path.display()))?;
    }
    for (name, target) in confinement.links() {
        // A name that exists inside already leads where it should, or must not be replaced.
        let _ = builder.add_link(name, target);
    }
    let hidden = std::mem::take(&mut builder.hidden);
    let root = builder.enter().layer(LAYER, "change the root")?;
    Ok(BuiltRoot { root, proc, hidden })
}

impl BuiltRoot {
    /// Makes everything read-only that was still needed to be writable.
    pub(super) fn seal(self) -> Result<(), LaunchError> {
        for mount in [self.root, self.proc].into_iter().chain(self.hidden) {
            set_attributes(mount.as_fd(), READ_ONLY, false).layer(LAYER, "make it read-only")?;
        }
        Ok(())
    }
}

impl Builder {
    fn new(fresh_bytes: u64) -> io::Result<Self> {
        let root = memory_file_system(16 << 20)?;
        attach(&root, files::open_resolved(Path::new(STAGE))?.fd.as_fd())?;
        let scratch = memory_file_system(fresh_bytes)?;
        let place = files::find_or_make(&root, Path::new(SCRATCH), true)?;
        attach(&scratch, place.as_fd())?;
        Ok(Self { root, scratch, made: 0, hidden: Vec::new() })
    }

    fn add(&mut self, path: &Path, access: Access) -> io::Result<()> {
        match access {
            Access::System => self.add_system(path),
            Access::Read => {
                let place = files::open_resolved(path)?;
                self.add_clone(path, &place, READ_ONLY)
            }
            Access::Write => {
                let place = files::open_resolved(path)?;
                self.add_clone(path, &place, SAFE)
            }
            Access::Fresh => self.add_fresh(path),
            Access::Hidden => self.add_hidden(path),
        }
    }

    /// `/bin` and the like may be links, which are copied.
    fn add_system(&self, path: &Path) -> io::Result<()> {
        if let Ok(target) = fs::read_link(path) {
            return self.add_link(path, &target);
        }
        match files::open_if_there(path)? {
            Some(place) => self.add_clone(path, &place, READ_ONLY),
            None => Ok(()),
        }
    }

    fn add_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let parent = files::find_or_make(&self.root, parent, true)?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    fn add_clone(&self, path: &Path, source: &Place, attributes: MountAttrFlags) -> io::Result<()> {
        let clone = clone_tree(&source.fd, true)?;
        set_attributes(clone.as_fd(), attributes, true)?;
        let target = files::find_or_make(&self.root, path, source.is_folder)?;
        attach(&clone, target.as_fd())
    }

    fn add_fresh(&mut self, path: &Path) -> io::Result<()> {
        let is_shared = path.ends_with("tmp") || path.ends_with("shm");
        let clone = self.scratch_folder(if is_shared { 0o1777 } else { 0o755 })?;
        let target = files::find_or_make(&self.root, path, true)?;
        attach(&clone, target.as_fd())
    }

    fn add_hidden(&mut self, path: &Path) -> io::Result<()> {
        // What is not visible inside needs no cover.
        let Ok(target) = files::open_inside(&self.root, path) else { return Ok(()) };
        if target.is_folder {
            let clone = self.scratch_folder(0o755)?;
            attach(&clone, target.fd.as_fd())?;
            self.hidden.push(clone);
            return Ok(());
        }
        attach(&self.empty_file()?, target.fd.as_fd())
    }

    /// An empty file that nobody may read, as a mount.
    fn empty_file(&mut self) -> io::Result<OwnedFd> {
        let name = self.next_name();
        let file = files::find_or_make(&self.scratch, Path::new(&name), false)?;
        rustix::fs::chmodat(&self.scratch, &name, Mode::empty(), rustix::fs::AtFlags::empty())?;
        let clone = clone_tree(&file, false)?;
        set_attributes(clone.as_fd(), READ_ONLY, false)?;
        Ok(clone)
    }

    /// An empty folder of the fresh file system, as a mount.
    fn scratch_folder(&mut self, mode: u32) -> io::Result<OwnedFd> {
        let name = self.next_name();
        let folder = files::find_or_make(&self.scratch, Path::new(&name), true)?;
        // Again, since the caller's mask took something away.
        let mode = Mode::from_raw_mode(mode);
        rustix::fs::chmodat(&self.scratch, &name, mode, rustix::fs::AtFlags::empty())?;
        let clone = clone_tree(&folder, false)?;
        set_attributes(clone.as_fd(), SAFE, false)?;
        Ok(clone)
    }

    fn next_name(&mut self) -> String {
        self.made += 1;
        self.made.to_string()
    }

    fn add_proc(&mut self) -> io::Result<OwnedFd> {
        let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(context.as_fd())?;
        let attributes = SAFE | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount =
            rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        attach(&mount, files::find_or_make(&self.root, Path::new("/proc"), true)?.as_fd())?;
        for name in PROC_SECRETS {
            self.add_hidden(&Path::new("/proc").join(name))?;
        }
        Ok(mount)
    }

    /// Devices are bound from the host: nobody can make them in a user namespace. Read-only mounts do not keep anybody from
    /// writing to a device, but from changing its mode.
    fn add_devices(&self) -> io::Result<()> {
        for name in DEVICES {
            let path = Path::new("/dev").join(name);
            let Some(place) = files::open_if_there(&path)? else { continue };
            let mode = rustix::fs::fstat(&place.fd)?.st_mode;
            if FileType::from_raw_mode(mode) != FileType::CharacterDevice {
                return Err(io::Error::other(format!("{} is not a device", path.display())));
            }
            let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
            self.add_clone(&path, &place, attributes)?;
        }
        for (name, target) in DEVICE_LINKS {
            self.add_link(&Path::new("/dev").join(name), Path::new(target))?;
        }
        Ok(())
    }

    /// Makes the new root the root, and lets go of the old one.
    fn enter(self) -> io::Result<OwnedFd> {
        rustix::process::fchdir(&self.root)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")?;
        rustix::mount::unmount(SCRATCH, UnmountFlags::DETACH)?;
        rustix::fs::rmdir(SCRATCH)?;
        Ok(self.root)
    }
}

/// A new file system in memory, attached nowhere.
fn memory_file_system(bytes: u64) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let inodes = (bytes / 4096).max(1024);
    for (key, value) in
        [("size", bytes.to_string()), ("nr_inodes", inodes.to_string()), ("mode", "755".to_owned())]
    {
        rustix::mount::fsconfig_set_string(context.as_fd(), key, value)?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, SAFE)?)
}

/// A copy of a mount from some place on, attached nowhere.
fn clone_tree(place: &OwnedFd, recursive: bool) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(rustix::mount::open_tree(place, "", flags)?)
}

fn attach(mount: &OwnedFd, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount, "", target, "", flags)?)
}

fn set_attributes(
    mount: BorrowedFd<'_>,
    attributes: MountAttrFlags,
    recursive: bool,
) -> io::Result<()> {
    sys::set_mount_attributes(mount, c"", u64::from(attributes.bits()), recursive)
}
