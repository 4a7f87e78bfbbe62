//! The configuration snippets of `docs/agents.md`: each is read as its client reads it, started, and spoken to.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::env::{TestEnv, repository};
use crate::wire::{HANDSHAKE, Served, Wire, hello, message, messages};

/// A fenced block: the client of the heading above it, its language, its text.
struct Snippet {
    client: String,
    language: String,
    text: String,
}

fn snippets() -> Vec<Snippet> {
    let page = std::fs::read_to_string(repository().join("docs/agents.md")).unwrap();
    let part = page.split("\n## ").find(|part| part.starts_with("Connecting a client")).unwrap();
    let (mut all, mut client, mut open) = (Vec::new(), String::new(), None::<Snippet>);
    for line in part.lines() {
        match (line.strip_prefix("### "), line.strip_prefix("```"), open.take()) {
            (Some(heading), _, None) => heading.clone_into(&mut client),
            (_, Some(""), Some(done)) => all.push(done),
            (_, Some(language), None) => {
                open = Some(Snippet {
                    client: client.clone(),
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (_, _, Some(mut snippet)) => {
                snippet.text.push_str(line);
                snippet.text.push('\n');
                open = Some(snippet);
            }
            _ => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    all
}

/// How a client would reach the server.
#[derive(Debug)]
enum Entry {
    Program { command: String, args: Vec<String> },
    Web { url: String, authorization: String },
}

/// The table of servers under the name that the client's documentation gives it.
fn servers<'a>(client: &str, document: &'a Value) -> &'a Value {
    let name = match client {
        "VS Code" => "servers",
        "Codex" => "mcp_servers",
        "Zed" => "context_servers",
        _ => "mcpServers",
    };
    let table = &document[name]["proctor"];
    assert!(table.is_object(), "{client}: no {name}.proctor in {document}");
    table
}

fn entry(client: &str, server: &Value) -> Entry {
    let text = |name: &str| server[name].as_str().map(str::to_owned);
    if let Some(command) = text("command") {
        let args = server["args"].as_array().unwrap().iter();
        return Entry::Program {
            command,
            args: args.map(|word| word.as_str().unwrap().to_owned()).collect(),
        };
    }
    // Gemini CLI tells streams of its own from HTTP by the name of the key.
    let url = text(if client == "Gemini CLI" { "httpUrl" } else { "url" }).unwrap();
    let authorization = match text("bearer_token_env_var") {
        Some(name) => format!("Bearer ${{{name}}}"),
        None => server["headers"]["Authorization"].as_str().unwrap().to_owned(),
    };
    Entry::Web { url, authorization }
}

/// A command line of a client: what stands after `--` is the program; an address is an address.
fn shell(line: &str) -> Entry {
    let words: Vec<String> =
        line.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect();
    if let Some(place) = words.iter().position(|word| word == "--") {
        return Entry::Program {
            command: words[place + 1].clone(),
            args: words[place + 2..].to_vec(),
        };
    }
    let url = words.iter().find(|word| word.starts_with("http://")).unwrap().clone();
    let (_, header) = line.split_once("Authorization: ").unwrap();
    Entry::Web { url, authorization: header.trim_end().trim_end_matches('"').to_owned() }
}

/// Starts what a snippet says and lists the tools.
fn works(env: &TestEnv, served: &Served, client: &str, entry: &Entry) {
    match entry {
        Entry::Program { command, args } => {
            assert_eq!(command, "proctor", "{client}");
            let project = env.project.to_str().unwrap();
            let args = args.iter().map(|word| {
                word.replace("/path/to/project", project).replace("${workspaceFolder}", project)
            });
            let mut program = env.command();
            program.args(args);
            let mut wire = Wire::start(program, HANDSHAKE[1]);
            let listed = wire.request("tools/list", json!({}));
            let count = listed["result"]["tools"].as_array().unwrap().len();
            assert!(count >= 8, "{client}: {listed}");
            wire.close();
        }
        Entry::Web { url, authorization } => {
            assert_eq!(url, "http://127.0.0.1:7171/mcp", "{client}");
            // However a client writes the variable, this is what it becomes.
            let (scheme, variable) = authorization.split_once(' ').unwrap();
            assert!(variable.contains("PROCTOR_TOKEN"), "{client}: {authorization}");
            let header = format!("{scheme} {}", served.token);
            let body = message(HANDSHAKE[1], 1, "initialize", hello(HANDSHAKE[1])).to_string();
            let (status, _, body) = served.ask("POST", &[("Authorization", &header)], &body);
            assert_eq!(status, 200, "{client}");
            assert_eq!(messages(&body)[0]["result"]["serverInfo"]["name"], "proctor");
        }
    }
}

#[test]
fn every_snippet_is_read_and_started() {
    let env = TestEnv::new();
    let served = Served::start(&env, &[]);
    let (mut programs, mut webs) = (BTreeSet::new(), BTreeSet::new());
    let mut proof = |client: &str, entry: Entry| {
        works(&env, &served, client, &entry);
        match entry {
            Entry::Program { .. } => programs.insert(client.to_owned()),
            Entry::Web { .. } => webs.insert(client.to_owned()),
        };
    };
    for Snippet { client, language, text } in snippets() {
        match language.as_str() {
            "json" => {
                let document: Value =
                    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{client}: {e}\n{text}"));
                proof(&client, entry(&client, servers(&client, &document)));
            }
            "toml" => {
                let document: Value =
                    toml::from_str(&text).unwrap_or_else(|e| panic!("{client}: {e}\n{text}"));
                proof(&client, entry(&client, servers(&client, &document)));
            }
            "sh" if client == "By hand" => {}
            "sh" => text
                .lines()
                .filter(|line| line.contains(" mcp add "))
                .for_each(|line| proof(&client, shell(line))),
            other => panic!("{client}: what is a block of {other:?}?"),
        }
    }
    let expected = ["Claude Code", "Claude Desktop", "Codex", "Cursor", "Gemini CLI", "VS Code"];
    for client in expected {
        assert!(programs.contains(client), "{client} has no snippet: {programs:?}");
    }
    for client in ["Claude Code", "Codex", "Cursor", "Gemini CLI", "VS Code"] {
        assert!(webs.contains(client), "{client} has no snippet for /mcp: {webs:?}");
    }
    served.stop();
}

/// Every tool is on the page, and the page names no tool that is not there.
#[test]
fn the_page_names_every_tool() {
    let page = std::fs::read_to_string(repository().join("docs/agents.md")).unwrap();
    let env = TestEnv::new();
    let listed = env.run(&["tool", "--list"]).stdout;
    let known: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in &known {
        assert!(page.contains(&format!("`{name}`")), "{name} is not in docs/agents.md");
    }
    let words = page.split('`').skip(1).step_by(2);
    let named = words.filter(|word| {
        ["run_", "test_", "ghap_"].iter().any(|start| word.starts_with(start))
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
            && !word.ends_with('_')
    });
    for name in named {
        assert!(
            known.contains(name) || name == "run_id",
            "docs/agents.md names {name}, which is not there"
        );
    }
}
