//! Checks of the handshake request: host, origin, token, parameters. Pure.

use std::borrow::Cow;

use proctor_text::{host_name, is_loopback_name};

use crate::constant_time::equals_in_constant_time;
use crate::message_form::{MessageFormat, MessageOptions, ProgressFrequency};

/// The parameters of an accepted client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamRequest {
    /// The number of the last event that the client has seen; 0 for none.
    pub(crate) since: u64,
    pub(crate) messages: MessageOptions,
}

/// Why a client is refused: an HTTP status and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) reason: Cow<'static, str>,
}

impl Refused {
    /// A proxy and this server could take different ones.
    pub(crate) fn repeated_header() -> Self {
        refused(400, "Host, Origin and Authorization may be sent once each")
    }
}

fn refused(status: u16, reason: impl Into<Cow<'static, str>>) -> Refused {
    Refused { status, reason: reason.into() }
}

/// The parts of a request that matter.
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) query: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) authorization: Option<&'a str>,
}

/// Checks a request against the token, if one is demanded.
pub(crate) fn check(request: &Request<'_>, token: Option<&str>) -> Result<StreamRequest, Refused> {
    // A page on the internet can make a browser connect to this address, with the Origin of that page. A foreign Host means that a DNS
    // name of others points to this address.
    if !request.host.is_none_or(is_local) {
        return Err(refused(403, "the Host header does not name this machine"));
    }
    if let Some(origin) = request.origin
        && !origin.split_once("://").is_some_and(|(_, host)| is_local(host))
    {
        return Err(refused(403, "pages from other origins may not connect"));
    }
    let mut asked = StreamRequest { since: 0, messages: MessageOptions::default() };
    let messages = &mut asked.messages;
    let mut presented = request.authorization.and_then(|value| value.strip_prefix("Bearer "));
    for pair in request.query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, value) {
            ("token", value) => presented = Some(value),
            ("since", value) => asked.since = event_number(value)?,
            ("format", "envelope") => messages.format = MessageFormat::Envelope,
            ("format", "flat") => messages.format = MessageFormat::Flat,
            ("format", _) => return Err(refused(400, "format is `flat` or `envelope`")),
            ("progress", "each") => messages.progress = ProgressFrequency::Each,
            ("progress", "coalesced") => messages.progress = ProgressFrequency::Coalesced,
            ("progress", _) => return Err(refused(400, "progress is `coalesced` or `each`")),
            _ => return Err(refused(400, "known parameters: since, token, format, progress")),
        }
    }
    match token {
        Some(token) if !presented.is_some_and(|given| equals_in_constant_time(given, token)) => {
            Err(refused(401, "a token is needed: /?token=TOKEN"))
        }
        _ => Ok(asked),
    }
}

fn event_number(value: &str) -> Result<u64, Refused> {
    value.parse().map_err(|_| refused(400, "since is the number of an event"))
}

fn is_local(authority: &str) -> bool {
    host_name(authority).is_some_and(is_loopback_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &Request<'_>, token: Option<&str>) -> u16 {
        check(request, token).map_or_else(|refused| refused.status, |_| 101)
    }

    #[test]
    fn only_local_hosts_and_origins() {
        let with = |host, origin| Request { host: Some(host), origin, ..Request::default() };
        assert_eq!(status(&with("localhost:4567", None), None), 101);
        assert_eq!(status(&with("[::1]:4567", Some("http://127.0.0.1:8080")), None), 101);
        assert_eq!(status(&with("evil.example:4567", None), None), 403);
        assert_eq!(status(&with("localhost:4567", Some("https://evil.example")), None), 403);
        assert_eq!(status(&with("localhost:4567", Some("null")), None), 403);
    }

    #[test]
    fn the_token_is_demanded_where_there_is_one() {
        let query = |query| Request { query: Some(query), ..Request::default() };
        assert_eq!(status(&query(""), Some("s3cret")), 401);
        assert_eq!(status(&query("token=s3creT"), Some("s3cret")), 401);
        assert_eq!(status(&query("token=s3cret"), Some("s3cret")), 101);
        let header = Request { authorization: Some("Bearer s3cret"), ..Request::default() };
        assert_eq!(status(&header, Some("s3cret")), 101);
    }

    #[test]
    fn parameters_are_understood_or_refused() {
        let ask = |query| check(&Request { query: Some(query), ..Request::default() }, None);
        let messages =
            MessageOptions { format: MessageFormat::Envelope, progress: ProgressFrequency::Each };
        assert_eq!(
            ask("since=17&format=envelope&progress=each"),
            Ok(StreamRequest { since: 17, messages })
        );
        let plain = StreamRequest { since: 0, messages: MessageOptions::default() };
        assert_eq!(ask("since=0"), Ok(plain));
        assert_eq!(ask("progress=coalesced&format=flat"), Ok(plain));
        assert_eq!(ask("progress=all").unwrap_err().status, 400);
        assert_eq!(ask("since=x").unwrap_err().status, 400);
        assert_eq!(ask("sinse=1").unwrap_err().status, 400);
    }
}
