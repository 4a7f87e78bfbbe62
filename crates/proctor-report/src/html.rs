//! A run as one HTML file: the web viewer with the events inside, so that it works from a saved file with no server.

use std::io;

use crate::pieces::TextPieces;

/// Where in the viewer's page the events go; else they go before the end of its head, or to its end.
pub const EVENTS_MARK: &str = "<!--proctor:events-->";

/// Writes the viewer's page with the events of a run embedded as `<script type="application/x-ndjson" id="proctor-events">`, in pieces.
///
/// `bundle` is the viewer as one page; `events` are lines of JSON. Nothing in the events can end the element: within
/// JSON `<` and the two line separators of JavaScript are written as escapes, which mean the same.
pub fn write_html<L: AsRef<str>>(
    bundle: &str,
    events: impl IntoIterator<Item = io::Result<L>>,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let (place, skipped) = [(EVENTS_MARK, EVENTS_MARK.len()), ("</head>", 0), ("</body>", 0)]
        .into_iter()
        .find_map(|(mark, length)| bundle.find(mark).map(|place| (place, length)))
        .unwrap_or((bundle.len(), 0));
    let mut pieces = TextPieces::new(write);
    pieces.add(&bundle[..place])?;
    pieces.add("<script type=\"application/x-ndjson\" id=\"proctor-events\">\n")?;
    for line in events {
        pieces.add(&escaped(line?.as_ref()))?;
    }
    pieces.add("</script>")?;
    pieces.add(&bundle[place + skipped..])?;
    pieces.finish()
}

/// A line of JSON that can end no element, with a line feed.
fn escaped(line: &str) -> String {
    let mut data = String::with_capacity(line.len() + 1);
    for c in line.trim_end_matches(['\n', '\r']).chars() {
        match c {
            '<' => data.push_str("\\u003c"),
            '\u{2028}' => data.push_str("\\u2028"),
            '\u{2029}' => data.push_str("\\u2029"),
            c => data.push(c),
        }
    }
    data.push('\n');
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(bundle: &str, events: impl IntoIterator<Item = &'static str>) -> String {
        let mut page = String::new();
        let mut write = |piece: &str| {
            page.push_str(piece);
            Ok(())
        };
        write_html(bundle, events.into_iter().map(Ok), &mut write).unwrap();
        page
    }

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
