//! `shop-tools`: the shop's tools as a server of the Model Context Protocol on standard input and output.

use std::io::{BufRead as _, Write as _};

use proctor_examples::support::Shop;
use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let mut shop = Shop::default();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        // Notifications have no id and get no answer.
        let Some(id) = message.get("id") else { continue };
        let mut answer = match handle(&mut shop, &message) {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": {"code": -32601, "message": error}}),
        };
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn handle(shop: &mut Shop, message: &Value) -> Result<Value, String> {
    let params = &message["params"];
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => Ok(json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop-tools", "version": env!("CARGO_PKG_VERSION")},
        })),
        "ping" => Ok(json!({})),
        "tools/list" => {
            let tool = |tool: &proctor_examples::support::Tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.schema});
            Ok(json!({"tools": Shop::tools().iter().map(tool).collect::<Vec<_>>()}))
        }
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let outcome = shop.call(name, &params["arguments"]);
            let is_error = outcome.is_err();
            let text = outcome.map_or_else(|error| error, |result| result.to_string());
            Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
        }
        method => Err(format!("no method {method}")),
    }
}
