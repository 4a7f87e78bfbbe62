//! Processes of agents that die while they answer several conversations.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::env::TestEnv;
use crate::recorded::Recorded;

/// Answers with its process id. `always` ends the process by SIGKILL, every time. `once` does so the first time it is asked in this
/// folder, as soon as the process has been asked by a second conversation: so at least two are cut off.
const AGENT: &str = r#"
import json, os, signal, socket
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
def first_time():
    try:
        os.close(os.open("died", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
doomed = False
for line in incoming:
    m = json.loads(line)
    reply = {"reply_to": m.get("id")}
    if m.get("action") == "hello":
        reply |= {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        said = m["messages"][-1]["content"]
        if doomed or said == "always":
            os.kill(os.getpid(), signal.SIGKILL)
        if said == "once" and first_time():
            doomed = True
            continue
        reply |= {"text": f"ok {os.getpid()}"}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

/// One conversation for each word, with two turns: the word, and `bye`.
fn project(agent: &str, words: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    env.write("agent.py", AGENT);
    let example = |(number, word): (usize, &&str)| {
        format!(
            "  - {{it: '{word} {number}', steps: [{{user: {word}, expect: [{{match: ok}}]}}, {{user: bye, expect: [{{match: ok}}]}}]}}\n"
        )
    };
    let examples: String = words.iter().enumerate().map(example).collect();
    env.write(
        "a.scenario.yaml",
        &format!(
            "describe: A\nagent: {{command: [python3, agent.py]{agent}}}\nexamples:\n{examples}"
        ),
    );
    env
}

/// The attempts of each example, in order.
fn attempts(recorded: &Recorded) -> BTreeMap<String, Vec<&Value>> {
    let mut found: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for event in recorded.of("ExampleFinished") {
        found.entry(recorded.title(event)).or_default().push(event);
    }
    found
}

fn assert_death(attempt: &Value) {
    assert_eq!(attempt["status"], "errored", "{attempt}");
    assert_eq!(attempt["fault"], "agent", "{attempt}");
    assert_eq!(attempt["exception"]["class"], "AgentProcessDied", "{attempt}");
    let message = attempt["exception"]["message"].as_str().unwrap();
    assert!(message.contains("SIGKILL") || message.contains("signal 9"), "{message}");
}

#[test]
fn a_process_that_dies_costs_what_it_was_answering_and_that_is_run_once_more() {
    let mut words = vec!["hello"; 40];
    words[17] = "once";
    let env = project(", processes: 2", &words);
    let ran = env.run(&["run", "--concurrency", "6"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(40);
    let attempts = attempts(&recorded);
    let (again, others): (Vec<_>, Vec<_>) = attempts.iter().partition(|(_, all)| all.len() > 1);
    assert!((2..=6).contains(&again.len()), "{} were cut off", again.len());
    assert!(again.iter().any(|(title, _)| title.ends_with("once 17")), "{}", ran.terminal());
    for (title, all) in &again {
        assert_eq!(all.len(), 2, "{title}");
        assert_death(all[0]);
        assert_eq!((&all[0]["final"], &all[0]["attempt"]), (&false.into(), &1.into()));
        // A retried pass, by the rule that holds for every retry.
        assert_eq!((&all[1]["status"], &all[1]["flaky"]), (&"passed".into(), &true.into()));
    }
    for (title, all) in &others {
        assert_eq!(
            (&all[0]["status"], &all[0]["attempt"]),
            (&"passed".into(), &1.into()),
            "{title}"
        );
        assert!(all[0]["flaky"].is_null(), "{title}");
    }
    let count = again.len();
    let shown = format!("{count} conversations were run again because their agent process died");
    assert!(ran.stdout.contains(&shown), "{}", ran.terminal());
    assert!(ran.stdout.contains(&format!("{count} flaky")), "{}", ran.terminal());
    let strict = project(", processes: 2", &words).run(&["run", "--flaky", "fail"]);
    assert_eq!(strict.code, Some(1), "{}", strict.terminal());
    env.assert_no_process_left();
    env.assert_complete();
}

#[test]
fn an_agent_that_always_dies_is_errored_after_the_second_death() {
    let env = project("", &["always"; 3]);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(3);
    for (title, all) in attempts(&recorded) {
        assert_eq!(all.len(), 2, "{title}");
        assert_death(all[0]);
        assert_eq!((&all[1]["status"], &all[1]["fault"]), (&"errored".into(), &"agent".into()));
        assert_eq!(all[1]["final"], true, "{title}");
    }
    assert!(ran.stdout.contains("3 errored"), "{}", ran.terminal());
    env.assert_no_process_left();
}

#[test]
fn a_conversation_that_kills_its_process_every_time_errors_no_other() {
    let mut words = vec!["hello"; 24];
    words[3] = "always";
    let env = project("", &words);
    let ran = env.run(&["run", "--concurrency", "8"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(24);
    assert_eq!(
        recorded.statuses(),
        [("errored".to_owned(), 1), ("passed".to_owned(), 23)].into(),
        "{}",
        ran.terminal()
    );
    assert_eq!(recorded.result("always 3").status, "errored");
    env.assert_no_process_left();
}

#[test]
fn a_process_of_one_conversation_is_not_given_a_second_try() {
    let env = project(", process_per_conversation: true", &["always", "hello"]);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(attempts(&env.recorded()).values().map(Vec::len).sum::<usize>(), 2);
}

/// The same agent as an HTTP server; `half` sends half an answer and dies. `starts` has a line for each process.
const SERVER: &str = r#"
import http.server, json, os, signal, sys, threading
def first_time():
    try:
        os.close(os.open("died", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
doomed = threading.Event()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))["message"]
        if said == "always" or doomed.is_set():
            os.kill(os.getpid(), signal.SIGKILL)
        if said == "once" and first_time():
            doomed.set()
            threading.Event().wait()
        body = json.dumps({"text": f"ok {os.getpid()}"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if said == "half":
            self.wfile.write(body[:5])
            self.wfile.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self.wfile.write(body)
    def log_message(self, *_): pass
with open("starts", "a") as starts: starts.write("x\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.daemon_threads = True
server.serve_forever()
"#;

fn served(more: &str, words: &[&str]) -> TestEnv {
    let env = project("", words);
    env.write("server.py", SERVER);
    let text = env.read("a.scenario.yaml").replace(
        "{command: [python3, agent.py]}",
        &format!(
            "{{command: [python3, server.py, '${{port}}']{more}, http: {{url: 'http://127.0.0.1:${{port}}/', body: {{message: '${{message}}'}}, text: /text}}}}"
        ),
    );
    env.write("a.scenario.yaml", &text);
    env
}

#[test]
fn a_served_agent_that_dies_is_started_again_and_its_conversations_run_once_more() {
    let mut words = vec!["hello"; 30];
    words[11] = "once";
    let env = served("", &words);
    let ran = env.run(&["run", "--concurrency", "6"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(30);
    let attempts = attempts(&recorded);
    let (again, others): (Vec<_>, Vec<_>) = attempts.iter().partition(|(_, all)| all.len() > 1);
    assert!(again.len() >= 2, "{} were cut off", again.len());
    assert!(again.iter().any(|(title, _)| title.ends_with("once 11")), "{}", ran.terminal());
    for (title, all) in &again {
        assert_eq!(all.len(), 2, "{title}");
        assert_death(all[0]);
        assert_eq!((&all[1]["status"], &all[1]["flaky"]), (&"passed".into(), &true.into()));
    }
    assert!(others.iter().all(|(_, all)| all[0]["status"] == "passed"), "{}", ran.terminal());
    let shown =
        format!("{} conversations were run again because their agent process died", again.len());
    assert!(ran.stdout.contains(&shown), "{}", ran.terminal());
    // The first, one for each that was run again, and a shared one for those that had not begun.
    let starts = env.read("starts").lines().count();
    assert!((again.len() + 1..=again.len() + 2).contains(&starts), "{starts} servers");
    env.assert_no_process_left();
    env.assert_complete();
}

#[test]
fn a_conversation_that_kills_its_server_every_time_errors_no_other() {
    for word in ["always", "half"] {
        let mut words = vec!["hello"; 12];
        words[3] = word;
        let env = served("", &words);
        let ran = env.run(&["run", "--concurrency", "4"]);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(12);
        let expected = [("errored".to_owned(), 1), ("passed".to_owned(), 11)];
        assert_eq!(recorded.statuses(), expected.into(), "{}", ran.terminal());
        let attempts = attempts(&recorded);
        let guilty = &attempts[attempts.keys().find(|title| title.contains(word)).unwrap()];
        assert_eq!(guilty.len(), 2, "{}", ran.terminal());
        assert_death(guilty[0]);
        assert_eq!((&guilty[1]["fault"], &guilty[1]["final"]), (&"agent".into(), &true.into()));
        env.assert_no_process_left();
    }
}

#[test]
fn a_server_of_one_conversation_is_not_given_a_second_try() {
    let env = served(", process_per_conversation: true", &["always", "hello"]);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(attempts(&env.recorded()).values().map(Vec::len).sum::<usize>(), 2);
    env.assert_no_process_left();
}
