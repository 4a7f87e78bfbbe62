//! Where events go besides the recording: `--events DEST[,DEST…]`, `PROCTOR_EVENTS`, `RSPEC_AGENTS_EVENTS`.
//!
//! A destination is a path for JSON lines, or `ws://HOST[:PORT][/?token=TOKEN]` for a WebSocket server on
//! this machine. Parsing is pure; a bad destination is refused with its reason before anything runs.

use std::fmt;
use std::path::PathBuf;

/// The port of `ws://localhost` without one.
pub const DEFAULT_PORT: u16 = 4567;

/// One place that events go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Append JSON lines to this file.
    File(PathBuf),
    /// Serve a WebSocket here.
    WebSocket(WebSocketAddress),
}

/// The address of a WebSocket observer. Only loopback: the stream holds the messages of the agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketAddress {
    /// A loopback host.
    pub host: String,
    /// The port; 0 takes any free one.
    pub port: u16,
    /// A token that clients must present, if any.
    pub token: Option<String>,
}

impl fmt::Display for WebSocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|token| format!("/?token={token}")).unwrap_or_default();
        write!(f, "ws://{}:{}{token}", self.host, self.port)
    }
}

/// A destination that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("events destination `{destination}`: {reason}")]
pub struct BadDestination {
    /// As it was given.
    pub destination: String,
    /// Why not.
    pub reason: String,
}

/// Parses a comma-separated list; an empty one has none. A destination that is given twice counts once.
pub fn parse(list: &str) -> Result<Vec<Destination>, BadDestination> {
    let mut destinations: Vec<Destination> = Vec::new();
    for destination in parts(list).map(parse_one) {
        let destination = destination?;
        if !destinations.contains(&destination) {
            destinations.push(destination);
        }
    }
    Ok(destinations)
}

/// The parts of a comma-separated list.
pub fn parts(list: &str) -> impl Iterator<Item = &str> {
    let is_empty = list.trim().is_empty();
    list.split(',').map(str::trim).filter(move |_| !is_empty)
}

fn bad(destination: &str, reason: impl Into<String>) -> BadDestination {
    BadDestination { destination: destination.to_owned(), reason: reason.into() }
}

/// Parses one destination.
pub fn parse_one(text: &str) -> Result<Destination, BadDestination> {
    if text.is_empty() {
        return Err(bad(text, "is empty; give a path or ws://localhost:PORT"));
    }
    if text.contains('\0') {
        return Err(bad(text, "contains a NUL character, which a path cannot"));
    }
    match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ws") => {
            web_socket(rest).map(Destination::WebSocket).map_err(|reason| bad(text, reason))
        }
        Some((scheme, _)) if is_scheme(scheme) => Err(bad(
            text,
            format!("`{scheme}://` is not supported; use a path or ws://localhost:PORT"),
        )),
        _ if text.ends_with('/') => Err(bad(text, "is a folder; name a file in it")),
        _ => Ok(Destination::File(PathBuf::from(text))),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn web_socket(rest: &str) -> Result<WebSocketAddress, String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("user names are not supported; use /?token=TOKEN".into());
    }
    let (host, port) = split_port(authority)?;
    if !is_loopback(host) {
        return Err(format!(
            "`{host}` is not this machine; only localhost, 127.0.0.0/8 and [::1] are served"
        ));
    }
    Ok(WebSocketAddress { host: host.to_owned(), port, token: token(path)? })
}

fn split_port(authority: &str) -> Result<(&str, u16), String> {
    // An IPv6 host stands in brackets, whose colons are not the port's.
    let search_from = authority.rfind(']').unwrap_or(0);
    let Some(colon) = authority[search_from..].rfind(':').map(|at| at + search_from) else {
        return Ok((authority, DEFAULT_PORT));
    };
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    let digits = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    match port.parse() {
        Ok(number) if digits => Ok((host, number)),
        _ => {
            Err(format!("`{port}` is not a port; use a number from 0 to 65535 (0 = any free one)"))
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn token(path: &str) -> Result<Option<String>, String> {
    match path {
        "" | "/" => Ok(None),
        _ => {
            let token = path.strip_prefix('/').unwrap_or(path).strip_prefix("?token=").ok_or_else(
                || format!("`{path}` is not understood; only /?token=TOKEN may follow"),
            )?;
            let fine = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
            if token.is_empty() || !token.chars().all(fine) {
                return Err("the token may hold only letters, digits and - _ . ~".into());
            }
            Ok(Some(token.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(list: &str) -> String {
        match parse(list) {
            Err(error) => error.to_string(),
            Ok(all) => all
                .iter()
                .map(|destination| match destination {
                    Destination::File(path) => format!("file {}", path.display()),
                    Destination::WebSocket(address) => address.to_string(),
                })
                .collect::<Vec<_>>()
                .join(" + "),
        }
    }

    #[test]
    fn good_ones() {
        assert_eq!(shown("events.jsonl"), "file events.jsonl");
        assert_eq!(shown("ws://localhost:4567"), "ws://localhost:4567");
        assert_eq!(shown("ws://localhost"), "ws://localhost:4567");
        assert_eq!(shown("WS://[::1]:0/?token=s3cret"), "ws://[::1]:0/?token=s3cret");
        assert_eq!(
            shown("events.jsonl,ws://localhost:4567"),
            "file events.jsonl + ws://localhost:4567"
        );
        assert_eq!(shown(" a.jsonl , out/b.jsonl "), "file a.jsonl + file out/b.jsonl");
        assert_eq!(shown("C:odd"), "file C:odd");
        assert_eq!(
            shown("a,b,a,ws://localhost,ws://localhost:4567"),
            "file a + file b + ws://localhost:4567"
        );
        assert_eq!(shown(""), "");
    }

    #[test]
    fn bad_ones_say_why() {
        let cases = [
            "a,,b",
            "http://localhost:1",
            "wss://localhost:1",
            "ws://localhost:http",
            "ws://localhost:70000",
            "ws://localhost:+1",
            "ws://0.0.0.0:1",
            "ws://example.org:80",
            "ws://:1",
            "ws://me@localhost:1",
            "ws://localhost:1/chat",
            "ws://localhost:1/?token=",
            "out/",
        ];
        let all: Vec<String> = cases.iter().map(|case| shown(case)).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        events destination ``: is empty; give a path or ws://localhost:PORT
        events destination `http://localhost:1`: `http://` is not supported; use a path or ws://localhost:PORT
        events destination `wss://localhost:1`: `wss://` is not supported; use a path or ws://localhost:PORT
        events destination `ws://localhost:http`: `http` is not a port; use a number from 0 to 65535 (0 = any free one)
        events destination `ws://localhost:70000`: `70000` is not a port; use a number from 0 to 65535 (0 = any free one)
        events destination `ws://localhost:+1`: `+1` is not a port; use a number from 0 to 65535 (0 = any free one)
        events destination `ws://0.0.0.0:1`: `0.0.0.0` is not this machine; only localhost, 127.0.0.0/8 and [::1] are served
        events destination `ws://example.org:80`: `example.org` is not this machine; only localhost, 127.0.0.0/8 and [::1] are served
        events destination `ws://:1`: `` is not this machine; only localhost, 127.0.0.0/8 and [::1] are served
        events destination `ws://me@localhost:1`: user names are not supported; use /?token=TOKEN
        events destination `ws://localhost:1/chat`: `/chat` is not understood; only /?token=TOKEN may follow
        events destination `ws://localhost:1/?token=`: the token may hold only letters, digits and - _ . ~
        events destination `out/`: is a folder; name a file in it
        ");
    }

    proptest! {
        /// Whatever is accepted is loopback, and its own text is accepted again as the same.
        #[test]
        fn accepted_addresses_are_loopback_and_stable(text in "(ws://)?[a-z0-9.:/?=@\\[\\]#,-]{0,24}") {
            for destination in parse(&text).unwrap_or_default() {
                if let Destination::WebSocket(address) = destination {
                    prop_assert!(is_loopback(&address.host));
                    prop_assert_eq!(
                        parse(&address.to_string()),
                        Ok(vec![Destination::WebSocket(address)])
                    );
                }
            }
        }
    }
}
