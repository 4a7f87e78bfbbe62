//! A detached tmux with a socket of its own: a terminal that can be read.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// One session with one window. Dropping it ends its server.
pub(crate) struct Session {
    socket: String,
    /// Keeps the server's socket away from those of others.
    folder: tempfile::TempDir,
}

impl Session {
    /// Runs a command in a shell that tells how it ended and then waits for a line. `None` without tmux.
    pub(crate) fn start(command: &str) -> Option<Self> {
        Command::new("tmux").arg("-V").output().ok()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let session = Self {
            socket: format!("proctor-tui-{}-{number}", std::process::id()),
            folder: tempfile::tempdir().unwrap(),
        };
        let shell = format!("{command}; echo \"ended with $?\"; stty -a; read line");
        let size = ["-x", "100", "-y", "30"];
        let mut start = session.tmux();
        start.args(["-f", "/dev/null", "new-session", "-d", "-s", "demo"]).args(size);
        run(start.args(["sh", "-c", &shell]));
        Some(session)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]);
        command.env("TMUX_TMPDIR", self.folder.path()).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command
    }

    fn screen(&self) -> String {
        let output = run(self.tmux().args(["capture-pane", "-p", "-t", "demo"]));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys, by tmux's names.
    pub(crate) fn press(&self, keys: &[&str]) {
        run(self.tmux().args(["send-keys", "-t", "demo"]).args(keys));
    }

    pub(crate) fn type_text(&self, text: &str) {
        run(self.tmux().args(["send-keys", "-t", "demo", "-l", text]));
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        run(self.tmux().args(["resize-window", "-t", "demo", "-x", &width, "-y", &height]));
    }

    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Reads the screen until it is as it should be, or fails with what it is.
    pub(crate) fn wait_until(&self, what: &str, is: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is(&screen) {
                return;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what:?} on:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn is_full_screen(&self) -> bool {
        let format = "#{alternate_on}";
        let output = run(self.tmux().args(["display-message", "-p", "-t", "demo", format]));
        output.stdout.starts_with(b"1")
    }

    /// The shell's own screen is back, the terminal speaks in lines again, and the session ends.
    pub(crate) fn expect_restored_and_end(&self) {
        assert!(!self.is_full_screen());
        self.wait_until("a terminal in its usual mode", |screen| {
            let words: Vec<&str> = screen.split([' ', '\n', ';']).collect();
            ["icanon", "echo", "isig"].iter().all(|word| words.contains(word))
        });
        self.press(&["Enter"]);
        let deadline = Instant::now() + PATIENCE;
        while self.tmux().args(["has-session", "-t", "demo"]).output().unwrap().status.success() {
            assert!(Instant::now() < deadline, "the session did not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Its own server, by its own socket; it has ended by itself if all went well.
        let _ = self.tmux().arg("kill-server").output();
    }
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {problem}");
    output
}
