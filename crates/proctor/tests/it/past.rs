//! Recordings for the tests of `runs`, `compare`, `baseline`, `flaky` and `history`.

use crate::env::TestEnv;

/// One example of a made-up run: its name, whether a model takes part, and one status per repetition.
pub(crate) type Made<'a> = (&'a str, bool, &'a [&'a str]);

/// Writes the recording of a run that is over.
pub(crate) fn record(env: &TestEnv, run: &str, file: &str, examples: &[Made<'_>]) {
    record_on(env, run, "c0ffee", file, examples);
}

pub(crate) fn record_on(env: &TestEnv, run: &str, commit: &str, file: &str, examples: &[Made<'_>]) {
    let mut lines = vec![format!(
        r#"{{"v":1,"event_type":"SuiteStarted","run_id":"{run}","time":"2026-01-22T10:30:00Z"}}"#
    )];
    for (name, model, statuses) in examples {
        let id = format!("{file}-{name}").replace(['/', '.'], "_");
        for (repeat, status) in (1..).zip(*statuses) {
            let about = format!(r#""run_id":"{run}","example_id":"{id}","repeat":{repeat}"#);
            lines.push(format!(
                r#"{{"event_type":"ExampleStarted",{about},"file":"{file}","path":["Cart","{name}"],"tags":["cart"]}}"#
            ));
            if *model {
                lines.push(format!(
                    r#"{{"event_type":"UserMessage",{about},"turn_number":1,"text":"I want a refund for {name}"}}"#
                ));
                lines.push(format!(
                    r#"{{"event_type":"AgentResponse",{about},"turn_number":1,"text":"Certainly"}}"#
                ));
            }
            lines.push(format!(
                r#"{{"event_type":"ExampleFinished",{about},"status":"{status}","duration_ms":20}}"#
            ));
        }
    }
    lines.push(format!(
        r#"{{"event_type":"SuiteFinished","run_id":"{run}","time":"2026-01-22T10:31:00Z","example_count":1,"failure_count":0,"duration_ms":60000,"exit_code":0}}"#
    ));
    env.write(&format!(".proctor/runs/{run}/events.jsonl"), &(lines.join("\n") + "\n"));
    let info = format!(
        r#"{{"v":1,"run_id":"{run}","started_at":"2026-01-22T10:30:00Z","argv":["proctor","run","spec"],"git":{{"commit":"{commit}","dirty":false}}}}"#
    );
    env.write(&format!(".proctor/runs/{run}/run.json"), &info);
}
