//! The host in an authority of a URL, which is also what the header Host holds.

/// The host of an authority (`HOST`, `HOST:PORT`, `[IPV6]`, `[IPV6]:PORT`), as the grammar of URLs has it; `None` where the text is
/// anything else: a user before the host, a second colon, a port that is no number.
pub fn host_name(authority: &str) -> Option<&str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_port = |text: &str| text.is_empty() || is_number(text) && text.parse::<u16>().is_ok();
    let is_sound = !host.is_empty()
        && host.bytes().all(is_host)
        && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    is_sound.then_some(host)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a host name is `localhost` or a loopback address.
pub fn is_loopback_name(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
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
            "localhost:80.evil.example",
            "localhost:80:90",
            "localhost:port",
            "localhost:+80",
            "localhost:99999",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost/",
            "localhost#",
            "localhost ",
            "localhost,evil.example",
            "[localhost]",
            "::1",
            ":80",
        ] {
            assert!(!is_local(foreign), "{foreign}");
        }
    }
}
