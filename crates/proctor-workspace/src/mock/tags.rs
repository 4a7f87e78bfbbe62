//! Event tags in a model's output: `<event topic="x">payload</event>`. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::script::MockEvent;

static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?s)<event\s+topic=(?:"([^"]+)"|'([^']+)')[^>]*?(?:/>|>(.*?)</event>)"#).ok()
});

/// The events of an output, and the output without them.
pub(crate) fn split(output: &str) -> (Vec<MockEvent>, String) {
    let Some(tag) = TAG.as_ref() else { return (Vec::new(), output.to_owned()) };
    let events = tag
        .captures_iter(output)
        .map(|found| {
            let text = |group| found.get(group).map_or("", |part: regex::Match<'_>| part.as_str());
            let topic = if text(1).is_empty() { text(2) } else { text(1) };
            MockEvent { topic: topic.to_owned(), payload: text(3).trim().to_owned() }
        })
        .collect();
    (events, tag.replace_all(output, "").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_events_and_the_rest_stays() {
        let output = "before\n<event topic=\"build.task\">\n## Task\nX\n</event>after\
                      <event topic='a.b' target=\"c\">y</event><event topic=\"z\"/>";
        let (events, rest) = split(output);
        let pairs: Vec<_> = events.iter().map(|e| (&*e.topic, &*e.payload)).collect();
        assert_eq!(pairs, [("build.task", "## Task\nX"), ("a.b", "y"), ("z", "")]);
        assert_eq!(rest, "before\nafter");
    }

    #[test]
    fn an_unclosed_tag_is_text() {
        let (events, rest) = split("<event topic=\"x\">never closed");
        assert!(events.is_empty());
        assert_eq!(rest, "<event topic=\"x\">never closed");
    }
}
