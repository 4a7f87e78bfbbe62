//! The binary from outside: what is typed, what is printed, how it exits.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent_docs;
mod agents;
mod agreement;
mod architecture;
mod audited;
mod compare;
mod cover;
mod embedded;
mod env;
mod examples;
mod generated;
mod journal;
mod journal_hook;
mod journal_run;
mod loading;
mod mcp_http;
mod mcp_untrusted;
mod mcp_wire;
#[cfg(feature = "otlp")]
mod otlp;
mod past;
mod plain_recordings;
mod recorded;
mod recordings;
mod rspec_talks;
mod run_attempts;
mod run_coverage;
mod run_equality;
mod run_faults;
mod run_lost;
mod run_names;
mod run_outputs;
mod run_selection;
mod run_stop;
mod run_suites;
mod run_unchecked;
mod run_words;
mod runs;
mod runs_stop;
mod serve;
mod suite_capabilities;
mod surfaces;
mod talks;
mod wire;
mod workspaces;
