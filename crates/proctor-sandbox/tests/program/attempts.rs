//! Attempts to reach what is outside. Each returns `Ok` if it got there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::facts::{Facts, SECRET};
use crate::raw::{address, call, check, exit, fork, text};

type Attempt = fn(&Facts) -> io::Result<()>;

const ATTEMPTS: &[(&str, Attempt)] = &[
    ("write", |facts| overwrite(&facts.project("victim.txt"))),
    ("write_unseen", |facts| overwrite(&facts.hidden("victim.txt"))),
    ("append", |facts| append(&facts.project("victim.txt"))),
    ("create", |facts| fs::write(facts.project("new.txt"), "new")),
    ("delete", |facts| fs::remove_file(facts.project("victim.txt"))),
    ("delete_folder", |facts| fs::remove_dir(facts.project("folder"))),
    ("rename", |facts| fs::rename(facts.project("victim.txt"), facts.project("other.txt"))),
    ("rename_into_copy", |facts| fs::rename(facts.project("victim.txt"), facts.copy("moved.txt"))),
    ("rename_out_of_copy", |facts| {
        fs::write(facts.copy("a.txt"), "a")?;
        fs::rename(facts.copy("a.txt"), facts.project("a.txt"))
    }),
    ("truncate", |facts| {
        let path = text(facts.project("victim.txt"));
        call(libc::SYS_truncate, [address(path.as_c_str()), 0]).map(drop)
    }),
    ("chmod", |facts| {
        fs::set_permissions(facts.project("victim.txt"), fs::Permissions::from_mode(0o640))
    }),
    ("chmod_by_descriptor", |facts| {
        File::open(facts.project("victim.txt"))?.set_permissions(fs::Permissions::from_mode(0o640))
    }),
    ("chown", |facts| {
        let path = facts.project("victim.txt");
        let owner = fs::metadata(&path)?;
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid()))
    }),
    ("set_time", |facts| {
        let file = File::open(facts.project("victim.txt"))?;
        file.set_modified(std::time::UNIX_EPOCH)
    }),
    ("set_attribute", |facts| {
        let (path, name, value) = (text(facts.project("victim.txt")), c"user.mark", b"x");
        let words = [address(path.as_c_str()), address(name), address(value), 1, 0];
        call(libc::SYS_setxattr, words).map(drop)
    }),
    ("set_flags", |facts| {
        const GET_FLAGS: libc::Ioctl = 0x8008_6601;
        const SET_FLAGS: libc::Ioctl = 0x4008_6602;
        const NO_DUMP: libc::c_long = 0x40;
        let file = File::open(facts.project("victim.txt"))?;
        let mut flags: libc::c_long = 0;
        // SAFETY: the flags outlive both calls.
        unsafe {
            check(libc::ioctl(file.as_raw_fd(), GET_FLAGS, &raw mut flags).into())?;
            flags |= NO_DUMP;
            check(libc::ioctl(file.as_raw_fd(), SET_FLAGS, &raw const flags).into()).map(drop)
        }
    }),
    ("symlink", |facts| symlink("/", facts.project("link"))),
    ("hard_link", |facts| fs::hard_link(facts.project("victim.txt"), facts.project("hard"))),
    ("hard_link_into_copy", |facts| {
        fs::hard_link(facts.project("victim.txt"), facts.copy("hard"))?;
        append(&facts.copy("hard"))
    }),
    ("make_folder", |facts| fs::create_dir(facts.project("new"))),
    ("make_fifo", |facts| {
        let path = text(facts.project("fifo"));
        let here = libc::AT_FDCWD as usize;
        let mode = (libc::S_IFIFO | 0o600) as usize;
        call(libc::SYS_mknodat, [here, address(path.as_c_str()), mode, 0]).map(drop)
    }),
    ("write_through_own_root", |facts| {
        overwrite(&below("/proc/self/root", &facts.hidden("victim.txt")))
    }),
    // Outside, the victim's root is the host's; inside, process 1 is what comes nearest.
    ("write_through_other_root", |facts| {
        let target = facts.hidden("victim.txt");
        overwrite(&below(&format!("/proc/{}/root", facts.victim), &target))
            .or_else(|_| overwrite(&below("/proc/1/root", &target)))
    }),
    ("write_through_own_folder", |facts| {
        overwrite(&Path::new("/proc/self/cwd/../hidden").join("victim.txt"))
            .or_else(|_| overwrite(&below("/proc/thread-self/root", &facts.hidden("victim.txt"))))
    }),
    ("inherited_folder", |_| {
        let words = [9, address(c"victim.txt"), libc::O_WRONLY as usize, 0];
        let opened = call(libc::SYS_openat, words)?;
        // SAFETY: the descriptor was just opened.
        unsafe { File::from_raw_fd(i32::try_from(opened).unwrap_or(-1)) }.write_all(b"changed")
    }),
    ("inherited_file", |_| call(libc::SYS_write, [8, address(b"changed"), 7]).map(drop)),
    ("reopened_input", |_| overwrite(Path::new("/proc/self/fd/0"))),
    ("symlink_in_copy", |facts| {
        symlink(facts.hidden("victim.txt"), facts.copy("link"))?;
        overwrite(&facts.copy("link"))
    }),
    ("symlink_race", symlink_race),
    ("terminal_input", |_| {
        let byte = b'x';
        // SAFETY: the byte outlives the call.
        check(unsafe { libc::ioctl(0, libc::TIOCSTI, &raw const byte) }.into()).map(drop)
    }),
    ("open_terminal", |_| OpenOptions::new().write(true).open("/dev/tty")?.write_all(b"x")),
    ("path_socket", |facts| UnixStream::connect(facts.project("stream.sock"))?.write_all(b"x")),
    ("datagram_socket", |facts| {
        UnixDatagram::unbound()?.send_to(b"x", facts.project("datagram.sock")).map(drop)
    }),
    ("datagram_pair", |facts| {
        let (one, _other) = UnixDatagram::pair()?;
        one.connect(facts.project("datagram.sock"))?;
        one.send(b"x").map(drop)
    }),
    ("abstract_socket", |facts| {
        let name = SocketAddr::from_abstract_name(&facts.abstract_name)?;
        UnixStream::connect_addr(&name)?.write_all(b"x")
    }),
    ("tcp", |facts| TcpStream::connect(("127.0.0.1", facts.tcp))?.write_all(b"x")),
    ("udp", |facts| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(("127.0.0.1", facts.udp))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.send(b"x")?;
        socket.recv(&mut [0; 8]).map(drop)
    }),
    ("packet_socket", |_| {
        call(libc::SYS_socket, [libc::AF_PACKET as usize, libc::SOCK_RAW as usize, 0]).map(drop)
    }),
    ("audit_socket", |_| {
        call(libc::SYS_socket, [libc::AF_NETLINK as usize, libc::SOCK_RAW as usize, 9]).map(drop)
    }),
    ("vsock_socket", |_| {
        call(libc::SYS_socket, [libc::AF_VSOCK as usize, libc::SOCK_STREAM as usize, 0]).map(drop)
    }),
    ("trace", |facts| {
        let victim = facts.victim as usize;
        call(libc::SYS_ptrace, [libc::PTRACE_ATTACH as usize, victim, 0, 0])?;
        std::thread::sleep(Duration::from_millis(20));
        call(libc::SYS_ptrace, [libc::PTRACE_DETACH as usize, victim, 0, 0]).map(drop)
    }),
    ("signal", |facts| {
        call(libc::SYS_kill, [facts.victim as usize, libc::SIGUSR1 as usize]).map(drop)
    }),
    ("signal_all", |facts| {
        // Everything that may be signalled, but harmlessly; then the victim, which must have been among it.
        call(libc::SYS_kill, [-1_isize as usize, libc::SIGWINCH as usize])?;
        call(libc::SYS_kill, [facts.victim as usize, 0]).map(drop)
    }),
    ("see_process", |facts| fs::metadata(format!("/proc/{}", facts.victim)).map(drop)),
    ("read_environment", |facts| {
        finds_secret(&fs::read(format!("/proc/{}/environ", facts.victim))?)
    }),
    ("read_all_environments", |_| {
        let found = fs::read_dir("/proc")?.flatten().any(|entry| {
            fs::read(entry.path().join("environ")).is_ok_and(|bytes| finds_secret(&bytes).is_ok())
        });
        if found { Ok(()) } else { Err(io::Error::other("no environment holds it")) }
    }),
    ("open_memory", |facts| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{}/mem", facts.victim))
            .map(drop)
    }),
    ("read_memory", read_memory),
    ("take_descriptor", |facts| {
        let process = call(libc::SYS_pidfd_open, [facts.victim as usize, 0])? as usize;
        call(libc::SYS_pidfd_getfd, [process, 0, 0]).map(drop)
    }),
    ("change_limits", |facts| {
        let mut limit = [0_u64; 2];
        call(
            libc::SYS_prlimit64,
            [facts.victim as usize, libc::RLIMIT_CORE as usize, 0, &raw mut limit as usize],
        )
        .map(drop)
    }),
    ("shared_memory", |facts| {
        let segment = call(libc::SYS_shmget, [facts.key as usize, 0, 0])?;
        let at = call(libc::SYS_shmat, [segment as usize, 0, libc::SHM_RDONLY as usize])?;
        // SAFETY: the host made the segment larger than this.
        finds_secret(unsafe { std::slice::from_raw_parts(at as *const u8, SECRET.len()) })
    }),
    ("posix_memory", |facts| finds_secret(&fs::read(Path::new("/dev/shm").join(&facts.shared))?)),
    ("make_posix_memory", |facts| {
        fs::write(Path::new("/dev/shm").join(format!("{}-new", facts.shared)), "x")
            .and_then(|()| posix_memory_of_host(facts))
    }),
    ("message_queue", |facts| {
        let name = text(&facts.shared);
        call(libc::SYS_mq_open, [address(name.as_c_str()), libc::O_RDWR as usize, 0, 0]).map(drop)
    }),
    ("fork_bomb", |_| fork_bomb()),
    ("fill_file", |facts| fill(&facts.copy("big"), 20 << 20)),
    ("fill_temporary", |_| {
        let path =
            std::path::PathBuf::from(format!("/tmp/proctor-test-fill-{}", std::process::id()));
        fs::create_dir(&path)?;
        let filled = (0..10).try_for_each(|number| fill(&path.join(number.to_string()), 4 << 20));
        fs::remove_dir_all(&path)?;
        filled
    }),
    ("many_files", |facts| {
        (0..3000).try_for_each(|number| fs::write(facts.copy(&format!("file-{number}")), "x"))
    }),
    ("many_bytes", |facts| {
        (0..20).try_for_each(|number| fill(&facts.copy(&number.to_string()), 4 << 20))
    }),
    // Only the descriptors know of them.
    ("removed_files", |facts| {
        let mut open = Vec::new();
        for _ in 0..20 {
            let path = facts.copy("removed");
            let mut file = fs::File::create(&path)?;
            fs::remove_file(&path)?;
            file.write_all(&vec![1; 4 << 20])?;
            open.push(file);
        }
        std::thread::sleep(Duration::from_secs(3));
        Ok(())
    }),
    ("deep_folders", |facts| {
        std::env::set_current_dir(facts.copy(""))?;
        (0..400).try_for_each(|_| {
            fs::create_dir("d")?;
            std::env::set_current_dir("d")
        })
    }),
    ("memory", |_| {
        let size = 1_usize << 30;
        let words = [
            0,
            size,
            libc::PROT_READ as usize,
            (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize,
            usize::MAX,
            0,
        ];
        call(libc::SYS_mmap, words).map(drop)
    }),
    ("open_files", |_| {
        let files: io::Result<Vec<File>> = (0..500).map(|_| File::open("/dev/null")).collect();
        files.map(drop)
    }),
    ("processor_time", |_| {
        // By its own clock: on a busy machine a second of it takes longer.
        let used = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec;
        while used() < 3 {
            std::hint::spin_loop();
        }
        Ok(())
    }),
    ("raise_limit", |_| {
        let limit = [4096_u64, 4096];
        call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, address(&limit), 0]).map(drop)
    }),
    ("daemon", daemon),
    ("read_key", |facts| fs::read(facts.base.join("home/.ssh/id_ed25519")).map(drop)),
    ("read_hidden_file", |facts| finds_secret(&fs::read(facts.project(".env"))?)),
    ("read_hidden_folder", |facts| finds_secret(&fs::read(facts.project("private/key"))?)),
    ("list_unseen", |facts| fs::read_dir(facts.base.join("hidden")).map(drop)),
    ("read_shadow", |_| {
        fs::read("/etc/shadow").and_then(|bytes| {
            if bytes.is_empty() { Err(io::Error::other("empty")) } else { Ok(()) }
        })
    }),
    ("mount", |facts| {
        let path = text(facts.copy("."));
        let words = [address(c"none"), address(path.as_c_str()), address(c"tmpfs"), 0, 0];
        call(libc::SYS_mount, words)?;
        call(libc::SYS_umount2, [address(path.as_c_str()), libc::MNT_DETACH as usize]).map(drop)
    }),
    ("remount_writable", |facts| {
        let path = text(facts.base.join("project"));
        let flags = (libc::MS_BIND | libc::MS_REMOUNT) as usize;
        call(libc::SYS_mount, [address(c"none"), address(path.as_c_str()), 0, flags, 0]).map(drop)
    }),
    ("new_mount_interface", |_| call(libc::SYS_fsopen, [address(c"tmpfs"), 0]).map(drop)),
    ("unshare", |_| call(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize]).map(drop)),
    ("clone", |_| {
        match call(libc::SYS_clone, [(libc::CLONE_NEWUSER | libc::SIGCHLD) as usize, 0, 0, 0, 0])? {
            0 => exit(0),
            _ => Ok(()),
        }
    }),
    ("clone3", |_| {
        let words: [u64; 8] = [libc::CLONE_NEWUSER as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
        match call(libc::SYS_clone3, [address(&words), size_of_val(&words)])? {
            0 => exit(0),
            _ => Ok(()),
        }
    }),
    ("join_namespace", |facts| {
        let of_victim = format!("/proc/{}/ns/mnt", facts.victim);
        let file = File::open(of_victim).or_else(|_| File::open("/proc/1/ns/mnt"))?;
        call(libc::SYS_setns, [file.as_raw_fd() as usize, libc::CLONE_NEWNS as usize]).map(drop)
    }),
    ("chroot", |facts| {
        let path = text(facts.copy("."));
        call(libc::SYS_chroot, [address(path.as_c_str())]).map(drop)
    }),
    ("make_device", |facts| {
        let path = text(facts.copy("disk"));
        let words = [
            libc::AT_FDCWD as usize,
            address(path.as_c_str()),
            (libc::S_IFCHR | 0o600) as usize,
            0x103,
        ];
        call(libc::SYS_mknodat, words)?;
        File::open(facts.copy("disk")).map(drop)
    }),
    ("open_device", |_| File::open("/dev/kmsg").map(drop)),
    ("set_user_id_program", |facts| {
        let output = Command::new(facts.project("as_root")).arg("-u").output()?;
        if output.stdout == b"0\n" { Ok(()) } else { Err(io::Error::other("not root")) }
    }),
    ("make_set_user_id", |facts| {
        fs::write(facts.copy("program"), "x")?;
        fs::set_permissions(facts.copy("program"), fs::Permissions::from_mode(0o4755))
    }),
    ("create_set_user_id", |facts| {
        let path = text(facts.copy("program2"));
        let words = [
            libc::AT_FDCWD as usize,
            address(path.as_c_str()),
            (libc::O_CREAT | libc::O_WRONLY) as usize,
            0o4755,
        ];
        call(libc::SYS_openat, words).map(drop)
    }),
    ("keyring", |_| {
        let words =
            [address(c"user"), address(c"proctor-test"), address(b"x"), 1, -2_isize as usize];
        call(libc::SYS_add_key, words).map(drop)
    }),
    ("open_by_handle", open_by_handle),
    ("kernel_setting", |_| {
        OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern").map(drop)
    }),
    ("kernel_request", |_| OpenOptions::new().write(true).open("/proc/sysrq-trigger").map(drop)),
    ("system_setting", |_| {
        OpenOptions::new().write(true).open("/sys/devices/system/cpu/uevent").map(drop)
    }),
    ("host_name", |_| {
        let name = rustix::system::uname();
        let bytes = name.nodename().to_bytes();
        call(libc::SYS_sethostname, [address(bytes), bytes.len()]).map(drop)
    }),
    ("personality", |_| call(libc::SYS_personality, [0x0004_0000]).map(drop)),
    ("ring", |_| {
        let parameters = [0_u8; 120];
        call(libc::SYS_io_uring_setup, [1, address(&parameters)]).map(drop)
    }),
    ("bpf", |_| {
        // A map of one entry.
        let attributes: [u32; 18] = [2, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        call(libc::SYS_bpf, [0, address(&attributes), size_of_val(&attributes)]).map(drop)
    }),
    ("page_faults", |_| call(libc::SYS_userfaultfd, [1]).map(drop)),
    ("capabilities", |_| {
        let status = fs::read_to_string("/proc/self/status")?;
        let is_root = rustix::process::getuid().is_root();
        // What others could at most have is of no use to them: they can run no program that gives it.
        let sets = status
            .lines()
            .filter(|line| line.starts_with("Cap") && (is_root || !line.starts_with("CapBnd")));
        let held = |line: &str| line.split_whitespace().nth(1) != Some("0000000000000000");
        if sets.into_iter().any(held) {
            Ok(())
        } else {
            Err(io::Error::other("every set is empty"))
        }
    }),
    ("foreign_call", |_| call(libc::SYS_getpid | 0x4000_0000, []).map(drop)),
];

pub(crate) fn run(name: &str, facts: &Facts) -> io::Result<()> {
    match ATTEMPTS.iter().find(|(known, _)| *known == name) {
        Some((_, attempt)) => attempt(facts),
        // Not 1: an unknown attempt must not look like one that failed.
        None => exit(99),
    }
}

fn below(root: &str, path: &Path) -> std::path::PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

fn overwrite(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(b"changed")
}

fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"changed")
}

fn finds_secret(bytes: &[u8]) -> io::Result<()> {
    let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    if found { Ok(()) } else { Err(io::Error::other("the secret is not there")) }
}

/// Whether the name that was just made is the host's: only there stands the other one beside it.
fn posix_memory_of_host(facts: &Facts) -> io::Result<()> {
    fs::metadata(Path::new("/dev/shm").join(&facts.shared)).map(drop)
}

/// Swaps a folder of the copy for a link to the hidden folder while writing through its name.
fn symlink_race(facts: &Facts) -> io::Result<()> {
    let (name, aside) = (facts.copy("swap"), facts.copy("aside"));
    fs::create_dir(&name)?;
    symlink(facts.base.join("hidden"), &aside)?;
    let swapper = std::thread::spawn({
        let (name, aside) = (text(&name), text(&aside));
        move || {
            for _ in 0..20_000 {
                let here = libc::AT_FDCWD as usize;
                let exchange = libc::RENAME_EXCHANGE as usize;
                let words =
                    [here, address(name.as_c_str()), here, address(aside.as_c_str()), exchange];
                let _ = call(libc::SYS_renameat2, words);
            }
        }
    });
    let mut reached = Err(io::Error::other("never got through"));
    while reached.is_err() && !swapper.is_finished() {
        reached = overwrite(&name.join("victim.txt"));
    }
    let _ = swapper.join();
    reached
}

fn read_memory(facts: &Facts) -> io::Result<()> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", facts.victim))?;
    let first = maps.split('-').next().unwrap_or_default();
    let start = usize::from_str_radix(first, 16).map_err(io::Error::other)?;
    let mut buffer = [0_u8; 16];
    let local = [&raw mut buffer as usize, buffer.len()];
    let remote = [start, buffer.len()];
    let words = [facts.victim as usize, address(&local), 1, address(&remote), 1, 0];
    call(libc::SYS_process_vm_readv, words).map(drop)
}

fn fill(path: &Path, bytes: usize) -> io::Result<()> {
    // Without a handler the signal would end the process, which is an end too, but a silent one.
    // SAFETY: ignoring a signal involves no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    File::create(path)?.write_all(&vec![1; bytes])
}

fn fork_bomb() -> io::Result<()> {
    let mut children = Vec::new();
    let mut outcome = Ok(());
    while children.len() < 600 {
        match fork() {
            Ok(None) => {
                std::thread::sleep(Duration::from_secs(20));
                exit(0);
            }
            Ok(Some(child)) => children.push(child),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    for child in children {
        let _ = call(libc::SYS_kill, [child as usize, libc::SIGKILL as usize]);
        // SAFETY: no status is asked for.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    outcome
}

/// A process of its own session that writes after the program has ended.
fn daemon(facts: &Facts) -> io::Result<()> {
    if fork()?.is_some() {
        return Ok(());
    }
    let _ = rustix::process::setsid();
    if fork()?.is_some() {
        exit(0);
    }
    for number in 0..3 {
        let _ = call(libc::SYS_close, [number]);
    }
    std::thread::sleep(Duration::from_millis(500));
    let _ = fs::write(facts.copy("daemon.txt"), "still here");
    exit(0)
}

fn open_by_handle(facts: &Facts) -> io::Result<()> {
    let path = text(facts.project("victim.txt"));
    let mut handle = [0_u32; 34];
    handle[0] = 128;
    let mut mount = 0_i32;
    let here = libc::AT_FDCWD as usize;
    let words =
        [here, address(path.as_c_str()), &raw mut handle as usize, &raw mut mount as usize, 0];
    call(libc::SYS_name_to_handle_at, words)?;
    let folder = File::open(facts.base.join("project"))?;
    let words = [folder.as_raw_fd() as usize, address(&handle), libc::O_RDONLY as usize];
    let opened = call(libc::SYS_open_by_handle_at, words)?;
    // SAFETY: the descriptor was just opened.
    let mut file = unsafe { File::from_raw_fd(i32::try_from(opened).unwrap_or(-1)) };
    file.read(&mut [0; 8]).map(drop)
}
