//! What must work inside.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::FromRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::raw::{exit, fork};

type Check = fn(&[String]) -> io::Result<()>;

const CHECKS: &[(&str, Check)] = &[
    ("threads", |_| {
        let threads: Vec<_> = (0..8).map(|number| std::thread::spawn(move || number)).collect();
        let sum: i32 = threads.into_iter().filter_map(|thread| thread.join().ok()).sum();
        expect(sum == 28, "every thread runs")
    }),
    ("fork", |_| match fork()? {
        None => exit(0),
        Some(child) => {
            let mut status = 0;
            // SAFETY: the status outlives the call.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            expect(status == 0, "the child ends well")
        }
    }),
    ("socket_pair", |_| {
        let (mut one, mut other) = UnixStream::pair()?;
        one.write_all(b"x")?;
        other.read_exact(&mut [0; 1])
    }),
    ("loopback", |_| {
        let server = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(server.local_addr()?)?;
        let (mut accepted, _) = server.accept()?;
        client.write_all(b"x")?;
        accepted.read_exact(&mut [0; 1])
    }),
    ("temporary_files", |_| {
        for folder in ["/tmp", "/var/tmp", "/run", "/dev/shm", "/home", "/root"] {
            let path = Path::new(folder).join("file");
            fs::write(&path, "x")?;
            fs::rename(&path, Path::new(folder).join("other"))?;
        }
        expect(fs::read_dir("/tmp")?.count() == 1, "nothing else is in /tmp")
    }),
    ("own_processes", |_| {
        let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
        let mut ids: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        expect(ids == [1, 2], &format!("processes are {ids:?}"))
    }),
    ("devices", |_| {
        fs::write("/dev/null", "x")?;
        fs::File::open("/dev/urandom")?.read_exact(&mut [0; 4])?;
        fs::File::open("/dev/zero")?.read_exact(&mut [0; 4])?;
        let mut names: Vec<_> =
            fs::read_dir("/dev")?.flatten().map(|entry| entry.file_name()).collect();
        names.sort_unstable();
        let expected =
            ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"];
        expect(names == expected, &format!("/dev holds {names:?}"))
    }),
    ("session", |_| {
        let own = rustix::process::getpid();
        expect(rustix::process::getsid(None)? == own, "it leads its session")?;
        let mask = rustix::process::umask(rustix::fs::Mode::empty());
        expect(mask.as_raw_mode() == 0o077, "the mask is 077")
    }),
    // An exchange over the inherited socket: one line in, the same line out.
    ("rpc", |_| {
        let number = std::env::var("RPC_SOCKET_FD").map_err(io::Error::other)?;
        let number: i32 = number.parse().map_err(io::Error::other)?;
        // SAFETY: the variable names an inherited descriptor that nobody else uses.
        let socket = unsafe { UnixStream::from_raw_fd(number) };
        let mut line = String::new();
        BufReader::new(&socket).read_line(&mut line)?;
        (&socket).write_all(line.to_uppercase().as_bytes())
    }),
    // Only the standard streams and, where it is named, the RPC socket are open.
    ("descriptors", |words| {
        let names = fs::read_dir("/proc/self/fd")?.flatten().map(|entry| entry.file_name());
        let mut open: Vec<i32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        open.sort_unstable();
        // The last one reads the folder.
        open.pop();
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        expect(open == words, &format!("open are {open:?}"))
    }),
];

pub(crate) fn run(name: &str, words: &[String]) -> io::Result<()> {
    match CHECKS.iter().find(|(known, _)| *known == name) {
        Some((_, check)) => check(words),
        None => Err(io::Error::other("unknown check")),
    }
}

fn expect(condition: bool, what: &str) -> io::Result<()> {
    if condition { Ok(()) } else { Err(io::Error::other(what.to_owned())) }
}
