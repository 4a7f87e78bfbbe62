//! What attempts run against: folders, sockets, shared memory and a process of the host, all owned by one user.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use proctor_sandbox::{Confinement, Launcher, Limits};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_proctor-test-sandbox");
pub(crate) const NOBODY: u32 = 65534;
const SECRET: &str = "victim-secret-5e1f";
/// No attempt takes that long; one that hangs is killed.
const TIME_LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn launcher() -> Launcher {
    Launcher::new(PROGRAM, ["launch"])
}

pub(crate) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// The users to try with: root and another one, or only the one that runs the tests.
pub(crate) fn users() -> Vec<u32> {
    let own = rustix::process::getuid().as_raw();
    if is_root() {
        return vec![own, NOBODY];
    }
    let _ = writeln!(
        io::stderr(),
        "NOT ROOT: tried as user {own} only, not as root and as another user"
    );
    vec![own]
}

pub(crate) struct Stage {
    pub(crate) base: PathBuf,
    pub(crate) user: u32,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    abstract_socket: UnixListener,
    abstract_name: String,
    key: i32,
    segment: i32,
    shared: String,
    _folder: tempfile::TempDir,
}

/// Descriptors that a child inherits, with the numbers they get.
pub(crate) type Inherited = Vec<(OwnedFd, i32)>;

impl Stage {
    pub(crate) fn new(user: u32) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let base = folder.path().canonicalize()?;
        for (name, text) in [
            ("project/victim.txt", "as it was"),
            ("project/.env", SECRET),
            ("project/private/key", SECRET),
            ("project/folder/", ""),
            ("copy/", ""),
            ("hidden/victim.txt", "as it was"),
            ("home/.ssh/id_ed25519", SECRET),
        ] {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap())?;
            if name.ends_with('/') {
                fs::create_dir_all(path)?;
            } else {
                fs::write(path, text)?;
            }
        }
        let unique = format!("proctor-test-{}-{number}", std::process::id());
        let shared = Path::new("/dev/shm").join(&unique);
        fs::write(&shared, SECRET)?;
        let key = 0x4000_0000 | (std::process::id() & 0x3FFF) << 12 | number & 0xFFF;
        let key = i32::try_from(key).unwrap();
        let stream = UnixListener::bind(base.join("project/stream.sock"))?;
        let datagram = UnixDatagram::bind(base.join("project/datagram.sock"))?;
        let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&unique)?)?;
        give(&base, user)?;
        give(&shared, user)?;
        if is_root() && user != 0 {
            let program = base.join("project/as_root");
            fs::copy("/usr/bin/id", &program)?;
            fs::set_permissions(&program, Permissions::from_mode(0o4755))?;
        }
        for socket in [stream.as_raw_fd(), datagram.as_raw_fd(), abstract_socket.as_raw_fd()] {
            set_nonblocking(socket);
        }
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        udp.set_nonblocking(true)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        tcp.set_nonblocking(true)?;
        let mut victim = Command::new("sleep");
        victim.arg("120").env("SECRET", SECRET).stdin(Stdio::null());
        let victim = as_user(&mut victim, user).spawn()?;
        make_queue(&unique, user);
        Ok(Self {
            segment: make_segment(key, user),
            base,
            user,
            victim,
            tcp,
            udp,
            stream,
            datagram,
            abstract_socket,
            abstract_name: unique.clone(),
            key,
            shared: unique,
            _folder: folder,
        })
    }

    pub(crate) fn facts(&self) -> Vec<String> {
        vec![
            self.base.to_str().unwrap().to_owned(),
            self.victim.id().to_string(),
            self.tcp.local_addr().unwrap().port().to_string(),
            self.udp.local_addr().unwrap().port().to_string(),
            self.abstract_name.clone(),
            self.key.to_string(),
            self.shared.clone(),
        ]
    }

    /// The project can be read but for two secrets, the copy can be changed, nothing else of the stage is there.
    pub(crate) fn confinement(&self) -> Confinement {
        let limits = Limits {
            address_space: Some(512 << 20),
            file_size: Some(8 << 20),
            open_files: Some(128),
            processes: Some(64),
            processor_seconds: Some(1),
            fresh_bytes: 16 << 20,
            written_bytes: Some(64 << 20),
            written_files: Some(2000),
        };
        Confinement::new()
            .readable(PROGRAM)
            .and_then(|confinement| confinement.readable(self.base.join("project")))
            .and_then(|confinement| confinement.writable(self.base.join("copy")))
            .and_then(|confinement| confinement.hidden(self.base.join("project/.env")))
            .and_then(|confinement| confinement.hidden(self.base.join("project/private")))
            .unwrap()
            .limits(limits)
    }

    /// Runs a command line in the copy, as the stage's user, and waits for its end.
    pub(crate) fn run(&self, argv: &[OsString], input: Stdio, inherited: Inherited) -> Output {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).current_dir(self.base.join("copy")).stdin(input);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        as_user(&mut command, self.user);
        inherit(&mut command, inherited);
        output_of(command)
    }

    /// Answers what arrived at a socket of the host; true if something did.
    fn was_reached(&self) -> bool {
        let mut byte = [0];
        let udp = self.udp.recv_from(&mut byte).is_ok();
        let datagram = self.datagram.recv(&mut byte).is_ok();
        let stream = self.stream.accept().is_ok() | self.abstract_socket.accept().is_ok();
        udp | datagram | stream | self.tcp.accept().is_ok()
    }

    /// Everything outside of the copy that an attempt could have changed.
    pub(crate) fn trace(&mut self) -> String {
        let mut lines = Vec::new();
        for name in ["project", "hidden", "home"] {
            describe(&self.base.join(name), &mut lines);
        }
        let memory = fs::read_dir("/dev/shm").unwrap().flatten().map(|entry| entry.file_name());
        let memory = memory.filter(|name| name.to_string_lossy().starts_with(&self.shared));
        lines.push(format!("shared memory {}", memory.count()));
        lines.push(format!("reached {}", self.was_reached()));
        lines.push(format!("victim lives {}", self.victim.try_wait().unwrap().is_none()));
        lines.push(format!("daemon {}", self.base.join("copy/daemon.txt").exists()));
        lines.join("\n")
    }

    /// Answers a datagram, so that the sender knows that it arrived.
    pub(crate) fn answer_datagrams(&self) -> std::thread::JoinHandle<()> {
        let udp = self.udp.try_clone().unwrap();
        std::thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(2);
            while Instant::now() < deadline {
                let mut byte = [0];
                if let Ok((_, sender)) = udp.peek_from(&mut byte) {
                    let _ = udp.send_to(b"y", sender);
                    return;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        for name in [self.shared.clone(), format!("{}-new", self.shared)] {
            let _ = fs::remove_file(Path::new("/dev/shm").join(name));
        }
        remove_segment(self.segment);
        remove_queue(&self.shared);
    }
}

/// Runs a command to its end, at most for the time limit.
pub(crate) fn output_of(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + TIME_LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("killed after {TIME_LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

pub(crate) fn as_user(command: &mut Command, user: u32) -> &mut Command {
    if is_root() && user != 0 { command.uid(user).gid(user) } else { command }
}

/// The mode, owner, times and contents of everything below a folder.
fn describe(path: &Path, lines: &mut Vec<String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let contents = if about.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    lines.push(format!(
        "{} {:o} {}:{} links {} changed {}.{} modified {} {:?}",
        path.display(),
        about.mode(),
        about.uid(),
        about.gid(),
        about.nlink(),
        about.ctime(),
        about.ctime_nsec(),
        about.mtime(),
        String::from_utf8_lossy(&contents[..contents.len().min(100)])
    ));
    if about.is_dir() {
        let mut entries: Vec<_> =
            fs::read_dir(path).unwrap().flatten().map(|it| it.path()).collect();
        entries.sort();
        for entry in entries {
            describe(&entry, lines);
        }
    }
}

fn give(path: &Path, user: u32) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    chown(path, Some(user), Some(user))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "descriptors are placed between fork and exec")]
fn inherit(command: &mut Command, inherited: Inherited) {
    if inherited.is_empty() {
        return;
    }
    // SAFETY: dup and dup2 are async-signal-safe, and the descriptors live as long as the closure.
    unsafe {
        command.pre_exec(move || {
            for (fd, number) in &inherited {
                // Twice, since a descriptor that has the number already would stay closed on exec.
                let copy = libc::dup(fd.as_raw_fd());
                if copy < 0 || libc::dup2(copy, *number) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// A new session for a command, with its standard input as the terminal.
#[expect(unsafe_code, reason = "a session is started between fork and exec")]
pub(crate) fn take_terminal(command: &mut Command) {
    // SAFETY: both calls are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Both ends of a new pseudo terminal.
#[expect(unsafe_code, reason = "openpty has no safe form")]
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    use std::os::fd::FromRawFd as _;
    use std::ptr::{null, null_mut};
    let (mut host, mut child) = (0, 0);
    // SAFETY: both numbers outlive the call, and the descriptors belong to nobody else.
    unsafe {
        assert_eq!(libc::openpty(&raw mut host, &raw mut child, null_mut(), null(), null()), 0);
        (OwnedFd::from_raw_fd(host), OwnedFd::from_raw_fd(child))
    }
}

#[expect(unsafe_code, reason = "System V memory has no safe form")]
fn make_segment(key: i32, user: u32) -> i32 {
    // SAFETY: the segment is one page, and what is copied is shorter; the structure is filled by the kernel before it is read.
    unsafe {
        let segment = libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600);
        assert!(segment >= 0, "{}", io::Error::last_os_error());
        let at = libc::shmat(segment, std::ptr::null(), 0);
        std::ptr::copy_nonoverlapping(SECRET.as_ptr(), at.cast(), SECRET.len());
        libc::shmdt(at);
        let mut about = std::mem::zeroed::<libc::shmid_ds>();
        libc::shmctl(segment, libc::IPC_STAT, &raw mut about);
        (about.shm_perm.uid, about.shm_perm.gid) = (user, user);
        libc::shmctl(segment, libc::IPC_SET, &raw mut about);
        segment
    }
}

#[expect(unsafe_code, reason = "System V memory has no safe form")]
fn remove_segment(segment: i32) {
    // SAFETY: no structure is needed to remove one.
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
}

#[expect(unsafe_code, reason = "message queues have no safe form")]
fn make_queue(name: &str, user: u32) {
    let name = std::ffi::CString::new(name).unwrap();
    let flags = libc::O_CREAT | libc::O_RDWR;
    // SAFETY: the name outlives the call; the descriptor is closed at once.
    unsafe {
        let queue = libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, 0o600, 0);
        let queue = i32::try_from(queue).unwrap();
        assert!(queue >= 0, "{}", io::Error::last_os_error());
        libc::fchown(queue, user, user);
        libc::close(queue);
    }
}

#[expect(unsafe_code, reason = "message queues have no safe form")]
fn remove_queue(name: &str) {
    let name = std::ffi::CString::new(name).unwrap();
    // SAFETY: the name outlives the call.
    unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
}

fn set_nonblocking(socket: i32) {
    #[expect(unsafe_code, reason = "three types of sockets, one call")]
    // SAFETY: the socket is open, and the call takes numbers.
    unsafe {
        libc::fcntl(socket, libc::F_SETFL, libc::O_NONBLOCK)
    };
}

pub(crate) fn open(path: &Path, write: bool) -> OwnedFd {
    File::options().read(!write).write(write).open(path).unwrap().into()
}
