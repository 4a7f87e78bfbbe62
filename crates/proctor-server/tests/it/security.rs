//! Who gets in, and what nobody gets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::test_server::{TOKEN, TestServer, small_run};

const EVERYTHING: &[&str] = &[
    "/",
    "/assets/app.js",
    "/assets/app.css",
    "/api/runs",
    "/api/runs/last",
    "/api/runs/last/examples",
    "/api/runs/last/examples/aaa",
    "/api/runs/last/events",
    "/api/compare?before=last&after=last",
    "/api/baselines",
    "/api/history",
    "/api/flaky",
    "/api/search?q=x",
    "/api/journal/entries",
    "/api/journal/stats",
    "/api/openapi.json",
    "/specs/progress",
    "/ws",
    "/no/such/thing",
];

#[test]
fn nothing_without_the_token() {
    let fixture = TestServer::new();
    fixture.record("r1", &small_run());
    for path in EVERYTHING {
        for extra in [
            "",
            "\r\nAuthorization: Bearer wrong",
            "\r\nCookie: proctor=t0ken",
            "\r\nAuthorization: Basic dDB",
        ] {
            let answer = fixture.raw(&format!("GET {path} HTTP/1.1\r\nHost: localhost{extra}"), "");
            assert_eq!(answer.status, 401, "{path} {extra}");
            assert!(!answer.body.contains("r1") && !answer.head.contains(TOKEN));
        }
    }
    for path in ["/specs/run", "/specs/cancel", "/api/runs/last/cancel"] {
        let answer = fixture.raw(&format!("POST {path} HTTP/1.1\r\nHost: localhost"), "{}");
        assert_eq!(answer.status, 401, "{path}");
    }
}

#[test]
fn foreign_hosts_and_origins_are_refused_even_with_the_token() {
    let fixture = TestServer::new();
    let ask = |host: &str, extra: &str| {
        let head = format!(
            "GET /api/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}{extra}"
        );
        fixture.raw(&head, "").status
    };
    let own = format!("127.0.0.1:{}", fixture.port());
    assert_eq!(ask(&own, ""), 200);
    assert_eq!(ask(&own, &format!("\r\nOrigin: http://{own}")), 200);
    assert_eq!(ask("evil.example", ""), 403);
    assert_eq!(ask(&format!("evil.example:{}", fixture.port()), ""), 403);
    assert_eq!(ask(&own, "\r\nOrigin: http://evil.example"), 403);
    assert_eq!(ask(&own, "\r\nOrigin: http://127.0.0.1:1"), 403);
    assert_eq!(ask(&own, "\r\nOrigin: null"), 403);
    assert_eq!(ask(&own, "\r\nSec-Fetch-Site: cross-site"), 403);
    for repeated in [
        format!("\r\nHost: {own}"),
        "\r\nHost: evil.example".to_owned(),
        format!("\r\nOrigin: http://{own}\r\nOrigin: http://evil.example"),
        "\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site".to_owned(),
        "\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Mode: cors".to_owned(),
        format!("\r\nAuthorization: Bearer {TOKEN}"),
    ] {
        assert_eq!(ask(&own, &repeated), 400, "{repeated}");
    }
    for host in
        ["127.0.0.1:80@evil.example", "evil.example@127.0.0.1", "127.0.0.1:x", "127.0.0.1:1:2"]
    {
        assert!([400, 403].contains(&ask(host, "")), "{host}");
    }
    let no_host =
        fixture.raw(&format!("GET /api/runs HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"), "");
    assert!([400, 403].contains(&no_host.status), "{}", no_host.head);
}

#[test]
fn the_token_in_the_address_becomes_a_cookie() {
    let fixture = TestServer::new();
    let first = fixture.raw(&format!("GET /?token={TOKEN} HTTP/1.1\r\nHost: localhost"), "");
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(
        !cookie.contains(TOKEN),
        "the token itself is not handed to other ports of this machine"
    );
    let pair = cookie.split(';').next().unwrap();
    let second = fixture.raw(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {pair}"), "");
    assert_eq!(second.status, 200);
    assert!(second.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert_eq!(second.header("x-content-type-options"), Some("nosniff"));
    let forged = fixture.raw(
        &format!("POST /specs/cancel HTTP/1.1\r\nHost: localhost\r\nCookie: {pair}\r\nOrigin: http://localhost:1"),
        "",
    );
    assert_eq!(forged.status, 403, "a page on another port cannot use the cookie");
}

#[test]
fn no_path_leads_out() {
    let fixture = TestServer::new();
    fixture.record("r1", &small_run());
    std::fs::write(fixture.folder.path().join("secret.txt"), "the secret").unwrap();
    std::fs::create_dir_all(fixture.folder.path().join("out")).unwrap();
    std::fs::write(fixture.folder.path().join("out/events.jsonl"), small_run().join("\n")).unwrap();
    let root = fixture.folder.path().display().to_string().replace('/', "%2F");
    for name in [
        "..",
        "%2e%2e",
        "..%2F..%2Fout",
        "%2E%2E%2F%2E%2E%2Fsecret.txt",
        &root,
        "..%5C..",
        "r1%2F..%2Fr1",
        "%00",
        "r1%00",
    ] {
        for path in [
            format!("/api/runs/{name}"),
            format!("/api/runs/{name}/events"),
            format!("/assets/{name}"),
            format!("/api/compare?before={name}&after=r1"),
            format!("/api/search?q=x&run={name}"),
            format!("/api/compare?before=baseline:{name}&after=r1"),
            format!("/ws?run={name}"),
        ] {
            let answer = fixture.get(&path);
            assert!(
                (400..500).contains(&answer.status),
                "{path}: {} {}",
                answer.status,
                answer.body
            );
            assert!(!answer.body.contains("the secret"), "{path}");
        }
    }
    for paths in [r#"["/etc/passwd"]"#, r#"["../x"]"#, r#"["--require","x"]"#] {
        assert_eq!(
            fixture.post("/specs/run", &format!("{{\"paths\":{paths}}}")).status,
            400,
            "{paths}"
        );
    }
}

#[test]
fn bodies_and_heads_have_limits() {
    let fixture = TestServer::new();
    let answer = fixture.post("/specs/run", &"x".repeat(1 << 20));
    assert!(answer.status == 413 || answer.head.is_empty(), "{}", answer.head);
    let mut stream = TcpStream::connect(fixture.server.address()).unwrap();
    let _ = stream.write_all(
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20))
            .as_bytes(),
    );
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.is_empty() || text.contains("431"), "{text}");
}

/// Whatever stands in a recording comes back as JSON, typed as such.
#[test]
fn nothing_an_agent_says_is_html() {
    let fixture = TestServer::new();
    let evil = r"<script>alert(1)</script>";
    fixture.record(
        "r1",
        &small_run().iter().map(|line| line.replace("General greeting", evil)).collect::<Vec<_>>(),
    );
    for path in EVERYTHING.iter().filter(|path| path.starts_with("/api")) {
        let answer = fixture.get(path);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
    }
}
