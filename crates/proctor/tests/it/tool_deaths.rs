//! Tool servers and models that die while several conversations need them: never the agent's fault, and the rest goes on.

use serde_json::Value;

use crate::env::TestEnv;

/// An agent that asks for the tool named by the user, and then says what came of it.
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
            reply |= {"pending_tool_calls": [{"id": "1", "name": last["content"], "arguments": {}}]}
        else:
            reply |= {"text": "ok"}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

/// `look` answers. `once` does not answer the first time; the process then dies with the next call, so that at least two are cut off.
/// With `dies_listing` the first process dies when it is asked for its tools.
const SERVER: &str = r#"
import json, os, signal, sys
def first_time():
    try:
        os.close(os.open("died", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
doomed = False
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        if sys.argv[1:] == ["dies_listing"] and first_time():
            os.kill(os.getpid(), signal.SIGKILL)
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("look", "once")]}
    else:
        if doomed:
            os.kill(os.getpid(), signal.SIGKILL)
        if m["params"]["name"] == "once" and first_time():
            doomed = True
            continue
        result = {"content": [{"type": "text", "text": "found"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"#;

fn project(parts: &str, words: &[&str], check: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("agent.py", AGENT);
    env.write("server.py", SERVER);
    let example = |(number, word): (usize, &&str)| {
        format!("  - {{it: '{word} {number}', steps: [{{user: {word}, expect: [{check}]}}]}}\n")
    };
    let examples: String = words.iter().enumerate().map(example).collect();
    let text = format!(
        "describe: A\nagent: {{command: [python3, agent.py]}}\n{parts}\nexamples:\n{examples}"
    );
    env.write("a.scenario.yaml", &text);
    env
}

/// Runs the project and returns the results that are not passed.
fn errored(env: &TestEnv, count: usize, concurrency: &str) -> Vec<Value> {
    let ran = env.run(&["run", "--concurrency", concurrency]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(count);
    let finished: Vec<Value> = recorded.of("ExampleFinished").cloned().collect();
    assert_eq!(finished.len(), count, "none is run again: {}", ran.terminal());
    env.assert_no_process_left();
    env.assert_complete();
    finished.into_iter().filter(|event| event["status"] != "passed").collect()
}

fn assert_fault(event: &Value, fault: &str) {
    assert_eq!((&event["status"], &event["fault"]), (&"errored".into(), &fault.into()), "{event}");
    assert_ne!(event["exception"]["class"], "AgentProcessDied", "{event}");
}

#[test]
fn a_tool_server_that_dies_costs_the_calls_it_had_and_is_started_again() {
    let mut words = vec!["look"; 24];
    words[7] = "once";
    let env = project("mcp: {s: {command: [python3, server.py]}}", &words, "{match: ok}");
    let cut_off = errored(&env, 24, "4");
    assert!((2..=4).contains(&cut_off.len()), "{} were cut off", cut_off.len());
    for event in &cut_off {
        assert_fault(event, "tool");
    }
}

#[test]
fn a_tool_server_that_dies_while_it_lists_its_tools_is_no_fault_of_the_agent() {
    let parts = "mcp: {s: {command: [python3, server.py, dies_listing]}}";
    let env = project(parts, &["look"; 8], "{match: ok}");
    let cut_off = errored(&env, 8, "1");
    assert_eq!(cut_off.len(), 1, "{cut_off:?}");
    assert_fault(&cut_off[0], "tool");
    assert!(cut_off[0].to_string().contains("the tool server `s`"), "{}", cut_off[0]);
}

/// A model that is a command has a process for each question: nothing is shared, and a death costs the answer to that question.
#[test]
fn a_judge_that_is_killed_is_no_fault_of_the_agent() {
    let env = project(
        "tools: {look: {result: 1}}\nmodels: {judge: {command: [sh, -c, 'kill -9 $$']}}",
        &["look"; 4],
        "{satisfy: Is polite}",
    );
    let text = env.read("a.scenario.yaml")
        + "  - {it: asks nobody, steps: [{user: look, expect: [{match: ok}]}]}\n";
    env.write("a.scenario.yaml", &text);
    let ran = env.run(&["run"]);
    assert_ne!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(5);
    assert_eq!(recorded.result("asks nobody").status, "passed");
    for number in 0..4 {
        let event = recorded.result(&format!("look {number}")).event;
        assert_eq!(
            (&event["status"], &event["fault"]),
            (&"inconclusive".into(), &"judge".into()),
            "{event}"
        );
    }
    env.assert_no_process_left();
}
