use super::*;
use crate::glob::FilePatterns;
use proptest::prelude::*;

fn pattern(text: &str) -> TopicPattern {
    TopicPattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn matches(text: &str, topic: &str) -> bool {
    pattern(text).matches(topic)
}

#[test]
fn a_star_is_one_segment_and_two_are_any_number() {
    assert!(matches("build.*", "build.task") && !matches("build.*", "build.a.b"));
    assert!(!matches("build.*", "build") && matches("*", "a.b.c"));
    assert!(matches("*.done", "build.done") && !matches("*.done", "a.b.done"));
    assert!(matches("build.**", "build.a.b") && matches("build.**", "build"));
    assert!(matches("**.done", "a.b.done") && !matches("build", "build.x"));
    assert!(matches("*.*", "a.b") && !matches("*.*", "a"));
}

/// V9: patterns of other languages matched nothing, so that `no_event` held.
#[test]
fn v9_what_is_no_topic_pattern_is_refused_with_its_place() {
    let problem = |text: &str| TopicPattern::parse(text).unwrap_err().to_string();
    for bad in [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "build*",
        "*build",
        "build.*x",
        "***",
        "build.[a-z]*",
        "[",
        "]",
        "build?",
        "{a,b}",
        "a b",
        " ",
        "a.\tb",
        "build\\.task",
        "^build$",
        "(a|b)",
        "a,b",
        "!a",
        "a\0",
    ] {
        assert!(problem(bad).contains("allowed are segments"), "{bad:?}");
    }
    assert!(
        problem("build.[a-z]").contains("segment 2 contains '['"),
        "{}",
        problem("build.[a-z]")
    );
    assert!(problem("a.b*").contains("segment 2 (\"b*\") mixes `*`"), "{}", problem("a.b*"));
    assert!(problem("a..b").contains("segment 2 is empty"), "{}", problem("a..b"));
    for good in ["a", "LOOP_COMPLETE", "build.*", "**", "*", "*.*", "ä.ö", "a-b.c_d", "x:y/z@1+2#3"]
    {
        assert_eq!(pattern(good).as_str(), good);
    }
}

#[test]
fn a_trigger_is_read_as_the_orchestrator_reads_it() {
    assert!(trigger_matches("*", "a.b") && trigger_matches("build.*", "build.task"));
    assert!(!trigger_matches("build.**", "build.task") && trigger_matches("build.**", "build.**"));
    assert!(!trigger_matches("build*", "build.task") && !trigger_matches("build.*", "build.a.b"));
}

#[test]
fn a_pattern_and_a_trigger_may_share_a_topic() {
    let share = |text: &str, trigger: &str| pattern(text).overlaps_trigger(trigger);
    assert!(share("build.task", "build.*") && share("*.task", "build.*") && share("**", "a"));
    assert!(share("build.**", "*.task") && share("**.x.**", "a.*") && share("a", "*"));
    assert!(!share("bulid.task", "build.*") && !share("build.**", "task.*") && !share("a", "a.b"));
}

/// The definition, word for word: slow and obviously right.
fn naive(pattern: &[&str], topic: &[&str]) -> bool {
    match pattern.split_first() {
        None => topic.is_empty(),
        Some((&"**", rest)) => (0..=topic.len()).any(|taken| naive(rest, &topic[taken..])),
        Some((word, rest)) => topic
            .split_first()
            .is_some_and(|(first, left)| (*word == "*" || word == first) && naive(rest, left)),
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split('.').collect()
}

/// Few letters and short topics, so that patterns often match.
fn topics() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]", 1..6).prop_map(|words| words.join("."))
}

fn patterns() -> impl Strategy<Value = String> {
    let word = prop_oneof![Just("a"), Just("b"), Just("*"), Just("**")];
    prop::collection::vec(word, 1..6).prop_map(|words| words.join("."))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_matcher_agrees_with_the_definition(text in patterns(), topic in topics()) {
        let expected = text == "*" || naive(&split(&text), &split(&topic));
        prop_assert_eq!(matches(&text, &topic), expected, "{} {}", text, topic);
    }

    /// A pattern shares a topic with a trigger that matches it; without a common topic among the short ones they do not overlap.
    #[test]
    fn overlap_agrees_with_some_topic(text in patterns(), trigger in patterns(), topic in topics()) {
        let trigger = trigger.replace("**", "*");
        if matches(&text, &topic) && trigger_matches(&trigger, &topic) {
            prop_assert!(pattern(&text).overlaps_trigger(&trigger));
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_refused_and_never_panics(text in ".{0,12}", topic in ".{0,12}") {
        if let Ok(parsed) = TopicPattern::parse(&text) {
            parsed.matches(&topic);
            prop_assert_eq!(TopicPattern::parse(parsed.as_str()), Ok(parsed));
        }
    }
}

#[test]
fn many_wildcards_cost_little() {
    let text = vec!["**"; 200].join(".") + ".z";
    let topic = vec!["a"; 5000].join(".");
    let clock = std::time::Instant::now();
    assert!(!matches(&text, &topic));
    assert!(clock.elapsed() < std::time::Duration::from_secs(5), "{:?}", clock.elapsed());
}

#[test]
fn a_pattern_is_checked_when_it_is_read() {
    let read = serde_json::from_str::<TopicPattern>("\"build*\"");
    assert!(read.unwrap_err().to_string().contains("not a topic pattern"));
    let read: TopicPattern = serde_json::from_str("\"build.*\"").unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), "\"build.*\"");
}

/// The tables of the documentation, by the first heading: rows of cells, each with its words in back quotes.
fn documented(heading: &str) -> Vec<Vec<Vec<String>>> {
    let text = include_str!("../../../../docs/workspaces.md");
    let rows = text.lines().skip_while(|line| !line.starts_with(&format!("| {heading} |")));
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').skip(1).map(words).collect()).collect()
}

#[test]
fn the_documented_topic_patterns_match_as_documented() {
    let rows = documented("topic pattern");
    assert!(rows.len() >= 6, "{rows:?}");
    for row in rows {
        let pattern = pattern(&row[0][0]);
        assert!(!row[1].is_empty() && row[1].iter().all(|topic| pattern.matches(topic)), "{row:?}");
        assert!(!row[2].iter().any(|topic| pattern.matches(topic)), "{row:?}");
    }
    let refused = documented("refused topic pattern");
    assert!(refused.len() >= 6);
    assert!(refused.iter().all(|row| TopicPattern::parse(&row[0][0]).is_err()), "{refused:?}");
}

#[test]
fn the_documented_file_patterns_match_as_documented() {
    let rows = documented("file pattern");
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        let patterns = FilePatterns::new(&row[0]).unwrap();
        assert!(!row[1].is_empty() && row[1].iter().all(|path| patterns.matches(path)), "{row:?}");
        assert!(!row[2].iter().any(|path| patterns.matches(path)), "{row:?}");
    }
    let refused = documented("refused file pattern");
    assert!(refused.len() >= 4);
    assert!(refused.iter().all(|row| FilePatterns::new(&row[0]).is_err()), "{refused:?}");
}
