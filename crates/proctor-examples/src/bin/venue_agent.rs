//! `venue-agent`: the booking agent as a program that speaks the worker protocol.
//!
//! `venue-agent` serves `agent.chat` and `agent.reset` for any number of conversations. `--stop-after N` lets it die in the
//! middle of its N-th answer: what an agent that crashes looks like from outside. `--forget-every N` makes it overhear
//! all wishes in one conversation out of N, the first of them: an agent that does not always do the same.
//! `venue-agent audit` is a custom check: it reads a conversation as JSON and compares every booking in it with the
//! catalogue.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use proctor_examples::venue::{Agent, Answer, SEND_CONFIRMATION, VENUES, quote};
use proctor_process::protocol::ReplyError;
use proctor_process::worker::{Worker, WorkerEnv};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Chat {
    conversation_id: String,
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
struct Reset {
    conversation_id: String,
}

/// How this agent is worse than it could be.
#[derive(Clone, Copy, Default)]
struct Weakness {
    stop_after: Option<u32>,
    forget_every: Option<u32>,
}

#[derive(Default)]
struct AgentState {
    conversations: Mutex<HashMap<String, Agent>>,
    opened: AtomicU32,
    weakness: Weakness,
}

impl AgentState {
    fn chat(&self, chat: Chat) -> Result<Answer, ReplyError> {
        let Some(last) = chat.messages.last() else {
            return Err(ReplyError::failed("there is no message to answer".to_owned()));
        };
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = conversations.entry(chat.conversation_id).or_insert_with(|| self.open());
        if last.role == "tool" {
            return Ok(agent.confirmed(&last.content));
        }
        let can_mail = chat.tools.iter().any(|tool| tool.name == SEND_CONFIRMATION);
        Ok(agent.chat(&last.content, can_mail))
    }

    fn open(&self) -> Agent {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let is_bad_day =
            self.weakness.forget_every.is_some_and(|every| number.is_multiple_of(every));
        if is_bad_day { Agent::ignoring_features() } else { Agent::default() }
    }

    fn forget(&self, conversation: &str) {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve(Weakness::default())?,
        ["--stop-after", count] => {
            serve(Weakness { stop_after: Some(count.parse()?), forget_every: None })?;
        }
        ["--forget-every", count] => {
            serve(Weakness { forget_every: Some(count.parse()?), stop_after: None })?;
        }
        ["audit"] => return audit(),
        _ => return Err("usage: venue-agent [--stop-after N | --forget-every N | audit]".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(weakness: Weakness) -> Outcome<()> {
    let state = Arc::new(AgentState { weakness, ..AgentState::default() });
    let forgetting = Arc::clone(&state);
    let answers = AtomicU32::new(0);
    let worker = Worker::new("venue-agent", env!("CARGO_PKG_VERSION"))
        .capability("agent.chat")
        .on("agent.chat", move |request, _| {
            let chat: Chat = request.body.parse().map_err(failed)?;
            if weakness.stop_after == Some(answers.fetch_add(1, Ordering::Relaxed) + 1) {
                give_up();
            }
            state.chat(chat)
        })
        .on("agent.reset", move |request, _| {
            let reset: Reset = request.body.parse().map_err(failed)?;
            forgetting.forget(&reset.conversation_id);
            Ok(json!({}))
        });
    worker.connect(&WorkerEnv::from_vars(std::env::vars())?)?.serve();
    Ok(())
}

#[expect(clippy::print_stderr, clippy::exit, reason = "this is how a program dies")]
fn give_up() -> ! {
    eprintln!("venue-agent: out of memory while reading the calendar");
    std::process::exit(70)
}

fn failed(error: impl std::fmt::Display) -> ReplyError {
    ReplyError::failed(error.to_string())
}

/// Every booking must have the price of the catalogue, and a venue that is large enough.
fn audit() -> Outcome<ExitCode> {
    let conversation: Value = serde_json::from_reader(std::io::stdin().lock())?;
    let calls = conversation["tool_calls"].as_array().ok_or("there are no `tool_calls`")?;
    let bookings = || calls.iter().filter(|call| call["name"] == "book_venue");
    let wrong: Vec<String> = bookings().filter_map(problem).collect();
    say(&match wrong.as_slice() {
        [] => format!("{} bookings agree with the catalogue", bookings().count()),
        wrong => wrong.join("; "),
    });
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn problem(call: &Value) -> Option<String> {
    let id = call["arguments"]["venue_id"].as_str().unwrap_or_default();
    let guests = call["arguments"]["guests"].as_u64().and_then(|guests| u32::try_from(guests).ok());
    let guests = guests.unwrap_or_default();
    let Some(venue) = VENUES.iter().find(|venue| venue.id == id) else {
        return Some(format!("there is no venue {id:?}"));
    };
    let (due, asked) = (quote(venue, guests).total, &call["result"]["total"]);
    if venue.seats < guests {
        return Some(format!("{} seats {}, not {guests}", venue.name, venue.seats));
    }
    (asked.as_u64() != Some(due.into()))
        .then(|| format!("{} costs €{due}, but €{asked} was asked", venue.name))
}

#[expect(clippy::print_stdout, reason = "what a check says, it prints")]
fn say(text: &str) {
    println!("{text}");
}
