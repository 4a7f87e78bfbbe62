//! A project to call tools in.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use proctor_journal::Moment;
use proctor_mcp::{CallContext, Engine, JournalSetup, Setup, ToolError, Tools};
use proctor_process::GuardCommand;
use proctor_workspace::{Config, Limits, Program, Sandbox};
use serde_json::Value;

pub(crate) struct TestProject {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tools: Tools,
}

impl TestProject {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::new(Engine::new(setup(folder.path())), None);
        Self { folder, tools }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.tools.call(name, arguments, CallContext::for_model()).await
    }
}

fn setup(root: &Path) -> Setup {
    static NONCE: AtomicU64 = AtomicU64::new(1);
    let program = root.join("no-such-program");
    Setup {
        root: root.to_owned(),
        program: program.clone(),
        ruby: "ruby".into(),
        new_run_id: Box::new(|| format!("run-{}", NONCE.fetch_add(1, Ordering::SeqCst))),
        redactor: proctor_redact::Redactor::default(),
        journal: JournalSetup {
            dir: Ok(root.join("journal")),
            lane: None,
            filter: None,
            host_session: None,
        },
        workspaces: Config {
            state: root.join("state"),
            temp: root.join("temp"),
            guard: GuardCommand::new(program.clone(), ["guard"]),
            mock: Program::new(program, ["mock"]),
            sandbox: Sandbox::default(),
            detached: None,
            ralph: None,
            path: std::ffi::OsString::new(),
            inheritable: std::collections::BTreeMap::new(),
            limits: Limits::default(),
            redactor: proctor_redact::Redactor::default(),
        },
        launcher: None,
        moment: Box::new(|| {
            let nonce = NONCE.fetch_add(1, Ordering::SeqCst);
            Moment::new("2026-01-22T10:30:00Z".parse().unwrap(), nonce << 32 | nonce)
        }),
    }
}
