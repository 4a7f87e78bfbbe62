//! A host process of its own, to be killed by the tests.

use crate::LIFE;
use proctor_process::{
    ChildEnvironment, Guard, GuardCommand, ManagedProcess, ProcessSpec, RpcMode,
};

pub(crate) fn run(token: &str, guard: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let program = std::env::current_exe().unwrap();
        let argv = [program.into_os_string(), "tree".into(), token.into()];
        let guard = Guard::Program(GuardCommand::new(guard, Vec::<String>::new()));
        let process =
            ManagedProcess::spawn(ProcessSpec::new(argv, ChildEnvironment::inherited(), guard))
                .await
                .unwrap();
        process.stdout().lines().next().await.unwrap();
        println!("host ready");
        tokio::time::sleep(LIFE).await;
    });
}

/// Starts and ends children many times; prints descriptors and children before and after.
pub(crate) fn cycles(guard: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        cycle(guard, 0).await;
        let before = descriptors();
        for number in 0..50 {
            cycle(guard, number).await;
        }
        // Tasks that still hold a descriptor get their turn; none of them waits for anything.
        for _ in 0..1000 {
            if descriptors() <= before {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        println!("{before} {} {}", descriptors(), children());
    });
}

async fn cycle(guard: &str, number: u32) {
    let program = std::env::current_exe().unwrap().into_os_string();
    let guard = match number % 4 {
        3 => Guard::None,
        _ => Guard::Program(GuardCommand::new(guard, Vec::<String>::new())),
    };
    let mode = [RpcMode::Stdio, RpcMode::Socket, RpcMode::None][(number % 3) as usize];
    let spec = ProcessSpec::new(
        [program, "serve".into(), "1".into()],
        ChildEnvironment::inherited(),
        guard,
    )
    .rpc(mode);
    let process = ManagedProcess::spawn(spec).await.unwrap();
    if number.is_multiple_of(2) {
        process.stop(std::time::Duration::from_secs(10)).await.unwrap();
    } else {
        process.kill().await.unwrap();
    }
    let missing =
        ProcessSpec::new(["/no/such/program"], ChildEnvironment::inherited(), Guard::None);
    ManagedProcess::spawn(missing).await.unwrap_err();
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap());
    lists.map(|list| list.split_whitespace().count()).sum()
}
