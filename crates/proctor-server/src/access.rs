//! Access control: checks of the headers of a request. Pure.
//!
//! A page on the internet can make a browser send requests to this server. Such requests have a foreign Host (a DNS name that points to this
//! machine), a foreign Origin, or a foreign Sec-Fetch-Site, and are refused. All others need the token: as a header, in the query once, or as the
//! cookie for which the query was exchanged.

use proctor_stream::equals_in_constant_time;
use proctor_text::{host_name, is_loopback_name};

/// The headers of a request that access depends on.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RequestHeaders<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) fetch_site: Option<&'a str>,
    pub(crate) fetch_mode: Option<&'a str>,
    pub(crate) authorization: Option<&'a str>,
    pub(crate) cookies: Option<&'a str>,
    pub(crate) query: Option<&'a str>,
}

/// What a request must have.
#[derive(Debug, Clone)]
pub(crate) struct AccessRules {
    /// The secret in the printed address.
    pub(crate) token: String,
    /// The secret in the cookie.
    pub(crate) session: String,
    /// The name of the cookie; browsers do not keep the cookies of two ports apart.
    pub(crate) cookie: String,
    /// Accepted host names besides the loopback names.
    pub(crate) hosts: Vec<String>,
}

/// How a request was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// By the header or the cookie.
    Known,
    /// By the token in the query: the response sets the cookie.
    ByQuery,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A header that access depends on was sent twice: a proxy and this server could take different ones.
    RepeatedHeader,
    ForeignHost,
    ForeignOrigin,
    NoToken,
}

impl AccessRules {
    pub(crate) fn check(&self, request: &RequestHeaders<'_>) -> Result<Admission, Refused> {
        let host =
            request.host.filter(|host| self.is_own_host(host)).ok_or(Refused::ForeignHost)?;
        if request.origin.is_some_and(|origin| !is_same_origin(origin, host)) {
            return Err(Refused::ForeignOrigin);
        }
        // A link on another page may lead here; anything else that another page causes may not.
        let from_elsewhere =
            request.fetch_site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if from_elsewhere && request.fetch_mode != Some("navigate") {
            return Err(Refused::ForeignOrigin);
        }
        self.admit(request)
    }

    fn admit(&self, request: &RequestHeaders<'_>) -> Result<Admission, Refused> {
        let bearer = request.authorization.and_then(|value| value.strip_prefix("Bearer "));
        let cookie = request.cookies.and_then(|cookies| self.own_cookie(cookies));
        if bearer.is_some_and(|given| equals_in_constant_time(given, &self.token))
            || cookie.is_some_and(|given| equals_in_constant_time(given, &self.session))
        {
            return Ok(Admission::Known);
        }
        let in_query = request.query.and_then(token_of);
        if in_query.is_some_and(|given| equals_in_constant_time(given, &self.token)) {
            return Ok(Admission::ByQuery);
        }
        Err(Refused::NoToken)
    }

    fn own_cookie<'a>(&self, cookies: &'a str) -> Option<&'a str> {
        cookies.split(';').find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }

    fn is_own_host(&self, authority: &str) -> bool {
        host_name(authority).is_some_and(|name| {
            is_loopback_name(name) || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
        })
    }
}

fn is_same_origin(origin: &str, host: &str) -> bool {
    origin
        .split_once("://")
        .is_some_and(|(scheme, authority)| scheme == "http" && authority.eq_ignore_ascii_case(host))
}

fn token_of(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// The query without the token.
pub(crate) fn without_token(query: &str) -> String {
    let rest: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("token=")).collect();
    rest.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access_rules() -> AccessRules {
        AccessRules {
            token: "s3cret".into(),
            session: "c00kie".into(),
            cookie: "proctor_80".into(),
            hosts: vec!["box.lan".into()],
        }
    }

    const GOOD: RequestHeaders<'static> = RequestHeaders {
        host: Some("127.0.0.1:80"),
        authorization: Some("Bearer s3cret"),
        origin: None,
        fetch_site: None,
        fetch_mode: None,
        cookies: None,
        query: None,
    };

    #[test]
    fn hosts() {
        let with = |host| access_rules().check(&RequestHeaders { host, ..GOOD });
        for fine in
            ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]:80", "box.lan:9"]
        {
            assert_eq!(with(Some(fine)), Ok(Admission::Known), "{fine}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "",
            "127.0.0.1.nip.io:80",
            "[::1].evil.example",
        ] {
            assert_eq!(with(Some(bad)), Err(Refused::ForeignHost), "{bad}");
        }
        assert_eq!(with(None), Err(Refused::ForeignHost));
    }

    #[test]
    fn origins_are_exactly_our_own() {
        let with = |origin| access_rules().check(&RequestHeaders { origin: Some(origin), ..GOOD });
        assert_eq!(with("http://127.0.0.1:80"), Ok(Admission::Known));
        for bad in
            ["http://127.0.0.1:81", "https://127.0.0.1:80", "null", "http://evil.example", ""]
        {
            assert_eq!(with(bad), Err(Refused::ForeignOrigin), "{bad}");
        }
        let embedded = RequestHeaders { fetch_site: Some("same-site"), ..GOOD };
        assert_eq!(access_rules().check(&embedded), Err(Refused::ForeignOrigin));
        let link =
            RequestHeaders { fetch_mode: Some("navigate"), fetch_site: Some("cross-site"), ..GOOD };
        assert_eq!(access_rules().check(&link), Ok(Admission::Known));
    }

    #[test]
    fn the_token_comes_by_header_query_or_cookie() {
        let nobody = RequestHeaders { authorization: None, ..GOOD };
        let check = |request| access_rules().check(&request);
        assert_eq!(check(nobody), Err(Refused::NoToken));
        assert_eq!(
            check(RequestHeaders { query: Some("a=1&token=s3cret"), ..nobody }),
            Ok(Admission::ByQuery)
        );
        assert_eq!(
            check(RequestHeaders { cookies: Some("x=1; proctor_80=c00kie"), ..nobody }),
            Ok(Admission::Known)
        );
        for cookies in ["proctor_81=c00kie", "proctor_80=s3cret", "proctor_80=", "proctor_80"] {
            assert_eq!(
                check(RequestHeaders { cookies: Some(cookies), ..nobody }),
                Err(Refused::NoToken)
            );
        }
        for authorization in ["s3cret", "Bearer", "Bearer s3cre", "bearer s3cret"] {
            let request = RequestHeaders { authorization: Some(authorization), ..nobody };
            assert_eq!(check(request), Err(Refused::NoToken), "{authorization}");
        }
    }

    #[test]
    fn the_token_is_taken_out_of_the_address() {
        assert_eq!(without_token("token=x"), "");
        assert_eq!(without_token("a=1&token=x&b=2"), "a=1&b=2");
    }
}
