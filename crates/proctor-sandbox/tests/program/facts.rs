//! What an attempt is told about the host.

use std::io;
use std::path::PathBuf;

pub(crate) struct Facts {
    /// Holds `project` (shown read-only), `copy` (writable), `hidden` and `home` (not shown).
    pub(crate) base: PathBuf,
    /// A process of the host that runs as the same user and holds a secret.
    pub(crate) victim: i32,
    pub(crate) tcp: u16,
    pub(crate) udp: u16,
    /// The name of an abstract socket, a System V key, and the name of shared memory and of a message queue.
    pub(crate) abstract_name: String,
    pub(crate) key: i32,
    pub(crate) shared: String,
}

/// What the victim's environment and memory hold.
pub(crate) const SECRET: &str = "victim-secret-5e1f";

impl Facts {
    pub(crate) fn read(words: &[String]) -> io::Result<Self> {
        let [base, victim, tcp, udp, abstract_name, key, shared] = words else {
            return Err(io::Error::other("seven facts are needed"));
        };
        let bad = |_| io::Error::other("a fact is not a number");
        Ok(Self {
            base: base.into(),
            victim: victim.parse().map_err(bad)?,
            tcp: tcp.parse().map_err(bad)?,
            udp: udp.parse().map_err(bad)?,
            abstract_name: abstract_name.clone(),
            key: key.parse().map_err(bad)?,
            shared: shared.clone(),
        })
    }

    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.base.join("project").join(name)
    }

    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        self.base.join("copy").join(name)
    }

    pub(crate) fn hidden(&self, name: &str) -> PathBuf {
        self.base.join("hidden").join(name)
    }
}
