//! The binary from outside: what is typed, what is printed, how it exits.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent_deaths;
mod agent_docs;
mod agent_languages;
mod agents;
mod agreement;
mod architecture;
mod audited;
mod bisect;
mod child_programs;
mod compare;
mod conversations;
mod cover;
mod cover_escapes;
mod databases;
mod embedded;
mod env;
mod errors;
mod escape_host;
mod examples;
mod generated;
mod history_without_disk;
mod hostile_files;
mod input_limits;
mod journal;
mod journal_hook;
mod journal_run;
mod loading;
mod machines;
mod masked_checks;
mod mcp_http;
mod mcp_untrusted;
mod mcp_wire;
mod mutate;
mod mutate_verdicts;
mod observers;
mod otlp;
mod past;
mod plain_recordings;
mod private_files;
mod recorded;
mod recordings;
mod rspec_conversations;
mod rspec_live_calls;
mod ruby_controller;
mod run_attempts;
mod run_coverage;
mod run_equality;
mod run_faults;
mod run_lost;
mod run_minitest;
mod run_names;
mod run_outputs;
mod run_repeat_auto;
mod run_rspec_letter;
mod run_selection;
mod run_stop;
mod run_suites;
mod run_unchecked;
mod run_words;
mod runs;
mod runs_stop;
mod sandboxed_agents;
mod sandboxed_programs;
mod screen_review;
mod screens;
mod secrets;
mod secrets_parties;
mod secrets_suite;
mod serve;
mod suite_capabilities;
mod surfaces;
mod tool_deaths;
mod wire;
mod workspace_escapes;
mod workspaces;

#[path = "../../../proctor-engine/tests/it/server.rs"]
mod nats_server;

#[path = "../../../proctor-tui/tests/it/tmux.rs"]
#[expect(dead_code, reason = "the tests of the screen itself press more keys")]
mod tmux;
