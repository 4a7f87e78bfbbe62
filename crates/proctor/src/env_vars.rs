//! Every environment variable that Proctor reads or sets, in one list.
//!
//! `docs/environment.md` is made from it; a test compares them.

use std::ffi::OsString;

use proctor_process::ALLOWED_VARIABLES;

/// A variable that Proctor reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

impl Variable {
    /// Its value; unset and empty are the same.
    pub(crate) fn get(self) -> Option<String> {
        self.get_os().map(|value| value.to_string_lossy().into_owned())
    }

    pub(crate) fn get_os(self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }
}

macro_rules! variables {
    ($list:ident: $($constant:ident = $meaning:literal;)+) => {
        $(
            #[allow(dead_code, reason = "a variable that is only set, or only documented, is read by others")]
            pub(crate) const $constant: Variable =
                Variable { name: stringify!($constant), meaning: $meaning };
        )+
        pub(crate) const $list: &[Variable] = &[$($constant),+];
    };
}

variables! { READ:
    PROCTOR_EVENTS = "Where events go besides the recording: `DEST[,DEST…]`, each a path for JSON lines or `ws://localhost:PORT`. Adds to `--events`.";
    RSPEC_AGENTS_EVENTS = "The same under its older name; adds to `PROCTOR_EVENTS`.";
    PROCTOR_RUBY = "The Ruby to run suites with. Beats `tools.ruby` of proctor.toml.";
    PROCTOR_BUNDLER = "`0`: suites in Ruby are loaded without Bundler, Gemfile or not.";
    PROCTOR_AT_EXIT = "Where `at_exit` blocks of a suite in Ruby run: in the process that loads it (when not set), `all`: in workers too, `none`: nowhere.";
    PROCTOR_LEAKS = "Processes that an example in Ruby leaves behind are ended; `report`: only named, `off`: not looked for.";
    PROCTOR_RALPH = "The `ralph` to test. Beats `tools.ralph` of proctor.toml.";
    PROCTOR_WORKERS = "How many workers run at once, or `auto`. Beats `run.workers` of proctor.toml; beaten by `--workers`.";
    PROCTOR_ENGINE = "The NATS server that runs and machines meet at. Beaten by `--engine`.";
    PROCTOR_ENGINE_CREDENTIALS = "A file with the seed of an nkey or with credentials for it. Beaten by `--engine-credentials`.";
    PROCTOR_JOURNAL_DIR = "The journal's folder. Beats `journal.dir` of proctor.toml; beaten by `--dir`.";
    PROCTOR_LANE = "The lane of the journal. Beaten by `--lane`.";
    PROCTOR_RUN_LIST = "A file to which every run appends the path of its folder. `proctor journal run` sets it, to find the recordings of the runs that its command makes.";
    CLAUDE_CODE_SESSION_ID = "The session that a first journal entry belongs to when no session is open.";
    PROCTOR_TOKEN = "The token that `proctor serve` demands; random when it is not set. Needed to listen beyond this machine.";
    NO_COLOR = "When set, no colours. Beaten by `--color`.";
    HOME = "The home folder; it is never taken for a project's root.";
    XDG_CACHE_HOME = "The Ruby library and the programs that serve agents in Python and JavaScript are unpacked in `proctor` below it (else below `~/.cache`).";
    XDG_STATE_HOME = "Workspaces of the test tools are registered in `proctor` below it (else below `~/.local/state`).";
    TMPDIR = "Workspaces and sockets for workers are made below it (else below `/tmp`).";
    TERM = "`dumb` means that there is no screen to draw on.";
    GITHUB_ACTIONS = "Failures become annotations; so that tests cannot forge them, their lines are altered where they look like commands.";
    GITHUB_STEP_SUMMARY = "Where a job on GitHub shows its summary: `proctor run` appends the Markdown report there.";
    OTEL_EXPORTER_OTLP_HEADERS = "Headers for `--otlp`, as in `authorization=Bearer%20TOKEN,x-team=a`.";
    CI = "Lines instead of a screen; so do `CONTINUOUS_INTEGRATION` and `GITHUB_ACTIONS`. The variables of coding agents (`CLAUDECODE`, `CURSOR_AGENT`, `GEMINI_CLI`, …) make the output terse.";
    ANTHROPIC_API_KEY = "The key for models of Anthropic, unless a model names another variable by `key_env`. It is sent to Anthropic's own address only, and written nowhere.";
    OPENAI_API_KEY = "The same for models of OpenAI. Models with a `url` of their own get a key only by `key_env`.";
    PATH = "Where `ruby`, `git` and `ralph` are looked for.";
}

variables! { SET:
    RPC_SOCKET_FD = "The descriptor of the worker's socket (see the protocol page); `proctor host` reads it too.";
    RPC_SOCKET_PATH = "The path of the socket that a forked worker connects to.";
    RPC_TOKEN = "What it must present there.";
    WORKER_INDEX = "The worker's number, from 0.";
    PROCTOR_WORKER = "The worker's number, from 0, as in events and messages.";
    PROCTOR_GENERATION = "How many processes have had this number, this one included.";
    TEST_ENV_NUMBER = "Empty for the first worker, then `2`, `3`, …: what database configurations expect.";
}

/// What the page says about the environment of children.
const PASSED_ON: &str = "Agents (and servers that Proctor starts for them), tool servers, commands of tools and models, checks, \
    and the Ruby that `proctor cover` observes get only the variables below. Of these, a variable that is named like a secret (`…_TOKEN`, `…_API_KEY`, \
    `DATABASE_URL`, …) or whose value is an address with a password in it is held back. Names with `*` stand for all that begin so, \
    without those that contain `AUTH`, `KEY`, `PASSWORD`, `SECRET`, `TOKEN` or the like.\n\n\
    What else a program needs is named beside its command, `env: { OPENAI_API_KEY: \"${env:OPENAI_API_KEY}\" }`, or for all programs of conversations in \
    `proctor.toml`: `[conversations]`, `pass_env = [\"OPENAI_API_KEY\"]`. Orchestrators get `PATH` and what their `env` names (see the page about workspaces).\n\n\
    **RSpec, Minitest and command suites keep the whole environment**: they are your own test processes, and behave as if they had been started \
    without Proctor.";

/// The table of variables that are passed on.
fn allowed() -> String {
    let rows = ALLOWED_VARIABLES.iter().map(|group| {
        let names: Vec<String> = group.names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {} | {} |\n", group.about, names.join(", "))
    });
    format!("| about | variables |\n|---|---|\n{}", rows.collect::<String>())
}

/// The page that documents the list.
pub(crate) fn page() -> String {
    let table = |variables: &[Variable]| {
        let rows: String =
            variables.iter().map(|v| format!("| `{}` | {} |\n", v.name, v.meaning)).collect();
        format!("| variable | meaning |\n|---|---|\n{rows}")
    };
    format!(
        "# Environment variables\n\n\
         Flags beat the environment, the environment beats `proctor.toml`. An empty variable counts as not set.\n\
         This page is made from `crates/proctor/src/env_vars.rs`; `./check` compares them.\n\n\
         ## Read by proctor\n\n{}\n## Set for workers\n\n{}\n## Passed on to what is under test\n\n{PASSED_ON}\n\n{}",
        table(READ),
        table(SET),
        allowed(),
    )
}
