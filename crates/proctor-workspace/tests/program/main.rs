//! The program of the tests: guard, mock and launchers, detached runner, and a server that can be killed.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use proctor_process::GuardCommand;
use proctor_sandbox::Launcher;
use proctor_workspace::{CallContext, Config, Limits, Program, Sandbox, Tools, agent_tools};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|word| word.to_str()) {
        Some("guard") => proctor_process::guard::main(),
        Some("mock") => proctor_workspace::mock::main(arguments, &|name| std::env::var_os(name)),
        Some("sandbox") => {
            proctor_sandbox::launcher_main(arguments, &|name| std::env::var_os(name))
        }
        Some("calls") => calls(arguments),
        Some("detached") => detached(arguments),
        _ => ExitCode::from(2),
    }
}

fn tools(state: PathBuf, temp: PathBuf, ralph: Option<OsString>) -> Tools {
    let own = std::env::current_exe().unwrap_or_default();
    let own_ralph = ralph.clone().unwrap_or_default();
    let words = ["detached".as_ref(), state.as_os_str(), temp.as_os_str(), &own_ralph];
    let detached = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Tools::new(Config {
        guard: GuardCommand::new(own.clone(), ["guard"]),
        mock: Program::new(own.clone(), ["mock"]),
        sandbox: Sandbox::new(Some(Launcher::new(own.clone(), ["sandbox"]))),
        detached: Some(Program { path: own, args: detached }),
        ralph: ralph.map(PathBuf::from),
        path: std::env::var_os("PATH").unwrap_or_default(),
        inheritable: std::env::vars().collect(),
        limits: Limits::default(),
        redactor: proctor_redact::Redactor::default(),
        state,
        temp,
    })
}

fn runtime() -> tokio::runtime::Runtime {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}

/// `calls STATE TEMP RALPH FILE`: makes the calls of a JSON file (list of [name, parameters]), one answer per line.
fn calls(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut next = || arguments.next().unwrap_or_default();
    let tools = tools(next().into(), next().into(), Some(next()));
    let text = std::fs::read_to_string(PathBuf::from(next())).unwrap_or_default();
    let Ok(list) = serde_json::from_str::<Vec<(String, serde_json::Value)>>(&text) else {
        return ExitCode::from(2);
    };
    runtime().block_on(async {
        for (name, parameters) in list {
            let tool = agent_tools().into_iter().find(|tool| tool.name == name);
            let Some(tool) = tool else { return ExitCode::from(2) };
            let answer = tool.call(tools.clone(), parameters, CallContext::default()).await;
            let line = match answer {
                Ok(value) => serde_json::json!({"ok": value}),
                Err(error) => serde_json::json!({"error": error}),
            };
            let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
        }
        ExitCode::SUCCESS
    })
}

/// `detached STATE TEMP RALPH ORDER`: what a detached run is.
fn detached(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut next = || arguments.next().unwrap_or_default();
    let tools = tools(next().into(), next().into(), Some(next()));
    let order = PathBuf::from(next());
    match runtime().block_on(tools.execute_order(order)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
