//! Bytes on the wire, for every version of the protocol.

use std::time::Duration;

use proctor_mcp::{Answers, Listing, Offer};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use crate::test_project::TestProject;

/// Versions with a handshake.
pub(crate) const HANDSHAKE: [&str; 2] = ["2025-06-18", "2025-11-25"];
/// The version without.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Every tool, with the schemas of results.
const STRUCTURED: Offer = Offer { listing: Listing::Whole, answers: Answers::Structured };

pub(crate) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    server: JoinHandle<()>,
    version: &'static str,
    id: u64,
    /// Notifications that came before the answer.
    pub(crate) notified: Vec<Value>,
}

impl Client {
    pub(crate) async fn connect(project: &TestProject, version: &'static str) -> Self {
        Self::connect_to(project, version, STRUCTURED).await
    }

    async fn connect_to(project: &TestProject, version: &'static str, offer: Offer) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let tools = project.tools.clone();
        let server = tokio::spawn(async move {
            proctor_mcp::serve(tools, offer, input, output).await.unwrap();
        });
        let (reader, writer) = tokio::io::split(ours);
        let lines = BufReader::new(reader).lines();
        let mut client = Self { lines, writer, server, version, id: 0, notified: Vec::new() };
        if version != STATELESS {
            let answer = client
                .request(
                    "initialize",
                    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } }),
                )
                .await;
            assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
            assert_eq!(answer["result"]["serverInfo"]["name"], "proctor");
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            client.send(&ready).await;
        }
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        self.id += 1;
        if self.version == STATELESS {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "test", "version": "1" });
        }
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_mins(1), self.lines.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            self.notified.push(message);
        }
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer =
            self.request("tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    pub(crate) async fn close(mut self) {
        self.writer.shutdown().await.unwrap();
        drop(self.writer);
        drop(self.lines);
        tokio::time::timeout(Duration::from_mins(1), self.server).await.unwrap().unwrap();
    }
}

fn entry() -> Value {
    json!({
        "domain": "testing", "strategy": "read-the-error", "goal": "g", "hypothesis": "h",
        "action": "a", "prediction": "p"
    })
}

#[tokio::test]
async fn every_version_lists_and_calls() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let project = TestProject::new();
        let mut client = Client::connect(&project, version).await;
        let listed = client.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), project.tools.all().len(), "{version}");
        let create = tools.iter().find(|tool| tool["name"] == "ghap_create").unwrap();
        assert_eq!(create["annotations"]["readOnlyHint"], false);
        assert!(create["inputSchema"]["properties"]["goal"]["description"].is_string());
        assert!(create["outputSchema"]["properties"]["similar"].is_object());
        let created = client.call("ghap_create", entry()).await;
        assert_eq!(created["isError"], false, "{version}: {created}");
        assert_eq!(created["structuredContent"]["entry"]["status"], "active");
        let text = created["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text, created["structuredContent"], "the same as text, for older clients");
        client.close().await;
    }
}

/// What an agent pays for having the server at all, in bytes of the list that its client sends with every request.
const MOST_LISTED_BYTES: usize = 12 << 10;

#[tokio::test]
async fn the_short_list_is_small_and_reaches_every_tool() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let project = TestProject::new();
        let mut client = Client::connect_to(&project, version, Offer::default()).await;
        let listed = client.request("tools/list", json!({})).await;
        let size = listed.to_string().len();
        assert!(size <= MOST_LISTED_BYTES, "{size} bytes");
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["outputSchema"].is_null()));
        let offered = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        for tool in project.tools.all() {
            let described = client.call("tool_describe", json!({ "name": tool.name })).await;
            let described = text_of(&described);
            assert_eq!(described["parameters"], Value::Object(tool.input_schema.clone()));
            let group = client.call("tool_describe", json!({ "group": tool.group.name() })).await;
            let group = text_of(&group);
            let mut named = group["tools"].as_array().unwrap().iter();
            assert!(named.any(|other| other["name"] == tool.name) || offered(tool.name));
        }
        let create = json!({ "name": "ghap_create", "arguments": entry() });
        let created = client.call("tool_call", create).await;
        assert_eq!(created["structuredContent"], Value::Null, "a result is sent once");
        assert_eq!(text_of(&created)["entry"]["status"], "active", "{version}: {created}");
        let current = client.call("ghap_current", json!({})).await;
        assert_eq!(current["isError"], false, "by its own name, too: {current}");
        client.close().await;
    }
}

#[tokio::test]
async fn mistakes_in_calls_of_tools_that_are_not_listed_are_named() {
    let project = TestProject::new();
    let mut client = Client::connect_to(&project, STATELESS, Offer::default()).await;
    for (name, arguments, words) in [
        ("tool_call", json!({}), "`name` is missing"),
        ("tool_call", json!({ "name": 3 }), "`name` is missing"),
        ("tool_call", json!({ "name": "ghap_create", "arguments": {} }), "domain"),
        (
            "tool_describe",
            json!({ "group": "cooking" }),
            "groups: runs, journal, workspaces, cover",
        ),
    ] {
        let answer = client.call(name, arguments).await;
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(answer.to_string().contains(words), "{words}: {answer}");
    }
    let call = json!({ "name": "tool_call", "arguments": { "name": "tool_call" } });
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    client.close().await;
}

fn text_of(result: &Value) -> Value {
    assert_eq!(result["isError"], false, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_mistake_is_a_result_that_the_model_can_read() {
    let project = TestProject::new();
    let mut client = Client::connect(&project, HANDSHAKE[1]).await;
    client.call("ghap_create", entry()).await;
    let refused = client.call("ghap_create", entry()).await;
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"], Value::Null, "it does not fit the output schema");
    let error: Value =
        serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(error["error"]["kind"], "refused");
    assert!(error["error"]["hints"][1].as_str().unwrap().contains("ghap_resolve"));
    let nobody =
        client.request("tools/call", json!({ "name": "ghap_find", "arguments": {} })).await;
    assert_eq!(nobody["error"]["code"], -32602);
    assert!(nobody["error"]["message"].as_str().unwrap().contains("there is no tool `ghap_find`"));
    client.close().await;
}

#[tokio::test]
async fn a_stateless_client_can_ask_what_there_is() {
    let project = TestProject::new();
    let mut client = Client::connect(&project, STATELESS).await;
    let found = client.request("server/discover", json!({})).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        assert!(versions.contains(&json!(version)), "{found}");
    }
    client.close().await;
}

#[tokio::test]
async fn calls_run_side_by_side_and_leaving_ends_the_server() {
    let project = TestProject::new();
    let mut client = Client::connect(&project, HANDSHAKE[0]).await;
    let mut waiting = Vec::new();
    for lane in 0..20 {
        let mut arguments = entry();
        arguments["lane"] = json!(format!("lane-{lane}"));
        let params = json!({ "name": "ghap_create", "arguments": arguments });
        waiting.push(client.start("tools/call", params).await);
    }
    for _ in 0..20 {
        let answer = client.next().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        waiting.retain(|id| answer["id"] != *id);
    }
    assert_eq!(waiting, [0; 0], "every call has one answer");
    client.close().await;
}

/// F1, F2: what is malformed has the code for parameters, what was never declared the code for methods.
#[tokio::test]
async fn f1_f2_error_codes_are_those_of_the_specification() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let project = TestProject::new();
        let mut client = Client::connect(&project, version).await;
        let cases = [
            ("tools/call", json!({ "name": 7 }), -32602),
            ("tools/call", json!({ "arguments": {} }), -32602),
            ("tools/call", json!({ "name": "run_status", "arguments": [] }), -32602),
            ("tools/call", json!({ "name": "no_such_tool" }), -32602),
            ("tools/list", json!({ "cursor": "beyond" }), -32602),
            ("prompts/list", json!({}), -32601),
            ("resources/list", json!({}), -32601),
            ("resources/templates/list", json!({}), -32601),
            ("resources/read", json!({ "uri": "file:///a" }), -32601),
            ("prompts/get", json!({ "name": "a" }), -32601),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": "a", "value": "" } }),
                -32601,
            ),
            ("no/such/method", json!({}), -32601),
        ];
        for (method, params, code) in cases {
            let answer = client.request(method, params.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{version} {method} {params}: {answer}");
        }
        let listed = client.request("tools/list", json!({})).await;
        assert!(listed["result"]["tools"].is_array(), "still there: {listed}");
        client.close().await;
    }
}

/// F3: a version that demands batches is not agreed to.
#[tokio::test]
async fn f3_older_versions_get_the_newest_with_a_handshake() {
    let project = TestProject::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let tools = project.tools.clone();
    let server =
        tokio::spawn(async move { proctor_mcp::serve(tools, STRUCTURED, input, output).await });
    let (reader, mut writer) = tokio::io::split(ours);
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } }
    });
    writer.write_all(format!("{initialize}\n").as_bytes()).await.unwrap();
    let line = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    server.abort();
}
