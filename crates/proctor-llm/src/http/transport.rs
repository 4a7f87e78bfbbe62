//! Sending one request and reading its answer, bounded in time and size.
//!
//! Follows no redirects (a key must not travel on), and looks at no environment variable: a proxy
//! is named by the configuration or not used.

use std::time::Duration;

use proctor_redact::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::Peer;
use crate::error::{ErrorKind, ModelError};

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of the body of a failure is read.
const FAILURE_BYTES: usize = 64 << 10;

/// A pool of connections to one address.
#[derive(Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    shown: String,
}

/// One request.
pub(crate) struct HttpCall<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(String, Secret)],
    pub(crate) body: Option<String>,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// An answer whose body is still to be read.
pub(crate) struct ResponseBody {
    response: reqwest::Response,
    pub(crate) headers: HeaderMap,
    pub(crate) content_type: String,
    idle_timeout: Duration,
    left: usize,
    max_bytes: usize,
}

fn config(message: String) -> ModelError {
    ModelError::new(ErrorKind::Config, message)
}

impl Transport {
    pub(crate) fn new(address: &str, proxy: Option<&Secret>) -> Result<Self, ModelError> {
        let url = reqwest::Url::parse(address).map_err(|problem| {
            config(format!("`{}` is not a URL: {problem}", without_user(address)))
        })?;
        let plain = match url.scheme() {
            "http" => true,
            "https" => false,
            other => {
                return Err(config(format!("a URL begins with http or https, not `{other}`")));
            }
        };
        // A provider that someone else has installed serves as well, so the outcome is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("proctor/", env!("CARGO_PKG_VERSION")));
        if plain {
            // Without TLS the machine's certificates need not be there, or be read.
            builder = builder.tls_certs_only([]);
        }
        if let Some(proxy) = proxy {
            let proxy = reqwest::Proxy::all(proxy.reveal())
                .map_err(|_| config("the proxy's address cannot be understood".into()))?;
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|problem| {
            config(format!("cannot create the HTTP client: {}", problem.without_url()))
        })?;
        Ok(Self { client, shown: without_user(address) })
    }

    /// The address as it may be shown.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Sends a request; an answer that is no success becomes an error.
    pub(crate) async fn send(
        &self,
        call: HttpCall<'_>,
        peer: &Peer,
    ) -> Result<ResponseBody, ModelError> {
        let method = reqwest::Method::from_bytes(call.method.as_bytes())
            .map_err(|_| config(format!("`{}` is no HTTP method", call.method)))?;
        let mut request = self.client.request(method, call.url).headers(header_map(call.headers)?);
        if let Some(body) = call.body {
            request = request.body(body);
        }
        let sent = tokio::time::timeout(call.idle_timeout, request.send()).await;
        let response = sent
            .map_err(|_| peer.idle_error(call.idle_timeout))?
            .map_err(|problem| peer.unreachable_error(problem))?;
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or("a body without a type").to_owned();
        let (status, headers) = (response.status(), response.headers().clone());
        let (idle_timeout, max_bytes) = (call.idle_timeout, call.max_bytes);
        let left = max_bytes;
        let mut body =
            ResponseBody { response, headers, content_type, idle_timeout, left, max_bytes };
        if status.is_success() {
            return Ok(body);
        }
        let error_body = body.read_beginning(peer).await;
        Err(peer.status(status.as_u16(), &body.headers, &error_body))
    }
}

impl ResponseBody {
    pub(crate) fn is_event_stream(&self) -> bool {
        self.content_type.to_ascii_lowercase().starts_with("text/event-stream")
    }

    /// The next piece, as it comes.
    pub(crate) async fn piece(&mut self, peer: &Peer) -> Result<Option<Vec<u8>>, ModelError> {
        let read = tokio::time::timeout(self.idle_timeout, self.response.chunk()).await;
        let piece = read
            .map_err(|_| peer.idle_error(self.idle_timeout))?
            .map_err(|problem| peer.truncated_error(problem))?;
        let Some(piece) = piece else { return Ok(None) };
        let Some(left) = self.left.checked_sub(piece.len()) else {
            return Err(peer.too_large_error(self.max_bytes));
        };
        self.left = left;
        Ok(Some(piece.to_vec()))
    }

    /// The whole body.
    pub(crate) async fn text(&mut self, peer: &Peer) -> Result<String, ModelError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(peer).await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The beginning of a body that only explains a failure; however that ends.
    async fn read_beginning(&mut self, peer: &Peer) -> String {
        let mut bytes = Vec::new();
        while let Ok(Some(piece)) = self.piece(peer).await {
            bytes.extend_from_slice(&piece);
            if bytes.len() > FAILURE_BYTES {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads what follows a finished answer for a moment, so that the connection can be used again.
    pub(crate) async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _ = tokio::time::timeout(Duration::from_millis(20), rest).await;
    }
}

fn header_map(headers: &[(String, Secret)]) -> Result<HeaderMap, ModelError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| config(format!("`{name}` is no name for a header")))?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| {
            config(format!("the value of the header `{name}` holds characters that headers cannot"))
        })?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// An address without user, password and query, which may hold keys.
pub(super) fn without_user(address: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(address) else { return "the given text".into() };
    // Both fail only for addresses that have no user anyway.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}
