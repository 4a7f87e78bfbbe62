//! The layers of a confinement: their names, and what is lost without each.

use serde::{Deserialize, Serialize};

/// One mechanism of the kernel that a confinement is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The namespace that gives the launcher the right to make the others. All other namespaces need it.
    UserNamespace,
    /// An own root folder, made of the listed folders only. Needs [`Layer::PidNamespace`] for its `/proc`.
    MountNamespace,
    /// Own process ids, with an init that ends everything. Needs [`Layer::MountNamespace`] for its `/proc`.
    PidNamespace,
    /// Own System V memory and POSIX message queues.
    IpcNamespace,
    /// An own host name.
    UtsNamespace,
    /// An own root of control groups.
    CgroupNamespace,
    /// An own network with a loopback. Not applied with [`crate::Network::Host`].
    NetworkNamespace,
    /// Rules for files, signals and sockets that the process cannot lift.
    Landlock,
    /// A filter for system calls.
    SystemCallFilter,
    /// Memory, file size, open files, processor time.
    Limits,
    /// The number of processes.
    ProcessLimit,
    /// How much the writable folders grow, watched by the launcher. Needs [`Layer::PidNamespace`], which ends everything at once.
    DiskLimit,
}

impl Layer {
    /// Every layer, in the order in which they are reported.
    pub const ALL: [Self; 12] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PidNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::CgroupNamespace,
        Self::NetworkNamespace,
        Self::Landlock,
        Self::SystemCallFilter,
        Self::Limits,
        Self::ProcessLimit,
        Self::DiskLimit,
    ];

    /// The layer's name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user namespace",
            Self::MountNamespace => "mount namespace",
            Self::PidNamespace => "PID namespace",
            Self::IpcNamespace => "IPC namespace",
            Self::UtsNamespace => "UTS namespace",
            Self::CgroupNamespace => "cgroup namespace",
            Self::NetworkNamespace => "network namespace",
            Self::Landlock => "Landlock",
            Self::SystemCallFilter => "system call filter",
            Self::Limits => "resource limits",
            Self::ProcessLimit => "process limit",
            Self::DiskLimit => "disk limit",
        }
    }

    /// What a confined program can do, or cannot do any more, without this layer.
    #[must_use]
    pub fn without_it(self) -> &'static str {
        match self {
            Self::UserNamespace => "no namespace can be made",
            Self::MountNamespace => {
                "files are kept by Landlock alone: there is no private /tmp, names of hidden files can be guessed, \
                 and no mode, owner or time of a file can be changed, not even in the writable folder"
            }
            Self::PidNamespace => {
                "processes of the host are visible, and a program that detaches itself is ended by the guard only"
            }
            Self::IpcNamespace => "System V memory and message queues are refused altogether",
            Self::UtsNamespace => "the name of the host is visible",
            Self::CgroupNamespace => "the host's control groups are visible",
            Self::NetworkNamespace => "no network socket can be made, not even for an own server",
            Self::Landlock => {
                "files are kept by mounts alone: one that is handed in as standard input can be opened anew for writing"
            }
            Self::SystemCallFilter => {
                "rarely used kernel interfaces, terminals and unix sockets of the host are within reach"
            }
            Self::Limits => "memory, file size, open files and processor time are not limited",
            Self::ProcessLimit => "the number of processes is not limited",
            Self::DiskLimit => {
                "many files in the writable folders can fill the disk: only the size of each one is limited"
            }
        }
    }

    /// The layers that make no sense without this one.
    #[must_use]
    pub fn needed_by(self) -> &'static [Self] {
        match self {
            Self::UserNamespace => &[
                Self::MountNamespace,
                Self::PidNamespace,
                Self::IpcNamespace,
                Self::UtsNamespace,
                Self::CgroupNamespace,
                Self::NetworkNamespace,
                Self::DiskLimit,
            ],
            Self::MountNamespace => &[Self::PidNamespace, Self::DiskLimit],
            Self::PidNamespace => &[Self::MountNamespace, Self::DiskLimit],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layers_are_listed_once_and_in_order() {
        let mut sorted = Layer::ALL.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted, Layer::ALL);
    }
}
