use super::*;
use crate::orchestrator::Hat;

fn topology() -> Topology {
    let hat = |id: &str, triggers: &[&str]| Hat {
        id: id.to_owned(),
        triggers: triggers.iter().map(|&t| t.to_owned()).collect(),
        publishes: Vec::new(),
    };
    Topology {
        own: Vec::new(),
        hats: vec![hat("planner", &["task.*", "build.blocked"]), hat("builder", &["build.task"])],
        coordinator: "ralph".to_owned(),
        completion: Vec::new(),
    }
}

fn begin(n: u64, ts: u64, hat: &str) -> Begin {
    Begin { ts, n, hat: Some(hat.to_owned()), origin: "hooks" }
}

fn emitted(ts: u64, topic: &str) -> EventsFileLine {
    EventsFileLine::Emitted { ts, topic: topic.to_owned(), payload: "p".to_owned() }
}

fn fields(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn published(ts: u64, topic: &str) -> Published {
    Published {
        ts,
        data: fields(json!({"topic": topic, "payload": "p", "source": null, "target": null})),
    }
}

fn sources() -> Sources {
    Sources {
        started_ms: 100,
        loop_start: Some(Published { ts: 100, data: fields(json!({})) }),
        published: vec![published(120, "build.task"), published(140, "build.blocked")],
        rows: vec![
            EventsFileLine::Start {
                ts: 100,
                topic: "task.start".to_owned(),
                payload: "do".to_owned(),
                triggered: Some("planner".to_owned()),
            },
            emitted(0, "build.task"),
            EventsFileLine::IterationEnd {
                ts: 119,
                n: 1,
                figures: fields(json!({"duration_ms": 9})),
            },
            emitted(99_999, "build.done"),
            EventsFileLine::IterationEnd { ts: 139, n: 2, figures: fields(json!({})) },
        ],
        begins: vec![begin(1, 110, "planner"), begin(2, 130, "builder")],
        calls: Vec::new(),
        topology: topology(),
        ending: Ending { ts: 150, reason: "MaxIterations".to_owned(), ..Ending::default() },
    }
}

fn of(records: &[SessionRecord], topic: &str) -> SessionRecord {
    records.iter().find(|record| record.topic() == Some(topic)).unwrap().clone()
}

#[test]
fn emitted_and_published_are_told_apart() {
    let records = merge(&sources());
    let order: Vec<_> = records.iter().map(|r| (&*r.event, r.topic().unwrap_or(""))).collect();
    assert_eq!(
        order,
        [
            ("_meta.loop_start", ""),
            ("bus.publish", "task.start"),
            ("_meta.iteration", ""),
            ("_meta.iteration_end", ""),
            ("bus.publish", "build.task"),
            ("_meta.iteration", ""),
            ("bus.publish", "build.blocked"),
            ("bus.emit", "build.done"),
            ("_meta.iteration_end", ""),
            ("_meta.termination", ""),
        ]
    );
    assert_eq!(of(&records, "build.task").origin, "recording+events");
    assert_eq!(of(&records, "build.blocked").data["emitted"], false);
    assert_eq!(of(&records, "build.done").data["published"], false);
}

#[test]
fn source_and_target_are_derived_and_marked() {
    let records = merge(&sources());
    let task = of(&records, "build.task");
    assert_eq!(
        (&task.data["source"], &task.data["target"]),
        (&json!("planner"), &json!("builder"))
    );
    assert_eq!(task.data["derived"], json!(["source", "target"]));
    let start = of(&records, "task.start");
    assert_eq!(start.data["target"], "planner");
    assert_eq!(start.data["derived"], json!(["source"]));
    assert_eq!(of(&records, "build.blocked").data["source"], "ralph");
    assert_eq!(of(&records, "build.done").data["iteration"], 2);
}

#[test]
fn the_mock_alone_makes_no_event_and_marks_its_iterations() {
    let mut only = Sources { topology: topology(), ..Sources::default() };
    let line = json!({"call": 1, "ts": 5, "hat": "builder", "response": 0, "prompt": "p",
        "output": "<event topic=\"x\">y</event>", "exit_code": 0, "duration_ms": 1, "cut_short": false});
    only.calls = vec![serde_json::from_value(line).unwrap()];
    let records = merge(&only);
    assert!(records.iter().all(|record| !record.is_bus()));
    let iteration = records.iter().find(|r| r.event == "_meta.iteration").unwrap();
    assert_eq!(iteration.origin, "mock");
}

#[test]
fn a_published_event_is_paired_once() {
    let mut twice = sources();
    twice.published.push(published(141, "build.task"));
    let records = merge(&twice);
    let origins: Vec<_> = records
        .iter()
        .filter(|record| record.topic() == Some("build.task"))
        .map(|record| record.origin.as_str())
        .collect();
    assert_eq!(origins, ["recording+events", "recording"]);
}
