//! Checks that both servers of events make: whether a host name means this machine, and whether a secret is right.

/// The host of an authority (`HOST`, `HOST:PORT`, `[IPV6]`, `[IPV6]:PORT`); `None` where something else follows the brackets.
pub fn host_name(authority: &str) -> Option<&str> {
    let Some(rest) = authority.strip_prefix('[') else {
        return Some(authority.rsplit_once(':').map_or(authority, |(host, _)| host));
    };
    let (host, rest) = rest.split_once(']')?;
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)).then_some(host)
}

/// Whether a host name is `localhost` or a loopback address.
pub fn is_loopback_name(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes the same time for every difference, so that timing does not reveal a prefix of a secret.
pub fn equals_in_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_port_may_follow_a_host() {
        let is_local = |authority| host_name(authority).is_some_and(is_loopback_name);
        for local in ["localhost", "LOCALHOST:1", "127.9.9.9:80", "[::1]", "[::1]:80", "[::1]:"] {
            assert!(is_local(local), "{local}");
        }
        for foreign in [
            "",
            "[::1",
            "[::1].evil.example",
            "[::1]80",
            "[::1]:80.evil.example",
            "localhost.evil.example",
        ] {
            assert!(!is_local(foreign), "{foreign}");
        }
    }

    #[test]
    fn secrets_are_equal_or_not() {
        assert!(equals_in_constant_time("s3cret", "s3cret"));
        assert!(!equals_in_constant_time("s3cret", "s3creT"));
        assert!(!equals_in_constant_time("s3cret", "s3cre"));
    }
}
