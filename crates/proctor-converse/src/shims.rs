//! The programs that serve agents in Python and JavaScript: embedded here, unpacked when they are needed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proctor_dialogue::{AgentFields, Sandbox};
use proctor_files::EmbeddedFiles;
use proctor_llm::request_hash;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../shims/", $name)))),*] };
}

const SHIMS: EmbeddedFiles = EmbeddedFiles {
    files: embedded![
        "python/serve.py",
        "python/proctor_agent/__init__.py",
        "python/proctor_agent/answer.py",
        "python/proctor_agent/calls.py",
        "python/proctor_agent/channel.py",
        "python/proctor_agent/conversation.py",
        "python/proctor_agent/frameworks.py",
        "python/proctor_agent/langchain_agents.py",
        "python/proctor_agent/output.py",
        "python/proctor_agent/plain.py",
        "python/proctor_agent/server.py",
        "python/proctor_agent/target.py",
        "python/proctor_agent/traces.py",
        "node/serve.mjs",
        "node/answer.mjs",
        "node/calls.mjs",
        "node/frameworks.mjs",
        "node/openai_agents.mjs",
        "node/output.mjs",
        "node/plain.mjs",
        "node/project_modules.mjs",
        "node/target.mjs",
        "node/traces.mjs",
    ],
    is_program: |_| false,
};

/// Changes with the contents, so that two versions of this program do not disturb each other.
static NAME: LazyLock<String> = LazyLock::new(|| {
    let files: Vec<(&str, &str)> = SHIMS.files.to_vec();
    format!("agents-{}", &request_hash(&serde_json::json!(files))[..16])
});

/// Unpacks the programs below `cache` unless they are there; returns their folder.
pub(crate) fn unpack(cache: &Path) -> io::Result<PathBuf> {
    SHIMS.unpack(cache, &NAME)
}

/// The sandbox of an agent, in which the programs here can be read if the agent needs them.
pub(crate) fn readable(sandbox: &Sandbox, fields: &AgentFields, cache: &Path) -> Sandbox {
    let mut sandbox = sandbox.clone();
    if let Sandbox::On(confined) = &mut sandbox
        && fields.command.is_none()
    {
        confined.read.push(cache.join(&*NAME).to_string_lossy().into_owned());
    }
    sandbox
}
