//! Sending a run to an OpenTelemetry collector: OTLP over HTTP, in JSON.

use std::time::Duration;

use proctor_record::{ExampleSource, RunData};
use proctor_report::otlp_traces;

use crate::error::CommandError;
use crate::{env_vars, secrets};

/// How long a collector may take for one batch.
const WITHIN: Duration = Duration::from_secs(30);
/// How many examples go in one request.
const BATCH: usize = 100;

/// Sends every attempt; the first batch that is not taken ends it.
pub(super) fn send(
    address: &str,
    source: &dyn ExampleSource,
    content: bool,
) -> Result<(), CommandError> {
    let url = endpoint(address)?;
    let failed = |problem: &dyn std::fmt::Display| {
        CommandError::system(format_args!("traces were not taken by {url}: {problem}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A provider that someone else has installed serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        reqwest::Client::builder().timeout(WITHIN).build().map_err(|error| failed(&error))?;
    let places: Vec<usize> = (0..source.example_count()).collect();
    for places in places.chunks(BATCH) {
        let mut part = RunData { run_id: source.run().run_id.clone(), ..RunData::default() };
        for place in places {
            source.with_example(*place, &mut |example| part.examples.push(example.clone()))?;
        }
        let mut request = client
            .post(&url)
            .header("content-type", "application/json")
            .body(secrets::without(&otlp_traces(&part, content).to_string()).into_owned());
        for (name, value) in headers() {
            request = request.header(name, value);
        }
        // The request wants a clock as soon as it is made, so it is made inside.
        let answer = runtime.block_on(async { request.send().await });
        let answer = answer.map_err(|error| failed(&error))?;
        if !answer.status().is_success() {
            return Err(failed(&answer.status()));
        }
    }
    Ok(())
}

/// An address without a path gets the usual one.
fn endpoint(address: &str) -> Result<String, CommandError> {
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let rest = rest.filter(|rest| !rest.is_empty()).ok_or_else(|| {
        CommandError::usage(format_args!("--otlp {address}: use http://HOST:PORT"))
    })?;
    let bare = rest.trim_end_matches('/');
    Ok(if bare.contains('/') {
        address.to_owned()
    } else {
        format!("{}/v1/traces", address.trim_end_matches('/'))
    })
}

fn headers() -> Vec<(String, String)> {
    let list = env_vars::OTEL_EXPORTER_OTLP_HEADERS.get().unwrap_or_default();
    list.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().replace("%20", " ")))
        .collect()
}
