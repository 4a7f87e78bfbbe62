//! The rest of the secrets suite: keys that tools, tool servers, the simulated user and the judge say, cassettes and cache, a header of `proctor.toml`; and
//! values that code under `cover` gets at.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::env::TestEnv;
use crate::secrets_suite::{CONTROL, KEYS, Places};
use crate::wire::with_ralph;

/// An agent that calls both tools and then says what came of it.
const AGENT: &str = r#"
import json, os, socket
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    m = json.loads(line)
    reply = {"reply_to": m.get("id")}
    if m.get("action") == "hello":
        reply |= {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        last = m["messages"][-1]
        if last["role"] == "user":
            keys = json.load(open("keys.json"))
            reply |= {"pending_tool_calls": [{"id": name, "name": name, "arguments": {"of": keys, "control": "control-visible-4242"}} for name in ("look", "find")]}
        else:
            reply |= {"text": "control-visible-4242 " + json.dumps(m["messages"])}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

const TOOL: &str = r#"
import json, sys
json.dump({"control": "control-visible-4242", "keys": json.load(open("keys.json"))}, sys.stdout)
print("control-visible-4242", open("keys.json").read(), file=sys.stderr)
"#;

const SERVER: &str = r#"
import json, sys
keys = open("keys.json").read()
print("control-visible-4242", keys, file=sys.stderr, flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        result = {"tools": [{"name": "find", "description": "control-visible-4242 " + keys, "inputSchema": {"type": "object"}}]}
    else:
        result = {"content": [{"type": "text", "text": "control-visible-4242 " + keys}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"#;

/// A model that keeps its prompt; the judge answers in the form that is asked for.
const MODEL: &str = r#"
import json, re, sys
prompt = sys.stdin.read()
open(sys.argv[1] + ".prompts", "a").write(prompt)
said = "control-visible-4242 " + " ".join(json.load(open("keys.json")))
if sys.argv[1] == "judge":
    mark = re.search(r'"mark": "([^"]+)"', prompt).group(1)
    ids = sorted(set(re.findall(r'"id": "(q\d+)"', prompt))) or ["q1"]
    said = json.dumps({"mark": mark, "answers": [{"id": name, "satisfied": True, "reasoning": said} for name in ids]})
print(said)
"#;

#[test]
fn no_key_is_in_anything_that_tools_and_models_have_said() {
    let env = TestEnv::new();
    let keys: Vec<&str> = KEYS.iter().map(|(_, value)| *value).collect();
    env.write("keys.json", &json!(keys).to_string());
    for (name, text) in
        [("agent.py", AGENT), ("tool.py", TOOL), ("server.py", SERVER), ("model.py", MODEL)]
    {
        env.write(name, text);
    }
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {command: [python3, agent.py], env: {ACME_THING: \"${env:ACME_THING}\", HEADER_THING: \"${env:HEADER_THING}\"}}\n\
         tools: {look: {command: [python3, tool.py]}}\nmcp: {shop: {command: [python3, server.py]}}\n\
         models: {judge: {command: [python3, model.py, judge]}, simulator: {command: [python3, model.py, simulator]}}\nexamples:\n  \
         - {it: talks, steps: [{simulate: {goal: g, max_turns: 2, on_max_turns: fine, stop_when: []}, expect: [{satisfy: the answer is polite}, {match: nothing}]}]}\n",
    );
    let mut places = Places::default();
    let code = places.run(&env, &["run", "--record", "all.cassette", "--cache"]);
    assert_eq!(code, Some(1), "{}", String::from_utf8_lossy(&places.0[0].1));
    let recorded = env.recorded();
    assert!(recorded.count("ToolCallCompleted") >= 2, "the tools were called");
    // Replayed, both texts are the masked ones, and still nothing else.
    let code = places.run(&env, &["run", "--replay", "all.cassette"]);
    assert!(matches!(code, Some(1 | 2)), "{code:?}");
    for (place, name) in
        [("judge prompts", "judge.prompts"), ("simulator prompts", "simulator.prompts")]
    {
        places.add(place, std::fs::read(env.project.join(name)).unwrap());
    }
    places.files(env.home(), env.home());
    places.assert_clean(&[
        "stdout of run --record",
        "stdout of run --replay",
        "all.cassette",
        "cache/",
        ".proctor/runs/",
        "judge prompts",
        "simulator prompts",
    ]);
}

/// A server that repeats what it was sent.
#[test]
fn a_header_of_the_configuration_is_sent_and_not_written() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    env.write(
        "proctor.toml",
        &format!("agent = \"mine\"\n[agents.mine]\ntools = \"none\"\n[agents.mine.http]\nurl = \"http://{address}/chat\"\ntext = \"/text\"\nbody = {{ message = \"${{message}}\" }}\n[agents.mine.http.headers]\nx-thing = \"${{env:HEADER_THING}}\"\n"),
    );
    env.write(
        "a.scenario.yaml",
        "describe: A\nexamples: [{it: talks, steps: [{user: hello, expect: [{match: nothing}]}]}]\n",
    );
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        let body = json!({ "text": format!("{CONTROL} {head}") }).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    let mut places = Places::default();
    let code = places.run(&env, &["run"]);
    assert_eq!(code, Some(1), "{}", String::from_utf8_lossy(&places.0[1].1));
    let key = KEYS.iter().find(|(name, _)| *name == "HEADER_THING").unwrap().1;
    assert!(server.join().unwrap().contains(key), "the server gets the header");
    places.files(env.home(), env.home());
    places.assert_clean(&["stdout of run", ".proctor/runs/"]);
}

#[test]
fn s3_cover_writes_no_value_of_the_environment_or_of_files_elsewhere() {
    let env = TestEnv::new();
    let outside = env.home().join("elsewhere/credentials");
    std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
    std::fs::write(&outside, "marker-in-a-file-of-the-user-endtail").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&outside, mode).unwrap();
    let outside = outside.display();
    env.write("inside.txt", CONTROL);
    env.write(
        "lib/leaky.rb",
        &format!(
            "class Leaky
  def key = ENV['DEPLOY_PASSWORD'].to_s
  def setting = ENV['GEM_MARKER'].to_s
  def all = ENV.to_h.sort.inspect
  def file = File.exist?({outside:?}) ? File.read({outside:?}) : 'none'
  def opened = File.open({outside:?}, &:read)
  def lines = IO.readlines({outside:?}).first
  def machine = File.read('/etc/hostname')
  def inside = File.read('inside.txt')
end
",
            outside = outside.to_string()
        ),
    );
    let mut places = Places::default();
    let arguments =
        ["cover", "all", "--yes", "--effort", "5", "--html", "out.html", "--json", "out.json"];
    let output = with_ralph(&env)
        .envs(KEYS)
        .env("GEM_MARKER", "marker-in-a-listed-variable-endtail")
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    places.add("stdout of cover", &output.stdout);
    places.add("stderr of cover", &output.stderr);
    std::fs::remove_dir_all(env.home().join("elsewhere")).unwrap();
    places.files(env.home(), env.home());
    // The names of the file and the variable stand in the code itself.
    places.assert_clean(&["spec/leaky_spec.rb"]);
    let spec = env.read("spec/leaky_spec.rb");
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    if host.trim().len() > 1 {
        assert!(!spec.contains(&format!("{host:?}")), "{spec}");
    }
}
