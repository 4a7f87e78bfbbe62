//! `shop-tools` over its pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

#[test]
fn it_speaks_the_model_context_protocol() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_shop-tools"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, method: &str, params: Value| -> Value {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let hello = ask(1, "initialize", json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let tools = ask(2, "tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][0]["name"], "lookup_order");
    let refund =
        json!({"name": "create_refund", "arguments": {"order_id": "1001", "amount": 49.9}});
    assert_eq!(ask(3, "tools/call", refund.clone())["result"]["isError"], false);
    let again = ask(4, "tools/call", refund);
    assert_eq!(again["result"]["isError"], true, "{again}");
    assert_eq!(ask(5, "no/such", json!({}))["error"]["code"], -32601);
    drop(input);
    assert!(server.wait().unwrap().success());
}
