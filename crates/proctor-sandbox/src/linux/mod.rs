//! The launcher on Linux: one thread, from the arguments to the program.
//!
//! With a PID namespace there are three processes. The **launcher** itself makes the namespaces, forwards signals and ends the
//! way the program ends. The **init** is process 1 inside: it builds the root, gives up every right, and reaps. The **program**
//! is its child, in a session of its own. When the launcher dies, init is killed; when init ends, the kernel kills the rest.
//! Without a PID namespace the launcher becomes the program.
//!
//! Every layer is applied before the program exists, or nothing is run.

mod descriptors;
mod disk_watch;
mod error;
mod files;
mod held_files;
mod init;
mod landlock_rules;
mod left_behind;
mod limits;
mod mounts;
mod namespaces;
mod privileges;
mod probe;
mod signals;
mod sys;
mod syscall_filter;
mod view;

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::confinement::Confinement;
use crate::launcher::{self, PROBE, RUN};
use crate::layer::Layer;
use crate::{ERROR_PREFIX, NOT_CONFINED, PROGRAM_NOT_FOUND};
use disk_watch::DiskWatch;
use error::{LaunchError, Step as _};
use held_files::HeldFiles;

/// Names the descriptor of the RPC socket, which stays open (`proctor-process` sets it).
const RPC_VARIABLE: &str = "RPC_SOCKET_FD";

/// What runs when everything is applied.
enum Program {
    /// A command line.
    Command(Vec<CString>),
    /// Nothing: the layers are being tried.
    Nothing,
}

/// A launch: what to apply and what to run then.
struct Launch {
    confinement: Confinement,
    program: Program,
    /// The working folder, which must be visible inside.
    folder: PathBuf,
    /// The inherited RPC socket.
    rpc: Option<i32>,
    /// Where errors go while layers are tried; standard error otherwise.
    refusals: Option<OwnedFd>,
    held: HeldFiles,
}

/// The launcher's whole life. Call it from a binary, in a process with one thread, before anything is opened, with the arguments
/// that follow those of the [`crate::Launcher`], and exit with its result. `variable` looks up an environment variable.
pub fn launcher_main(
    arguments: impl IntoIterator<Item = OsString>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let outcome = match arguments.split_first() {
        Some((mode, [])) if mode == PROBE => return probe::print(),
        Some((mode, [user])) if mode == PROBE => match privileges::become_user(user) {
            Ok(()) => return probe::print(),
            Err(error) => Err(error),
        },
        Some((mode, rest)) if mode == RUN => run(rest, variable(RPC_VARIABLE).as_deref()),
        _ => Err(LaunchError::Arguments("the arguments are not those of a launcher".to_owned())),
    };
    match outcome {
        Ok(never) => match never {},
        Err(error) => ExitCode::from(report(&error, None)),
    }
}

/// Ends in the program, or in an error.
fn run(
    arguments: &[OsString],
    rpc: Option<&OsStr>,
) -> Result<std::convert::Infallible, LaunchError> {
    let (confinement, argv) = launcher::unwrap(arguments).map_err(LaunchError::Arguments)?;
    let rpc = rpc.and_then(|number| number.to_str()?.parse().ok());
    let rpc = rpc.filter(|number| descriptors::is_inherited_socket(*number));
    descriptors::close_all_but(rpc)?;
    descriptors::refuse_folders()?;
    let folder = rustix::process::getcwd(Vec::new()).step("find the working folder")?;
    let folder = PathBuf::from(OsString::from_vec(folder.into_bytes()));
    let argv = argv.iter().map(|word| CString::new(word.as_bytes()));
    let argv = argv
        .collect::<Result<_, _>>()
        .map_err(|_| LaunchError::Arguments("an argument contains a zero byte".to_owned()))?;
    let program = Program::Command(argv);
    let held = HeldFiles::open(&confinement)?;
    let launch = Launch { confinement, program, folder, rpc, refusals: None, held };
    start(&launch).inspect_err(|error| launch.held.report_error(error))
}

/// Applies what happens outside of the new process ids, then goes on inside.
fn start(launch: &Launch) -> Result<std::convert::Infallible, LaunchError> {
    let confinement = &launch.confinement;
    let processes = limits::process_limit(confinement)?;
    let disk = DiskWatch::open(confinement)?;
    namespaces::enter(confinement)?;
    if confinement.has(Layer::PidNamespace) {
        init::run(launch, processes, disk)
    } else {
        launch.held.keep_in_program()?;
        descriptors::leave_terminal()?;
        close_in(launch, processes)?;
        become_program(launch, processes)
    }
}

/// Applies everything that has to be applied from inside of the namespaces.
fn close_in(launch: &Launch, processes: limits::ProcessLimit) -> Result<(), LaunchError> {
    let confinement = &launch.confinement;
    let view = view::View::of(confinement);
    if confinement.has(Layer::NetworkNamespace) {
        namespaces::raise_loopback()?;
    }
    if confinement.has(Layer::UtsNamespace) {
        // A name that resolves everywhere.
        let named = rustix::system::sethostname(b"localhost");
        named.layer(Layer::UtsNamespace, "set the host name")?;
    }
    if confinement.has(Layer::MountNamespace) {
        let root = mounts::build(confinement, &view)?;
        limits::apply_to_namespace(processes)?;
        root.seal()?;
    }
    privileges::give_up()?;
    if confinement.has(Layer::Landlock) {
        landlock_rules::apply(confinement, &view)?;
    }
    if confinement.has(Layer::SystemCallFilter) {
        syscall_filter::apply(confinement)?;
    }
    Ok(())
}

/// The last steps: from here on only the program follows.
fn become_program(
    launch: &Launch,
    processes: limits::ProcessLimit,
) -> Result<std::convert::Infallible, LaunchError> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    limits::apply(&launch.confinement, processes)?;
    let Program::Command(argv) = &launch.program else { sys::exit_at_once(0) };
    rustix::process::chdir(&launch.folder).step(format_args!(
        "enter {}, which the confinement does not show",
        launch.folder.display()
    ))?;
    signals::restore()?;
    let source = sys::execute(argv);
    let program = argv[0].to_string_lossy().into_owned();
    Err(LaunchError::Program { program, source })
}

/// One line on standard error, or the error as JSON for whoever tries layers; and the exit code.
fn report(error: &LaunchError, launch: Option<&Launch>) -> u8 {
    let refusals = launch.and_then(|launch| launch.refusals.as_ref());
    if let Some(launch) = launch {
        launch.held.report_error(error);
    }
    let line = format!("{ERROR_PREFIX}{error}\n");
    // The reader may be gone; the exit code says it too.
    let _ = refusals.map_or_else(
        || rustix::io::write(rustix::stdio::stderr(), line.as_bytes()),
        |pipe| rustix::io::write(pipe, &probe::refusal(error)),
    );
    match error {
        LaunchError::Program { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PROGRAM_NOT_FOUND
        }
        _ => NOT_CONFINED,
    }
}
