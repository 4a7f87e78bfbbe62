//! Where the engine is and how to get in: addresses, credentials, and what is demanded beyond this machine.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The port of NATS where an address names none.
const DEFAULT_PORT: u16 = 4222;
/// The namespace where an address names none.
const DEFAULT_NAMESPACE: &str = "default";

/// `nats://HOST[:PORT][/NAMESPACE]`, or the same with `tls://`.
///
/// Runs and machines meet within one namespace of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
    pub(crate) namespace: String,
}

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not begin as the address of an engine does.
    #[error(
        "an engine is named as nats://HOST:PORT or tls://HOST:PORT, with /NAMESPACE behind it if several projects share the server"
    )]
    Scheme,
    /// It holds a user or a password.
    #[error(
        "the address of an engine holds no user and no password: name a file with credentials instead"
    )]
    Secret,
    /// It names no host.
    #[error("the address names no host")]
    Host,
    /// What stands behind the colon is no port.
    #[error("{0:?} is no port")]
    Port(String),
    /// The namespace cannot be part of a subject.
    #[error("a namespace consists of letters, digits, `-` and `_`, and of at most 32 of them")]
    Namespace,
}

impl FromStr for EngineAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (is_tls, rest) = match (text.strip_prefix("nats://"), text.strip_prefix("tls://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(AddressError::Scheme),
        };
        let (authority, namespace) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(AddressError::Secret);
        }
        let (host, port) = split_port(authority)?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(AddressError::Host);
        }
        let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace };
        if !crate::names::is_token(namespace) || namespace.len() > 32 {
            return Err(AddressError::Namespace);
        }
        Ok(Self { host: host.to_owned(), port, is_tls, namespace: namespace.to_owned() })
    }
}

/// Host and port; an IPv6 address stands in brackets.
fn split_port(authority: &str) -> Result<(&str, u16), AddressError> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| AddressError::Port(text.to_owned()))?,
    };
    Ok((host, port))
}

impl EngineAddress {
    /// Whether the server is on this machine, so that nobody else can read along.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// The part of the server in which runs and machines meet.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The address as the client library reads it.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_tls { "tls" } else { "nats" };
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{host}:{}", self.port)
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())?;
        if self.namespace != DEFAULT_NAMESPACE {
            write!(f, "/{}", self.namespace)?;
        }
        Ok(())
    }
}

/// How a client proves who it is, and whom it trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// A file with the seed of an nkey (`SU…`), or a credentials file of NATS.
    pub credentials: Option<PathBuf>,
    /// Certificates that the server's may be signed by, besides those of the system.
    pub certificates: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, AddressError> {
        text.parse::<EngineAddress>()
            .map(|address| format!("{address} {} {}", address.namespace(), address.is_loopback()))
    }

    #[test]
    fn addresses_are_read_with_their_defaults() {
        let row = |text: &str| text.to_owned();
        assert_eq!(read("nats://localhost"), Ok(row("nats://localhost:4222 default true")));
        assert_eq!(read("nats://127.0.0.2:5/"), Ok(row("nats://127.0.0.2:5 default true")));
        assert_eq!(read("tls://h.example/shop"), Ok(row("tls://h.example:4222/shop shop false")));
        assert_eq!(read("nats://[::1]:7"), Ok(row("nats://[::1]:7 default true")));
        assert_eq!(
            read("nats://[2001:db8::1]"),
            Ok(row("nats://[2001:db8::1]:4222 default false"))
        );
        assert_eq!(
            read("nats://localhost.example.com"),
            Ok(row("nats://localhost.example.com:4222 default false"))
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, error) in [
            ("", AddressError::Scheme),
            ("localhost:4222", AddressError::Scheme),
            ("http://localhost", AddressError::Scheme),
            ("nats://", AddressError::Host),
            ("nats://:4222", AddressError::Host),
            ("nats://a b", AddressError::Host),
            ("nats://u:p@h", AddressError::Secret),
            ("nats://h:0", AddressError::Port("0".to_owned())),
            ("nats://h:70000", AddressError::Port("70000".to_owned())),
            ("nats://::1", AddressError::Port(":1".to_owned())),
            ("nats://h/a/b", AddressError::Namespace),
            ("nats://h/a.b", AddressError::Namespace),
            ("nats://h/*", AddressError::Namespace),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
    }
}
