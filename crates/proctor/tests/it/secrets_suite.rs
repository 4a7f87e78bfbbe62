//! The secrets suite: marker keys wherever a key can be, in many spellings; then a search through everything that was written or sent.
//!
//! Beside every key stands a control text that is no secret. It must be found in each of the places, so that an empty place, or one that nobody looked
//! into, cannot pass.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::wire::{STATELESS, Served, Wire, message, messages, with_ralph};

/// Keys in the environment of `proctor`. All begin and end alike, so that a part of any of them is found as well.
pub(crate) const KEYS: [(&str, &str); 5] = [
    ("OPENAI_API_KEY", "marker-openai-7Qx2kkPq-endtail"),
    ("PROCTOR_TOKEN", "marker-proctor-abcdefgh-31-endtail"),
    ("DEPLOY_PASSWORD", "marker-deploy \"5T\\t8'&<x>/+=?-endtail"),
    ("ACME_THING", "marker-acme-named-by-env-41-endtail"),
    ("HEADER_THING", "marker-header-named-by-env-42-endtail"),
];
const URL_PASSWORD: &str = "marker-url-password-77-endtail";
pub(crate) const CONTROL: &str = "control-visible-4242";

/// What must not be found: how keys begin and end, in lower case.
const ENDS: [&str; 2] = ["marker-", "-endtail"];

const AGENT: &str = r#"
import base64, json, os, re, shlex, socket, sys, urllib.parse
keys = json.load(open("keys.json"))
control = "control-visible-4242"
def spellings(key):
    once = json.dumps(key)[1:-1]
    raw = key.encode()
    yield from [key, key.upper(), once, json.dumps(once)[1:-1]]
    yield from [base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), base64.b64encode(b"u:" + raw).decode()]
    yield from [urllib.parse.quote(key, safe=""), urllib.parse.quote(key.replace("-", "%2D"), safe="%"), raw.hex(), raw.hex().upper()]
    yield from [re.escape(key), shlex.quote(key), key[:len(key) // 2] + "…", "…" + key[len(key) // 2:], key[:12] + "..."]
said = [spelled for key in keys for spelled in spellings(key)]
dotenv = open("app.env").read()
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    m = json.loads(line)
    reply = {"reply_to": m.get("id")}
    if m.get("action") == "hello":
        reply |= {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        asked = json.dumps(m)
        pad = re.search(r"pad (\d+)", asked)
        if pad:
            reply |= {"text": "x" * int(pad.group(1)) + " " + " ".join(spelled for spelled in said)}
        else:
            print(control, " ".join(said), dotenv, file=sys.stderr, flush=True)
            call = {"name": "look", "arguments": {"of": keys, "control": control}, "result": {"said": said, "control": control}}
            reply |= {"text": control + " keys: " + " ".join(said) + dotenv, "tool_calls": [call]}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

const JUDGE: &str = r#"
import json, sys
prompt = sys.stdin.read()
open("judge.prompts", "a").write(prompt)
keys = json.load(open("keys.json"))
print("control-visible-4242", *keys)
print("control-visible-4242", *keys, file=sys.stderr)
"#;

const SPEC: &str = "RSpec.describe('keys') do
  it('leaks control-visible-4242') do
    puts ENV['OPENAI_API_KEY'], 'control-visible-4242'
    warn ENV['DEPLOY_PASSWORD']
    expect([ENV['ACME_THING'], ENV['DEPLOY_PASSWORD']].inspect * 3).to eq('control-visible-4242')
  end
  it('raises') { raise ENV['OPENAI_API_KEY'] + ' control-visible-4242 ' + [ENV['DEPLOY_PASSWORD']].pack('m') }
end
";

/// Own inputs: they hold keys because the test put them there.
const INPUTS: [&str; 4] = ["keys.json", "app.env", "http.scenario.yaml", "older/events.jsonl"];

fn project() -> TestEnv {
    let env = TestEnv::new();
    let keys: Vec<&str> = KEYS.iter().map(|(_, value)| *value).collect();
    env.write("keys.json", &json!(keys).to_string());
    env.write("app.env", "API_KEY=sk-proj-markerMARKER0123456789abcdefABCDEF\n");
    env.write("agent.py", AGENT);
    env.write("judge.py", JUDGE);
    let cuts: String = (0..150)
        .step_by(5)
        .map(|pad| format!("  - {{it: cut {pad}, steps: [{{user: pad {pad}, expect: [{{match: nothing}}]}}]}}\n"))
        .collect();
    let environment = "{ACME_THING: \"${env:ACME_THING}\"}";
    env.write("a.scenario.yaml", &format!("describe: A\nagent: {{command: [python3, agent.py], env: {environment}}}\nmodels: {{judge: {{command: [python3, judge.py]}}}}\nexamples:\n  - {{it: is judged, steps: [{{user: hello, expect: [{{satisfy: the answer is polite}}, {{match: nothing}}]}}]}}\n{cuts}"));
    env.write("http.scenario.yaml", &format!("describe: H\nagent: {{http: {{url: \"http://user:{URL_PASSWORD}@127.0.0.1:1/chat\", headers: {{x-api-key: \"${{env:HEADER_THING}}\"}}}}}}\nexamples: [{{it: is not reached, steps: [{{user: hello}}]}}]\n"));
    env.write("spec/a_spec.rb", SPEC);
    env
}

/// Everything that was written or sent, by a name of its place.
#[derive(Default)]
pub(crate) struct Places(pub(crate) Vec<(String, Vec<u8>)>);

impl Places {
    pub(crate) fn add(&mut self, name: impl Into<String>, bytes: impl AsRef<[u8]>) {
        self.0.push((name.into(), bytes.as_ref().to_vec()));
    }

    /// Runs a command with the keys in its environment; both outputs are places.
    pub(crate) fn run(&mut self, env: &TestEnv, arguments: &[&str]) -> Option<i32> {
        let output = with_ralph(env).envs(KEYS).args(arguments).output().unwrap();
        let name = arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        self.add(format!("stdout of {name}"), &output.stdout);
        self.add(format!("stderr of {name}"), &output.stderr);
        output.status.code()
    }

    pub(crate) fn files(&mut self, folder: &Path, below: &Path) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_symlink()
                || path.ends_with("history.db")
                || INPUTS.iter().any(|name| path.ends_with(name))
            {
                continue;
            }
            let name = path.strip_prefix(below).unwrap().display().to_string();
            if path.is_dir() {
                self.files(&path, below);
            } else if path.is_file() {
                self.add(format!("file {name}"), std::fs::read(&path).unwrap());
            }
        }
    }

    /// Fails with every leak, and with every place of these that does not have the control.
    pub(crate) fn assert_clean(&self, with_control: &[&str]) {
        let mut problems = BTreeSet::new();
        for (name, bytes) in &self.0 {
            problems.extend(leaks(bytes).into_iter().map(|leak| format!("{name}: {leak}")));
        }
        for wanted in with_control {
            let mut named = self.0.iter().filter(|(name, _)| name.contains(wanted)).peekable();
            assert!(named.peek().is_some(), "there is no place {wanted}");
            if !named.any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(CONTROL)) {
                problems.insert(format!("{wanted}: the control text is missing"));
            }
        }
        assert!(problems.is_empty(), "{}", Vec::from_iter(problems).join("\n"));
    }
}

/// Every value of a database, in the form in which SQL spells it.
fn dumped(path: &Path) -> Vec<u8> {
    let program =
        "import sqlite3, sys\nfor line in sqlite3.connect(sys.argv[1]).iterdump(): print(line)";
    let output = Command::new("python3").args(["-c", program]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Where a key shows, whole or in part, in any spelling.
fn leaks(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    // The viewer draws arrows with an attribute of SVG that begins alike.
    let lower = text.to_lowercase().replace("\"marker-end\"", "");
    let plain = lower.replace('\\', "");
    let decoded = lower.replace("%2d", "-").replace("%252d", "-");
    let mut found = Vec::new();
    for end in ENDS {
        let hex: String = end.bytes().map(|byte| format!("{byte:02x}")).collect();
        for (spelling, searched) in [(end, &plain), (end, &decoded), (hex.as_str(), &lower)] {
            if let Some(at) = searched.find(spelling) {
                found.push(excerpt(searched, at));
            }
        }
    }
    for core in BASE64_CORES {
        found.extend(text.find(core).map(|at| excerpt(&text, at)));
    }
    found.extend(text.find("sk-proj-marker").map(|at| excerpt(&text, at)));
    found
}

/// `marker-` and `-endtail` in base64, at each alignment, without the characters that depend on neighbours.
const BASE64_CORES: [&str; 6] =
    ["bWFya2VyL", "1hcmtlci", "tYXJrZXIt", "LWVuZHRhaW", "1lbmR0YWls", "tZW5kdGFpb"];

fn excerpt(text: &str, at: usize) -> String {
    let (from, to) = (
        text.floor_char_boundary(at.saturating_sub(60)),
        text.ceil_char_boundary(text.len().min(at + 60)),
    );
    format!("{:?}", &text[from..to])
}

#[test]
fn the_search_finds_every_spelling() {
    let key = KEYS[0].1;
    for spelled in [
        key.to_owned(),
        key.to_uppercase(),
        key.replace('-', "\\-"),
        key.replace('-', "%2D"),
        key[..9].to_owned(),
        "bWFya2VyLW9wZW5haS03UXgya2tQcS1lbmR0YWls".to_owned(),
        "6d61726b65722d6f70656e6169".to_owned(),
    ] {
        assert!(!leaks(format!("a {spelled} b").as_bytes()).is_empty(), "{spelled}");
    }
    assert_eq!(leaks(CONTROL.as_bytes()), [""; 0]);
}

#[test]
fn no_key_is_in_anything_that_a_run_and_its_views_write_or_send() {
    let env = project();
    let mut places = Places::default();
    let code = places.run(
        &env,
        &[
            "run",
            "--events",
            "more.jsonl",
            "--junit",
            "out.xml",
            "--markdown",
            "out.md",
            "--json",
            "out.json",
            "--html",
            "out.html",
            "--atif",
            "atif",
        ],
    );
    assert_eq!(code, Some(1), "{}", String::from_utf8_lossy(&places.0[0].1));
    assert_eq!(env.recorded().count("ExampleFinished"), 34);
    env.assert_complete();
    let run = env
        .events_path()
        .unwrap()
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    // The index of the history repeats what recordings say, so it is searched before somebody else's is there.
    places.run(&env, &["history"]);
    places.add("database of the history", dumped(&env.project.join(".proctor/history.db")));
    // As an older version or somebody else would have left it: with the keys.
    let older = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
    let dirty = older
        .replace(CONTROL, &format!("{CONTROL} {} {}", KEYS[0].1, KEYS[1].1))
        .replace(&run, "older");
    env.write(".proctor/runs/older/events.jsonl", &dirty);
    look_at(&env, &run, &mut places);
    send_traces(&env, &run, &mut places);
    serve(&env, &run, &mut places);
    let mut prompts = Vec::new();
    prompts.extend(std::fs::read(env.project.join("judge.prompts")).unwrap());
    places.add("judge prompts", prompts);
    places.files(env.home(), env.home());
    places.assert_clean(&["traces"]);
    places.assert_clean(&[
        "stdout of run --events",
        "more.jsonl",
        "out.xml",
        "out.md",
        "out.json",
        "out.html",
        "atif/",
        ".proctor/runs/",
        "database of the history",
        "older.html",
        "older.md",
        "older.xml",
        "older.json",
        "stdout of show older",
        "stdout of show ",
        "stdout of watch older",
        "judge prompts",
        "HTTP /api/runs/older/events",
        "HTTP /api/search",
        "frames of older",
        "frames of ",
        "MCP over HTTP, show_example",
        "stdout of tool show_example",
    ]);
}

/// Shows both runs by every command that does.
fn look_at(env: &TestEnv, run: &str, places: &mut Places) {
    for arguments in [
        &["show", run, "--full"][..],
        &["show", "older", "--full"],
        &["show", "older", "--format", "json"],
        &[
            "show",
            "older",
            "--html",
            "older.html",
            "--markdown",
            "older.md",
            "--junit",
            "older.xml",
            "--json",
            "older.json",
        ],
        &["show", run, "--search", CONTROL],
        &["watch", "older", "--format", "json"],
        &["watch", run, "--lines"],
        &["runs"],
        &["history"],
        &["flaky"],
        &["list"],
        &["doctor"],
        &[
            "tool",
            "show_example",
            &json!({ "run_id": run, "example": "is judged", "include_untrusted": true })
                .to_string(),
        ],
        &["baseline", "show"],
    ] {
        assert_eq!(places.run(env, arguments), Some(0), "{arguments:?}");
    }
    for mistake in [&["run", &format!("--bogus-{}", KEYS[0].1)][..], &["show", KEYS[0].1]] {
        assert_eq!(places.run(env, mistake), Some(2), "{mistake:?}");
    }
}

/// A collector that takes one request.
fn send_traces(env: &TestEnv, run: &str, places: &mut Places) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let collector = std::thread::spawn(move || crate::otlp::take(&listener, "200 OK").body);
    let code = places.run(env, &["show", run, "--otlp", &address, "--otlp-content"]);
    assert_eq!(code, Some(0));
    places.add("traces", collector.join().unwrap().to_string());
}

/// What a server sends of both runs.
fn serve(env: &TestEnv, run: &str, places: &mut Places) {
    let mut command = with_ralph(env);
    command.envs(KEYS).args(["serve", "--format", "json"]);
    let served = Served::launch(command);
    let mut paths: Vec<String> = vec![
        "/api/runs".into(),
        "/api/history".into(),
        "/api/flaky".into(),
        format!("/api/search?q={CONTROL}"),
        "/api/journal/entries".into(),
        "/api/runs/no-such-run".into(),
    ];
    let id = regex::Regex::new(r#""id":"([^"]+)""#).unwrap();
    for name in [run, "older"] {
        paths.extend(
            ["", "/examples", "/events?limit=1000"].map(|rest| format!("/api/runs/{name}{rest}")),
        );
        let (_, listed) = served.get(&format!("/api/runs/{name}/examples"));
        let ids: BTreeSet<&str> =
            id.captures_iter(&listed).map(|found| found.get(1).unwrap().as_str()).collect();
        paths.extend(ids.iter().take(6).map(|id| format!("/api/runs/{name}/examples/{id}")));
        places.add(format!("frames of {name}"), frames(&served, name));
    }
    for path in paths {
        let (_, body) = served.get(&path);
        places.add(format!("HTTP {path}"), body);
    }
    let bearer = format!("Bearer {}", served.token);
    for (id, (name, arguments)) in [
        (
            "show_example",
            json!({ "run_id": "older", "example": "is judged", "include_untrusted": true }),
        ),
        ("run_results", json!({ "run_id": "older" })),
        (KEYS[0].1, json!({})),
        ("ghap_search", json!({ "query": KEYS[0].1 })),
    ]
    .into_iter()
    .enumerate()
    {
        let body = message(
            STATELESS,
            id as u64,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", STATELESS),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        let (_, _, answer) = served.ask("POST", &headers, &body.to_string());
        for message in messages(&answer) {
            places.add(
                format!("MCP over HTTP, {name}").replace(KEYS[0].1, "unknown"),
                message.to_string(),
            );
        }
    }
    served.stop();
}

/// All messages of the stream of a run.
fn frames(served: &Served, run: &str) -> String {
    let stream = std::net::TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
    let address = format!("ws://127.0.0.1:{}/ws?run={run}&token={}", served.port, served.token);
    let (mut socket, _) = tokio_tungstenite::tungstenite::client(address, stream).unwrap();
    let mut text = String::new();
    while let Ok(message) = socket.read() {
        if message.is_close() {
            break;
        }
        text.push_str(message.to_text().unwrap_or_default());
    }
    text
}

#[test]
fn no_key_is_in_anything_that_the_journal_keeps_or_answers() {
    let env = TestEnv::new();
    let mut places = Places::default();
    // Only a process that reads a scenario knows what it names by `${env:…}`.
    let said = KEYS[..3].iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" ");
    let text = format!("{CONTROL} {said}");
    let words = ["--domain", "debugging", "--strategy", "systematic-elimination"];
    let told = ["--goal", &text, "--hypothesis", &text, "--action", &text, "--prediction", &text];
    assert_eq!(places.run(&env, &[&["journal", "create"][..], &words, &told].concat()), Some(0));
    let script = format!(
        "echo {CONTROL}; printf %s \"$DEPLOY_PASSWORD\" | base64; echo $OPENAI_API_KEY >&2; exit 1"
    );
    // The command's own output is passed on as it is, as without `journal run`: its place is not searched.
    let ran = with_ralph(&env)
        .envs(KEYS)
        .args(["journal", "run", "--expect", "fail", "--", "sh", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    hook(&env, &text, &mut places);
    let mut command = with_ralph(&env);
    command.envs(KEYS).arg("mcp");
    let mut wire = Wire::start(command, STATELESS);
    for (name, arguments) in [
        (
            "ghap_create",
            json!({ "domain": "debugging", "strategy": "systematic-elimination", "goal": text, "hypothesis": text, "action": text, "prediction": text }),
        ),
        ("ghap_list", json!({})),
        ("ghap_search", json!({ "query": CONTROL })),
        ("ghap_create", json!({ "domain": said })),
    ] {
        let answer = wire.request("tools/call", json!({ "name": name, "arguments": arguments }));
        places.add(format!("MCP {name}"), answer.to_string());
    }
    wire.close();
    for arguments in [
        &["journal", "list"][..],
        &["journal", "search", CONTROL],
        &["journal", "export"],
        &["journal", "retro", "--output", "retro.md"],
    ] {
        assert_eq!(places.run(&env, arguments), Some(0), "{arguments:?}");
    }
    places.files(env.home(), env.home());
    places.assert_clean(&[
        "file project/.claude/journal",
        "MCP ghap_search",
        "stdout of journal search",
        "stdout of journal export",
    ]);
}

/// What a host tells its hook.
fn hook(env: &TestEnv, text: &str, places: &mut Places) {
    let input = json!({ "hook_event_name": "PostToolUse", "session_id": "s", "cwd": env.project, "tool_name": "Bash",
        "tool_input": { "command": format!("echo {text}") }, "tool_response": { "stdout": text, "stderr": text } });
    let mut command = with_ralph(env);
    command
        .envs(KEYS)
        .args(["journal", "hook"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    places.add("stdout of the hook", output.stdout);
    places.add("stderr of the hook", output.stderr);
}

#[test]
fn no_key_is_in_anything_that_a_workspace_keeps_or_answers() {
    let env = TestEnv::new();
    let mut places = Places::default();
    let mut command = with_ralph(&env);
    command.envs(KEYS).arg("mcp");
    let mut wire = Wire::start(command, STATELESS);
    let script = format!(
        "#!/bin/sh\necho {CONTROL} \"$DEPLOY_PASSWORD\" \"$OPENAI_API_KEY\"\necho {CONTROL} \"$OPENAI_API_KEY\" >&2\necho {CONTROL} \"$OPENAI_API_KEY\" | proctor-mock-model\n\
        printf '{{\"topic\":\"a.b\",\"payload\":\"{CONTROL} %s\"}}\\n' \"$OPENAI_API_KEY\" >> \"$PROCTOR_EVENTS_FILE\"\n"
    );
    let call = |wire: &mut Wire, places: &mut Places, name: &str, mut arguments: Value| {
        arguments["workspace_id"] = json!("w");
        let label = format!("{name} {}", arguments["format"].as_str().unwrap_or_default());
        let answer = wire.request("tools/call", json!({ "name": name, "arguments": arguments }));
        places.add(format!("MCP {label}"), answer.to_string());
        answer["result"].clone()
    };
    let made = call(
        &mut wire,
        &mut places,
        "test_setup",
        json!({ "fixtures": { "loop.sh": script }, "orchestrator": { "kind": "generic", "command": ["./loop.sh"] } }),
    );
    assert_eq!(made["isError"], false, "{made}");
    let ran = call(
        &mut wire,
        &mut places,
        "test_run",
        json!({ "task": "t", "mock_responses": [{ "output": CONTROL }], "env": { "OPENAI_API_KEY": null, "DEPLOY_PASSWORD": null } }),
    );
    assert_eq!(ran["isError"], false, "{ran}");
    for format in ["json", "calls", "output", "cassette", "timeline", "summary"] {
        call(&mut wire, &mut places, "test_inspect", json!({ "format": format }));
    }
    // That a secret was not found would say nothing: the session holds none.
    let asserted = call(
        &mut wire,
        &mut places,
        "test_assert",
        json!({ "assertions": [{ "type": "event_occurred", "topic": "a.b", "payload_pattern": KEYS[0].1 }] }),
    );
    assert!(asserted.to_string().contains("undecided_count"), "{asserted}");
    places.files(env.home(), env.home());
    wire.call("test_cleanup", json!({ "workspace_id": "w" }));
    wire.close();
    // The orchestrator's own events file is a file of the program under test.
    places
        .0
        .retain(|(name, _)| !name.contains("/events.jsonl") && !name.contains("proctor-events"));
    places.assert_clean(&[
        "MCP test_inspect json",
        "MCP test_inspect calls",
        "MCP test_inspect output",
        "session",
        "calls.jsonl",
        "stdout",
    ]);
}
