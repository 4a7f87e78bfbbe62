//! A host to be attacked: files, sockets, shared memory and a process with a secret, and what an attack has left of them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Files that are there before an attack.
const FILES: [&str; 6] = ["kept", "doomed", "moved", "cut", "mode", "time"];

/// A place of the host that can be attacked.
pub(crate) struct Host {
    pub(crate) folder: tempfile::TempDir,
    victim: Child,
    mark: String,
    port: u16,
    heard: Arc<Mutex<BTreeSet<String>>>,
}

impl Host {
    /// A host whose files and processes belong to a user.
    pub(crate) fn new(user: u32) -> Self {
        let folder =
            tempfile::Builder::new().prefix("proctor-escape-").tempdir_in("/var/tmp").unwrap();
        for name in FILES {
            std::fs::write(folder.path().join(name), "content").unwrap();
        }
        std::fs::set_permissions(folder.path().join("mode"), PermissionsExt::from_mode(0o600))
            .unwrap();
        std::fs::write(folder.path().join("secret"), "marker-secret").unwrap();
        let mark =
            format!("proctor-escape-{}", folder.path().file_name().unwrap().to_string_lossy());
        let mut victim = Command::new("sleep");
        victim.arg("300").env("SECRET", "marker-environment").stdin(Stdio::null());
        let victim = as_user(&mut victim, user).spawn().unwrap();
        let heard = Arc::new(Mutex::new(BTreeSet::new()));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let name = SocketAddr::from_abstract_name(&mark).unwrap();
        listen(Arc::clone(&heard), move || Some(tcp.accept().ok()?.0));
        let unix = UnixListener::bind(folder.path().join("socket")).unwrap();
        listen(Arc::clone(&heard), move || Some(unix.accept().ok()?.0));
        let unnamed = UnixListener::bind_addr(&name).unwrap();
        listen(Arc::clone(&heard), move || Some(unnamed.accept().ok()?.0));
        let shared = Path::new("/dev/shm").join(&mark);
        std::fs::write(&shared, "marker-shared").unwrap();
        give(folder.path(), user);
        give(&shared, user);
        Self { folder, victim, mark, port, heard }
    }

    /// A program with the places of this host: `@OUT@`, `@PORT@`, `@PID@` and `@ABSTRACT@`.
    pub(crate) fn fill(&self, program: &str) -> String {
        program
            .replace("@OUT@", &self.folder.path().to_string_lossy())
            .replace("@PORT@", &self.port.to_string())
            .replace("@PID@", &self.victim.id().to_string())
            .replace("@ABSTRACT@", &self.mark)
    }

    /// What the attack has left, by the names of the attempts.
    pub(crate) fn traces(&mut self) -> BTreeSet<String> {
        let mut found = self.heard_by_listeners();
        let out = self.folder.path();
        let exists = |name: &str| std::fs::symlink_metadata(out.join(name)).is_ok();
        // Whatever is new is named after the attempt that made it.
        for entry in std::fs::read_dir(out).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known =
                FILES.iter().chain(&["secret", "socket", "moved-away"]).any(|it| *it == name);
            if !known {
                found.insert(name.strip_prefix("seen-").unwrap_or(&name).to_owned());
            }
        }
        let mut note = |name: &str, happened: bool| {
            if happened {
                found.insert(name.to_owned());
            }
        };
        let base = out.file_name().unwrap().to_string_lossy();
        let tmp = format!("/tmp/{base}-tmp");
        note("tmp", Path::new(&tmp).exists());
        let _ = std::fs::remove_file(tmp);
        let shared = std::fs::read_to_string(Path::new("/dev/shm").join(&self.mark));
        note("shared_memory", shared.is_ok_and(|text| text != "marker-shared"));
        note("delete", !exists("doomed"));
        note("rename", !exists("moved"));
        note("truncate", std::fs::metadata(out.join("cut")).unwrap().len() == 0);
        let mode = std::fs::metadata(out.join("mode")).unwrap().permissions().mode();
        note("chmod", mode & 0o777 != 0o600);
        let time = std::fs::metadata(out.join("time")).unwrap().modified().unwrap();
        note(
            "utime",
            time < std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(1),
        );
        note("kill", self.victim.try_wait().unwrap().is_some());
        note("daemon", end_daemons(&self.mark) > 0);
        found
    }
}

impl Host {
    /// What the listeners were told. Clients are served in the order in which they connect, so everything is there once a client of
    /// our own has been served.
    fn heard_by_listeners(&self) -> BTreeSet<String> {
        let own = ["own tcp", "own unix", "own abstract"];
        let abstract_name = SocketAddr::from_abstract_name(&self.mark).unwrap();
        let mut tcp = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        tcp.write_all(own[0].as_bytes()).unwrap();
        let mut unix = UnixStream::connect(self.folder.path().join("socket")).unwrap();
        unix.write_all(own[1].as_bytes()).unwrap();
        let mut unnamed = UnixStream::connect_addr(&abstract_name).unwrap();
        unnamed.write_all(own[2].as_bytes()).unwrap();
        drop((tcp, unix, unnamed));
        let served = || own.iter().all(|word| self.heard.lock().unwrap().contains(*word));
        crate::env::wait_until("the listeners", served);
        let mut heard = self.heard.lock().unwrap().clone();
        heard.retain(|word| !own.contains(&word.as_str()));
        heard
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        end_daemons(&self.mark);
        let _ = std::fs::remove_file(Path::new("/dev/shm").join(&self.mark));
    }
}

/// The user that runs the tests.
pub(crate) fn own_user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The users to try as: root and an ordinary one, or only the one that runs the tests.
pub(crate) fn users() -> Vec<u32> {
    if own_user() == 0 { vec![0, 65534] } else { vec![own_user()] }
}

pub(crate) fn as_user(command: &mut Command, user: u32) -> &mut Command {
    if user == own_user() { command } else { command.uid(user).gid(user) }
}

/// Gives a file, or a folder with all it holds, to a user.
pub(crate) fn give(path: &Path, user: u32) {
    if user == own_user() {
        return;
    }
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            give(&entry.path(), user);
        }
    }
}

/// Notes the first line that each client sends. The thread ends with the test's process.
fn listen<S: std::io::Read + Send + 'static>(
    heard: Arc<Mutex<BTreeSet<String>>>,
    mut accept: impl FnMut() -> Option<S> + Send + 'static,
) {
    std::thread::spawn(move || {
        while let Some(mut client) = accept() {
            let mut text = String::new();
            let _ = client.read_to_string(&mut text);
            heard.lock().unwrap().insert(text.trim().to_owned());
        }
    });
}

/// Ends the processes that the attack has left and counts them.
fn end_daemons(mark: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let mut variables = Vec::new();
        let read = std::fs::File::open(entry.path().join("environ"));
        let _ = read.and_then(|mut file| file.read_to_end(&mut variables));
        let wanted = format!("LC_MARK={mark}");
        if variables.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
            found += 1;
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    found
}

pub(crate) fn names(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(str::to_owned).collect()
}
