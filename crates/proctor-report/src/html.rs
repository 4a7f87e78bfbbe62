//! A run as one HTML file: the web viewer with the events inside, so that it works from a saved file with no server.

/// Where in the viewer's page the events go; else they go before the end of its head, or to its end.
pub const EVENTS_MARK: &str = "<!--proctor:events-->";

/// The viewer's page with the events of a run embedded as `<script type="application/x-ndjson" id="proctor-events">`.
///
/// `bundle` is the viewer as one page; `events` are lines of JSON. Nothing in the events can end the element: within
/// JSON `<` and the two line separators of JavaScript are written as escapes, which mean the same.
pub fn html<'a>(bundle: &str, events: impl IntoIterator<Item = &'a str>) -> String {
    let mut data = String::from("<script type=\"application/x-ndjson\" id=\"proctor-events\">\n");
    for line in events {
        for c in line.trim_end_matches(['\n', '\r']).chars() {
            match c {
                '<' => data.push_str("\\u003c"),
                '\u{2028}' => data.push_str("\\u2028"),
                '\u{2029}' => data.push_str("\\u2029"),
                c => data.push(c),
            }
        }
        data.push('\n');
    }
    data.push_str("</script>");
    let (place, skipped) = [(EVENTS_MARK, EVENTS_MARK.len()), ("</head>", 0), ("</body>", 0)]
        .into_iter()
        .find_map(|(mark, length)| bundle.find(mark).map(|place| (place, length)))
        .unwrap_or((bundle.len(), 0));
    format!("{}{data}{}", &bundle[..place], &bundle[place + skipped..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_cannot_end_their_element() {
        let line =
            r#"{"event_type":"AgentResponse","text":"</script><script>alert(1)</script><!--"}"#;
        let page = html("<html><head></head><body></body></html>", [line, line]);
        assert_eq!(page.matches("</script").count(), 1, "{page}");
        let start = page.find('\n').unwrap() + 1;
        let embedded = page[start..].lines().next().unwrap();
        let event: serde_json::Value = serde_json::from_str(embedded).unwrap();
        assert_eq!(event["text"], "</script><script>alert(1)</script><!--");
        assert!(page.ends_with("</script></head><body></body></html>"));
    }

    #[test]
    fn they_go_where_the_mark_is() {
        assert!(html("a<!--proctor:events-->b", []).ends_with("</script>b"));
        assert!(html("plain", []).starts_with("plain<script"));
    }
}
