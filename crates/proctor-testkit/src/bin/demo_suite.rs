//! A suite in one small program: it puts a venue-booking agent through conversations, speaking the worker
//! protocol. `./demo` runs it; it also shows how little a worker in Rust needs.
//!
//! The agent is a real one, if a simple one: it understands numbers and cities, searches a list of venues, and
//! remembers what was said. Nothing is canned but the user's lines.

use std::sync::mpsc;

use proctor_process::protocol::ReplyError;
use proctor_process::worker::{Host, Worker, WorkerEnv};
use serde::Deserialize;
use serde_json::{Value, json};

const VENUES: [(&str, &str, u32); 4] = [
    ("Berlin", "Spreespeicher", 60),
    ("Berlin", "Alte Münze", 200),
    ("Hamburg", "Fischauktionshalle", 400),
    ("Munich", "Isarpost", 150),
];

/// The agent under test: remembers the city and the number of guests.
#[derive(Default)]
struct Agent {
    city: Option<&'static str>,
    guests: Option<u32>,
}

struct Answer {
    text: String,
    call: Option<(Value, Value)>,
}

impl Agent {
    fn chat(&mut self, message: &str) -> Answer {
        let known = VENUES.iter().map(|(city, _, _)| *city).find(|city| message.contains(*city));
        self.city = known.or(self.city);
        let number =
            message.split(|c: char| !c.is_ascii_digit()).find_map(|word| word.parse().ok());
        self.guests = number.or(self.guests);
        match (self.city, self.guests) {
            (Some(city), Some(guests)) => search(city, guests),
            (Some(_), None) => say("For how many people shall it be?"),
            (None, Some(_)) => say("In which city?"),
            (None, None) => {
                say("Hello! In which city do you need a venue, and for how many people?")
            }
        }
    }
}

fn say(text: &str) -> Answer {
    Answer { text: text.to_owned(), call: None }
}

fn search(city: &str, guests: u32) -> Answer {
    let fitting: Vec<&str> = VENUES
        .iter()
        .filter(|(place, _, seats)| *place == city && *seats >= guests)
        .map(|(_, name, _)| *name)
        .collect();
    let text = match &*fitting {
        [] => format!("I am sorry, nothing in {city} seats {guests}."),
        [first, ..] => format!("I suggest {first} in {city}; it seats {guests}. Shall I book it?"),
    };
    Answer { text, call: Some((json!({"city": city, "guests": guests}), json!(fitting))) }
}

/// One conversation: what the user says, and what the last answer must contain.
struct Talk {
    name: &'static str,
    says: &'static [&'static str],
    expect: &'static str,
}

const TALKS: [Talk; 4] = [
    Talk { name: "asks for what is missing", says: &["Hi"], expect: "In which city" },
    Talk {
        name: "remembers what was said",
        says: &["I need a venue in Berlin", "for 50 people"],
        expect: "Spreespeicher",
    },
    Talk {
        name: "admits that nothing fits",
        says: &["A venue in Munich for 500, please"],
        expect: "I am sorry",
    },
    // Intended to fail: the agent does not understand words for numbers.
    Talk {
        name: "understands numbers in words",
        says: &["Hamburg, for three hundred people"],
        expect: "Fischauktionshalle",
    },
];

#[derive(Deserialize)]
struct Run {
    units: Vec<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    key: String,
    repeat: u32,
    attempt: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (queue, items) = mpsc::channel::<Item>();
    let worker = Worker::new("demo-suite", "1")
        .on("list", |_, host| {
            host.notify("examples", &json!({"examples": listed()})).map_err(failed)?;
            Ok(json!({"count": TALKS.len()}))
        })
        .on("run", move |request, _| {
            let run: Run = request.body.parse().map_err(failed)?;
            let items: Vec<Item> = run.units.into_iter().flatten().collect();
            let accepted = items.len();
            items.into_iter().try_for_each(|item| queue.send(item)).map_err(failed)?;
            Ok(json!({"accepted": accepted}))
        })
        .on("unrun", |_, _| Ok(json!({"returned": []})))
        .on("cancel", |_, _| Ok(json!({"status": "cancelling"})));
    let connected = worker.connect(&WorkerEnv::from_vars(std::env::vars())?)?;
    let host = connected.host();
    std::thread::spawn(move || items.iter().try_for_each(|item| converse(&item, &host)));
    connected.serve();
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> ReplyError {
    ReplyError::failed(error.to_string())
}

fn listed() -> Vec<Value> {
    let example = |talk: &Talk| json!({"key": talk.name, "file": "demo_suite.rs", "path": ["Venue agent", talk.name], "tags": ["demo"]});
    TALKS.iter().map(example).collect()
}

/// Runs one conversation and tells about it.
fn converse(item: &Item, host: &Host) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let Some(talk) = TALKS.iter().find(|talk| talk.name == item.key) else { return Ok(()) };
    let about = |mut payload: Value| {
        payload["key"] = item.key.clone().into();
        payload["repeat"] = item.repeat.into();
        payload["attempt"] = item.attempt.into();
        payload
    };
    host.event("ExampleStarted", &about(json!({})))?;
    let mut agent = Agent::default();
    let mut last = String::new();
    for (turn, line) in (1..).zip(talk.says) {
        host.event(
            "UserMessage",
            &about(json!({"turn_number": turn, "text": line, "source": "script"})),
        )?;
        let answer = agent.chat(line);
        if let Some((arguments, result)) = answer.call {
            let call = json!({"turn_number": turn, "tool_call_id": format!("t{turn}"), "tool_name": "search_venues", "arguments": arguments, "result": result});
            host.event("ToolCallCompleted", &about(call))?;
        }
        host.event("AgentResponse", &about(json!({"turn_number": turn, "text": answer.text})))?;
        last = answer.text;
    }
    let outcome = if last.contains(talk.expect) {
        json!({"status": "passed"})
    } else {
        let message =
            format!("expected the last answer to contain {:?}\n     got {last:?}", talk.expect);
        json!({"status": "failed", "exception": {"class": "ExpectationFailed", "message": message, "backtrace": []}})
    };
    host.event("ExampleFinished", &about(outcome))?;
    Ok(())
}
