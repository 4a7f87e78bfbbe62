//! Secrets from outside: what programs under test get, and that no marker key is found in anything written or printed.

use std::path::Path;
use std::process::Stdio;

use crate::env::{Ran, TestEnv, wait_until};

/// Keys in the environment of `proctor`; no other text contains their values.
const KEYS: [(&str, &str); 4] = [
    ("OPENAI_API_KEY", "marker-openai-7Qx2"),
    ("ANTHROPIC_API_KEY", "marker-anthropic-9Zk4"),
    ("PROCTOR_TOKEN", "marker-proctor-abcdefgh-31"),
    ("DEPLOY_PASSWORD", "marker-deploy-5Tt8"),
];

const AGENT: &str = r#"
import base64, json, os, socket, sys, urllib.parse
keys = json.load(open("keys.json"))
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    m = json.loads(line)
    reply = {"reply_to": m.get("id")}
    if m.get("action") == "hello":
        reply |= {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        json.dump(sorted(os.environ), open("agent.names", "w"))
        said = keys + [k.upper() for k in keys] + [base64.b64encode(k.encode()).decode() for k in keys]
        said += [urllib.parse.quote(k.replace("-", "%2D"), safe="%") for k in keys]
        print(" ".join(said), file=sys.stderr, flush=True)
        call = {"name": "look", "arguments": {"of": keys}, "result": {"said": said}}
        reply |= {"text": "keys: " + " ".join(said), "tool_calls": [call]}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

fn run(env: &TestEnv, arguments: &[&str]) -> Ran {
    env.ran(&env.command().envs(KEYS).args(arguments).output().unwrap())
}

/// The check quotes the agent, and its quote is cut.
///
/// A project whose agent knows the keys from a file of its own, as one would that had got hold of them elsewhere.
fn project(agent_env: &str) -> TestEnv {
    let env = TestEnv::new();
    let keys: Vec<&str> = KEYS.iter().map(|(_, value)| *value).collect();
    env.write("keys.json", &serde_json::to_string(&keys).unwrap());
    env.write("agent.py", AGENT);
    env.write("a.scenario.yaml", &format!("describe: A\nagent: {{command: [python3, agent.py]{agent_env}}}\nexamples: [{{it: a, steps: [{{user: hello, expect: [{{match: goodbye}}]}}]}}]\n"));
    env
}

fn variables(env: &TestEnv) -> Vec<String> {
    serde_json::from_str(&env.read("agent.names")).unwrap()
}

/// Every spelling of every key that a text holds.
fn found_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let encoded = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for (name, value) in KEYS {
        let percent = value.replace('-', "%2d");
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let plain = [value.to_lowercase(), percent.to_lowercase(), hex];
        if plain.iter().any(|spelling| text.contains(spelling)) {
            found.push(name.to_owned());
        }
        // The beginning of the base64 text, as Python spells it.
        if encoded.contains(BASE64_OF_MARKER) {
            found.push(format!("{name} in base64"));
        }
    }
    found
}

/// `marker` in base64, at the beginning of a text.
const BASE64_OF_MARKER: &str = "bWFya2Vy";

fn search(folder: &Path, own: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_symlink() || own.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            search(&path, own);
        } else if path.is_file() {
            assert_eq!(found_in(&std::fs::read(&path).unwrap()), [""; 0], "{}", path.display());
        }
    }
}

#[test]
fn agents_get_no_secret_unless_it_is_named() {
    let env = project("");
    let _ran = run(&env, &["run"]);
    let names = variables(&env);
    assert!(names.contains(&"PATH".to_owned()) && names.contains(&"WORKER_INDEX".to_owned()));
    for (name, _) in KEYS {
        assert!(!names.iter().any(|got| got == name), "{name}: {names:?}");
    }
    let env = project(", env: {OPENAI_API_KEY: \"${env:OPENAI_API_KEY}\"}");
    env.write("proctor.toml", "[conversations]\npass_env = [\"DEPLOY_PASSWORD\", \"NOT_SET\"]\n");
    let _ran = run(&env, &["run"]);
    let names = variables(&env);
    let got: Vec<&str> =
        KEYS.iter().map(|(name, _)| *name).filter(|key| names.contains(&(*key).into())).collect();
    assert_eq!(got, ["OPENAI_API_KEY", "DEPLOY_PASSWORD"]);
}

/// The kernel gives the files of a process that may not be looked into to root. Root itself sees everything, so it is tried as somebody else.
#[test]
#[cfg(target_os = "linux")]
fn the_environment_of_a_server_cannot_be_read_by_programs_of_its_user() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    let env = TestEnv::new();
    let mut command = env.command();
    if rustix::process::geteuid().is_root() {
        for folder in [env.home(), &env.project] {
            chown(folder, Some(65534), Some(65534)).unwrap();
        }
        command.uid(65534).gid(65534);
    }
    let mut server = command.envs(KEYS).arg("mcp").stdin(Stdio::piped()).spawn().unwrap();
    let owner = || std::fs::metadata(format!("/proc/{}/environ", server.id())).unwrap().uid();
    wait_until("the environment is closed", || owner() == 0);
    drop(server.stdin.take());
    server.wait().unwrap();
}

#[test]
fn an_agent_that_does_not_start_is_told_what_was_held_back() {
    let env = project("");
    env.write("agent.py", "import os\nos.environ['OPENAI_API_KEY']\n");
    let ran = run(&env, &["run"]);
    let hint = "these variables were not passed on: ANTHROPIC_API_KEY, DEPLOY_PASSWORD, OPENAI_API_KEY, PROCTOR_TOKEN; name those that it needs under `env:`";
    assert!(ran.stdout.contains(hint), "{}", ran.terminal());
}

#[test]
fn no_key_is_in_anything_that_a_run_writes_or_prints() {
    let env = project("");
    env.write("spec/a_spec.rb", "RSpec.describe('keys') { it('leaks') { puts ENV['OPENAI_API_KEY']; warn ENV['DEPLOY_PASSWORD']; expect(ENV['ANTHROPIC_API_KEY']).to eq(1) } }");
    let reports =
        ["--junit", "out.xml", "--markdown", "out.md", "--json", "out.json", "--html", "out.html"];
    let mut arguments =
        vec!["run", "--events", "more.jsonl", "-e", "marker-openai-7Qx2", "-e", "a", "-e", "leaks"];
    arguments.extend(reports);
    let ran = run(&env, &arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(env.recorded().count("ExampleFinished"), 2, "{}", ran.terminal());
    assert!(std::fs::read_to_string(env.events_path().unwrap()).unwrap().contains("[redacted]"));
    env.assert_complete();
    let mut printed = vec![ran];
    printed.extend([&["show", "last"][..], &["runs"], &["history"]].map(|words| run(&env, words)));
    for ran in &printed {
        assert_eq!(found_in(ran.terminal().as_bytes()), [""; 0], "{}", ran.terminal());
    }
    search(env.home(), &["keys.json"]);
}

#[test]
fn the_journal_keeps_no_key_of_a_command_that_it_runs() {
    let env = TestEnv::new();
    let words = [
        "--domain",
        "debugging",
        "--strategy",
        "systematic-elimination",
        "--goal",
        "g",
        "--hypothesis",
        "h",
        "--action",
        "a",
        "--prediction",
        "p",
    ];
    let begun = run(&env, &[&["journal", "create"][..], &words].concat());
    assert_eq!(begun.code, Some(0), "{}", begun.terminal());
    let script = "echo marker-deploy-5Tt8; echo MARKER-DEPLOY-5TT8 >&2; exit 1";
    let ran = run(&env, &["journal", "run", "--expect", "fail", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let kept = run(&env, &["journal", "list"]);
    assert!(kept.code == Some(0) && env.project.join(".claude/journal").is_dir());
    search(env.home(), &[]);
}
