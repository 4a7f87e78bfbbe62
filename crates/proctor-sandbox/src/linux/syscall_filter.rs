//! The filter for system calls: what is refused with "not permitted", and when.
//!
//! A list of what is refused rather than of what is allowed: programs of every language run here, and the namespaces and Landlock
//! have the say over files, processes and network. Refused is what reaches around them, and what programs hardly use and kernels
//! were often attacked through.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Compare,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::error::{LaunchError, Step as _};
use crate::confinement::{Confinement, Network};
use crate::layer::Layer;

/// Conditions on arguments that must hold together.
type Conditions = Vec<(u8, Width, Compare, u64)>;
/// For each call the sets of conditions of which one must hold; none means always.
type Rules = BTreeMap<c_long, Vec<Conditions>>;

/// Always refused.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Keyrings, which no namespace separates by session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    // Files by handle reach around folders and mounts.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Interfaces that kernels are attacked through, or that run work past this filter.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
];

/// Always refused; this architecture alone has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[KEXEC_FILE_LOAD];

/// Changes to files that Landlock does not know: refused where no mount namespace makes the rest read-only.
const FILE_ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];
#[cfg(target_arch = "x86_64")]
const FILE_ATTRIBUTES_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const FILE_ATTRIBUTES_HERE: &[c_long] = &[];

/// System V memory and message queues: refused where no IPC namespace separates them.
const IPC: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Changes to how other processes are scheduled: refused where no PID namespace hides them.
const SCHEDULING: &[c_long] = &[
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_process_mrelease,
];

// Calls that the libc crate does not name on every platform; numbers from 424 on are the same on all.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: c_long = 294;

/// Requests to a terminal: typing into it, pasting, taking it over, changing its discipline.
const TERMINAL_REQUESTS: [u64; 4] = [libc::TIOCSTI, 0x541C, libc::TIOCSCTTY, 0x5423];
/// Requests that change the attributes of a file: `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`, and `FS_IOC32_SETFLAGS`.
const ATTRIBUTE_REQUESTS: [u64; 3] = [0x4008_6602, 0x401C_5820, 0x4004_6602];
/// Kinds of namespaces in the flags of `clone`.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// The bits of a socket's type without its flags.
const SOCKET_TYPE: u64 = 0xF;

pub(super) fn apply(confinement: &Confinement) -> Result<(), LaunchError> {
    let install = || -> io::Result<()> {
        let refused = program(&rules(confinement), libc::EPERM)?;
        let absent = program(&absent_calls(), libc::ENOSYS)?;
        for filter in [refused, absent, foreign_calls()] {
            apply_filter(&filter).map_err(io::Error::other)?;
        }
        Ok(())
    };
    install().layer(Layer::SystemCallFilter, "install it")
}

/// Calls whose arguments a filter cannot see: said to be missing, so that libraries use the older ones.
fn absent_calls() -> Rules {
    [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new())).into()
}

fn rules(confinement: &Confinement) -> Rules {
    let mut rules = Rules::new();
    rules.extend(set_id_rules());
    let mut requests = TERMINAL_REQUESTS.to_vec();
    if !confinement.has(Layer::MountNamespace) {
        requests.extend(ATTRIBUTE_REQUESTS);
    }
    // After the rules with conditions: where a call is refused altogether, that counts.
    let always = refused_calls(confinement).into_iter().flatten();
    rules.extend(always.map(|call| (*call, Vec::new())));
    let is = |argument, value| (argument, Width::Dword, Compare::Eq, value);
    let is_not = |argument, value| (argument, Width::Dword, Compare::Ne, value);
    let ioctl = requests.into_iter().map(|request| vec![is(1, request)]).collect();
    rules.insert(libc::SYS_ioctl, ioctl);
    let clone = NAMESPACE_FLAGS.map(|flag| vec![has_bits(0, u64::from(flag.cast_unsigned()))]);
    rules.insert(libc::SYS_clone, clone.to_vec());
    // Asking for the current one stays possible.
    let personality = vec![is_not(0, 0), is_not(0, 0xFFFF_FFFF)];
    rules.insert(libc::SYS_personality, vec![personality]);
    if !confinement.has(Layer::PidNamespace) {
        rules.insert(libc::SYS_prlimit64, vec![vec![is_not(0, 0)]]);
    }
    rules.extend(socket_rules(confinement));
    rules
}

/// Files that run as somebody else would work outside as well: none may be made.
fn set_id_rules() -> Rules {
    let bits = [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)];
    let with_mode = |argument: u8| bits.map(|bit| vec![has_bits(argument, bit)]).to_vec();
    let created = |flags: u8, mode: u8| {
        let create = u64::from(libc::O_CREAT.cast_unsigned());
        // The bit that tells an unnamed temporary file from a folder.
        let temporary = u64::from((libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned());
        let pairs = [create, temporary].into_iter().flat_map(|flag| bits.map(|bit| (flag, bit)));
        pairs.map(|(flag, bit)| vec![has_bits(flags, flag), has_bits(mode, bit)]).collect()
    };
    let rules = [
        (libc::SYS_fchmod, with_mode(1)),
        (libc::SYS_fchmodat, with_mode(2)),
        (FCHMODAT2, with_mode(2)),
        (libc::SYS_mknodat, with_mode(2)),
        (libc::SYS_openat, created(2, 3)),
    ];
    #[cfg(target_arch = "x86_64")]
    let here = [
        (libc::SYS_chmod, with_mode(1)),
        (libc::SYS_mknod, with_mode(1)),
        (libc::SYS_creat, with_mode(1)),
        (libc::SYS_open, created(1, 2)),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let here = [];
    rules.into_iter().chain(here).collect()
}

/// The lists of calls that are refused whatever their arguments.
fn refused_calls(confinement: &Confinement) -> Vec<&'static [c_long]> {
    let mut lists = vec![REFUSED, REFUSED_HERE];
    if !confinement.has(Layer::IpcNamespace) {
        lists.push(IPC);
    }
    if !confinement.has(Layer::PidNamespace) {
        lists.push(SCHEDULING);
    }
    if !confinement.has(Layer::MountNamespace) {
        lists.extend([FILE_ATTRIBUTES, FILE_ATTRIBUTES_HERE]);
    }
    lists
}

/// Internet sockets, route information, and connected pairs; unix sockets only where they are allowed, since a path leads to
/// sockets of the host even on read-only mounts.
fn socket_rules(confinement: &Confinement) -> Rules {
    let compare =
        |argument, how, value: i32| (argument, Width::Dword, how, u64::from(value.cast_unsigned()));
    let host = confinement.network == Network::Host;
    let unix = confinement.may_use_unix_sockets();
    let mut families = vec![libc::AF_NETLINK];
    if unix {
        families.push(libc::AF_UNIX);
    }
    if host || confinement.has(Layer::NetworkNamespace) {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let other_family = families.into_iter().map(|family| compare(0, Compare::Ne, family)).collect();
    let other_netlink = vec![
        compare(0, Compare::Eq, libc::AF_NETLINK),
        compare(2, Compare::Ne, libc::NETLINK_ROUTE),
    ];
    let mut rules = Rules::from([(libc::SYS_socket, vec![other_family, other_netlink])]);
    if !unix {
        // A pair of datagram sockets can be connected anew, to a path.
        let connected =
            [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.cast_unsigned()));
        let others = (0..=SOCKET_TYPE).filter(|kind| !connected.contains(kind));
        let mut pairs: Vec<Conditions> = others
            .map(|kind| vec![(1, Width::Dword, Compare::MaskedEq(SOCKET_TYPE), kind)])
            .collect();
        pairs.push(vec![compare(0, Compare::Ne, libc::AF_UNIX)]);
        rules.insert(libc::SYS_socketpair, pairs);
    }
    rules
}

fn has_bits(argument: u8, bits: u64) -> (u8, Width, Compare, u64) {
    (argument, Width::Dword, Compare::MaskedEq(bits), bits)
}

fn program(rules: &Rules, errno: i32) -> io::Result<BpfProgram> {
    let mut compiled = BTreeMap::new();
    for (call, alternatives) in rules {
        let alternatives = alternatives.iter().map(|conditions| {
            let conditions = conditions.iter().cloned();
            let conditions = conditions
                .map(|(argument, width, how, value)| {
                    SeccompCondition::new(argument, width, how, value)
                })
                .collect::<Result<_, _>>()?;
            SeccompRule::new(conditions)
        });
        let alternatives = alternatives.collect::<Result<_, _>>().map_err(io::Error::other)?;
        compiled.insert(*call, alternatives);
    }
    let architecture: TargetArch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(compiled, SeccompAction::Allow, refuse, architecture);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// Refuses the numbers of the x32 interface, which is another name for the calls of `x86_64`. (A process that makes calls of
/// another architecture is killed: the programs above say so.)
fn foreign_calls() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const REFUSE: u32 = 0x0005_0000 | libc::ENOSYS.cast_unsigned();
    const ALLOW: u32 = 0x7FFF_0000;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        step(LOAD_NUMBER, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        step(RETURN, 0, ALLOW),
        step(RETURN, 0, REFUSE),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_compiles_within_the_limit_of_the_kernel() {
        for network in [Network::None, Network::Host] {
            for layers in [Layer::ALL.to_vec(), vec![Layer::SystemCallFilter]] {
                let confinement = Confinement::new().network(network).layers(layers);
                let compiled = program(&rules(&confinement), libc::EPERM).unwrap();
                assert!(compiled.len() < 4096, "{}", compiled.len());
            }
        }
    }

    #[test]
    fn fewer_layers_refuse_more_calls() {
        let all = rules(&Confinement::new());
        let alone = rules(&Confinement::new().layers([Layer::SystemCallFilter]));
        for call in [libc::SYS_fchown, libc::SYS_shmget, libc::SYS_utimensat, libc::SYS_prlimit64] {
            assert!(!all.contains_key(&call) && alone.contains_key(&call), "{call}");
        }
        assert!(all.keys().all(|call| alone.contains_key(call)));
        assert!(alone[&libc::SYS_fchmod].is_empty(), "refused with every mode");
    }
}
