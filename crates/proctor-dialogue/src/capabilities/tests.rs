use super::*;
use crate::format::OneOrMany;

fn fields(json: &str) -> AgentFields {
    serde_json::from_str(json).unwrap()
}

fn parties_with_tools(tools: &[&str]) -> PartySpecs {
    let tools = tools.iter().map(|name| ((*name).to_owned(), OneOrMany::default()));
    PartySpecs { tools: tools.collect(), ..PartySpecs::default() }
}

const COMMAND: &str = r#"{"command": ["a"]}"#;
const CHAT: &str = r#"{"chat": {"url": "u"}}"#;
const CHAT_MADE: &str = r#"{"chat": {"url": "u"}, "made_calls": "/made"}"#;
const HTTP: &str = r#"{"http": {"url": "u"}}"#;
const HTTP_MADE: &str = r#"{"http": {"url": "u", "made_calls": "/made"}}"#;
const HTTP_ASKS: &str = r#"{"http": {"url": "u", "tool_calls": {}}}"#;
const HTTP_TRACED: &str = r#"{"command": ["a"], "http": {"url": "u"}, "traces": true}"#;
const SCRIPT: &str = r#"{"script": ["Hi"]}"#;

/// V1: when "not called" is a fact. The columns: the answer lists no calls made, or it does; the host offers nothing, or
/// `search`. Each entry is whether the absence of a call of `search` and of `refund` is known.
#[test]
fn v1_absence_is_known_only_where_calls_are_reported() {
    let all = (true, true);
    let none = (false, false);
    let offered = (true, false);
    let table = [
        // agent, (unlisted, nothing), (listed, nothing), (unlisted, search), (listed, search)
        (COMMAND, [none, all, offered, all]),
        (CHAT, [none, none, offered, offered]),
        (CHAT_MADE, [none, all, offered, all]),
        (HTTP, [none, none, offered, offered]),
        (HTTP_MADE, [none, all, offered, all]),
        (HTTP_ASKS, [none, none, offered, offered]),
        // What is listed comes from its spans.
        (HTTP_TRACED, [none, all, offered, all]),
        (SCRIPT, [all, all, all, all]),
    ];
    for (agent, expected) in table {
        let known = |listed: bool, tools: &[&str]| {
            let reports = AgentReports::of("shop", &fields(agent), &parties_with_tools(tools));
            let unlisted = !reports.knows_calls(listed);
            let known = |tool: &str| reports.unknown_call_reason(tool, unlisted).is_none();
            (known("search"), known("refund"))
        };
        let found = [
            known(false, &[]),
            known(true, &[]),
            known(false, &["search"]),
            known(true, &["search"]),
        ];
        assert_eq!(found, expected, "{agent}");
    }
}

#[test]
fn v1_no_tools_is_a_fact_whoever_says_so() {
    for agent in [COMMAND, CHAT, HTTP, HTTP_ASKS] {
        let scenario = PartySpecs { no_tools: true, ..PartySpecs::default() };
        let by_scenario = AgentReports::of("shop", &fields(agent), &scenario);
        let own = agent.replacen('{', r#"{"tools": "none", "#, 1);
        let by_agent = AgentReports::of("shop", &fields(&own), &PartySpecs::default());
        for reports in [by_scenario, by_agent] {
            assert!(reports.knows_calls(false), "{agent}");
            assert_eq!(reports.unknown_call_reason("refund", false), None);
            let made = reports.contradiction(Some("refund"), None).unwrap();
            assert!(made.contains("`tools: none`") && made.contains("`refund`"), "{made}");
            assert!(reports.contradiction(None, Some("refund")).is_some());
            assert_eq!(reports.contradiction(None, None), None);
        }
        // None of its own: what the host offers may be asked for.
        let offered = AgentReports::of("shop", &fields(&own), &parties_with_tools(&["search"]));
        assert_eq!(offered.contradiction(None, Some("search")), None);
        assert!(offered.contradiction(Some("search"), None).is_some());
        assert_eq!(offered.unknown_call_reason("refund", false), None);
    }
}

#[test]
fn the_way_out_is_that_of_the_kind() {
    let way = |agent: &str| {
        AgentReports::of("shop", &fields(agent), &PartySpecs::default()).how_to_report_calls()
    };
    assert_eq!(
        way(HTTP),
        "agent `shop` answers over HTTP and does not say where it lists the calls it made; add `made_calls: /pointer` or `tools: none`"
    );
    assert!(way(COMMAND).contains(r#"answer with `"tool_calls": []`"#));
    assert!(way(CHAT).contains("is given no tools by the scenario"));
    assert!(way(HTTP_MADE).contains("`made_calls: {list: /made, absent: none}`"));
}

#[test]
fn every_kind_has_one_row_and_tells_its_text() {
    for row in AGENT_CAPABILITIES {
        assert_eq!(row.kind.capabilities(), row);
        assert_eq!(row.text, Capability::Always);
    }
}

#[test]
fn what_excludes_each_other_is_a_mistake() {
    for (agent, part) in [
        (r#"{"command": ["a"], "made_calls": "/x"}"#, "goes with `chat` or `http`"),
        (r#"{"script": ["a"], "made_calls": "/x"}"#, "goes with `chat` or `http`"),
        (r#"{"http": {"url": "u", "made_calls": "/x"}, "made_calls": "/x"}"#, "keep one"),
        (r#"{"http": {"url": "u"}, "made_calls": "/x", "tools": "none"}"#, "exclude each other"),
        (r#"{"http": {"url": "u"}, "made_calls": "x"}"#, "not a JSON pointer"),
        (
            r#"{"http": {"url": "u"}, "made_calls": {"list": "/x", "name": "tool"}}"#,
            "a place in `made_calls` is not a JSON pointer",
        ),
        (r#"{"http": {"url": "u"}, "traces": true}"#, "is for a program that is started"),
        (r#"{"script": ["a"], "traces": {}}"#, "is for a program that is started"),
        (r#"{"command": ["a"], "traces": {"within": "0s"}}"#, "no span would ever be in time"),
        (
            r#"{"command": ["a"], "traces": true, "sandbox": {"network": "none"}}"#,
            "keep the spans of `traces` from arriving",
        ),
    ] {
        assert!(fields(agent).problem().unwrap().contains(part), "{agent}");
    }
    assert_eq!(fields(HTTP_MADE).problem(), None);
    assert_eq!(fields(r#"{"script": ["a"], "traces": false}"#).problem(), None);
    let long = r#"{"chat": {"url": "u"}, "made_calls": {"list": "/x", "absent": "none"}}"#;
    assert_eq!(fields(long).problem(), None);
    assert!(fields(long).made_calls().unwrap().absent_is_none);
}
