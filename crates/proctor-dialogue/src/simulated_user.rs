//! The prompt of the simulated user, and the cleaning of what it says.
//!
//! Roles are flipped: the model speaks as the user, and the agent is the one it hears.

use crate::format::{Simulator, inside};
use crate::judge::Prompt;
use crate::transcript::Transcript;

/// What a simulated user is asked for its next message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatorRequest {
    /// For a model.
    pub prompt: Prompt,
    /// The agent's last answer, for a script; empty at the beginning.
    pub last_answer: String,
}

/// The request for the next message of the simulated user.
pub fn simulator_request(
    user: &Simulator,
    goal: &str,
    transcript: &Transcript,
) -> SimulatorRequest {
    let last = transcript.turns.last();
    SimulatorRequest {
        prompt: simulator_prompt(user, goal, transcript),
        last_answer: last.map(|turn| turn.agent.clone()).unwrap_or_default(),
    }
}

/// Writes the prompt for the next message of the simulated user.
pub fn simulator_prompt(user: &Simulator, goal: &str, transcript: &Transcript) -> Prompt {
    Prompt { system: system(user, goal, transcript.topic()), user: conversation_text(transcript) }
}

fn system(user: &Simulator, goal: &str, topic: Option<&str>) -> String {
    let manner = topic.and_then(|topic| user.during_topic.get(topic));
    let personality =
        inside(manner.and_then(|manner| manner.personality.as_ref()), user.personality.as_ref());
    let context = inside(manner.and_then(|manner| manner.context.as_ref()), user.context.as_ref());
    let rules =
        manner.map_or_else(|| user.rules.clone(), |manner| manner.rules.inside(&user.rules));
    let role = user.role.as_deref().unwrap_or("a person who uses an AI agent");
    let mut text = format!(
        "You play a user who talks to an AI agent. You are never the agent and never offer its help.\n\
         Who you are: {role}\n"
    );
    for (label, notes) in [("How you talk", personality), ("What you know", context)] {
        if let Some(notes) = notes {
            text.push_str(&format!("{label}:\n"));
            text.push_str(&bullets(notes.lines().into_iter()));
        }
    }
    text.push_str(&format!("What you want: {goal}\n"));
    for (label, rules) in [("You should", &rules.should), ("You should not", &rules.should_not)] {
        if !rules.is_empty() {
            text.push_str(&format!("{label}:\n{}", bullets(rules.iter().map(String::as_str))));
        }
    }
    text.push_str("Answer with your next message only: no name before it, no quotes around it.");
    text
}

fn bullets<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("- {line}\n")).collect()
}

fn conversation_text(transcript: &Transcript) -> String {
    if transcript.turns.is_empty() {
        return "The conversation begins. Say your first message.".into();
    }
    let mut text = String::from("The conversation so far:\n");
    for turn in &transcript.turns {
        text.push_str(&format!("You: {}\nAgent: {}\n", turn.user, turn.agent));
    }
    text.push_str("Say your next message.");
    text
}

/// Takes away what models put around a message: a speaker's name, quotes, white space.
///
/// `None` for an answer without a message.
pub fn clean_simulator_answer(answer: &str) -> Option<String> {
    let mut text = answer.trim();
    loop {
        let before = text;
        for prefix in ["you:", "user:", "customer:", "human:", "**user:**", "**you:**", "me:"] {
            if text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)) {
                text = text[prefix.len()..].trim_start();
            }
        }
        for (open, close) in [('"', '"'), ('“', '”'), ('«', '»'), ('\'', '\''), ('`', '`')] {
            let inner = text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
            // Quotes inside mean that these two do not belong together.
            if let Some(inner) = inner.filter(|inner| !inner.contains([open, close])) {
                text = inner.trim();
            }
        }
        if text == before {
            break;
        }
    }
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transcript::{TopicVisit, Turn};

    #[test]
    fn the_prompt_has_the_user_and_what_holds_in_the_topic() {
        let user: Simulator = serde_json::from_str(
            r#"{"role": "A guest", "personality": ["calm"], "context": "Has 50 friends",
                "rules": {"should": ["ask for prices"], "should_not": ["give up"]},
                "during_topic": {"pay": {"personality": ["stingy"], "rules": {"should": ["haggle"]}}}}"#,
        )
        .unwrap();
        let mut transcript = Transcript::default();
        let first = simulator_prompt(&user, "a venue", &transcript);
        assert!(!first.system.contains("stingy"));
        transcript.turns.push(Turn {
            number: 1,
            user: "Hello".into(),
            agent: "How can I help?".into(),
            ..Turn::default()
        });
        transcript.visits.push(TopicVisit { topic: "pay".into(), turns: vec![1] });
        let prompt = simulator_prompt(&user, "a venue", &transcript);
        insta::assert_snapshot!(format!("{}\n-----\n{}", prompt.system, prompt.user));
    }

    #[test]
    fn names_and_quotes_around_a_message_go() {
        let clean = |text| clean_simulator_answer(text).unwrap_or_default();
        assert_eq!(clean("User: \"Hi there\"\n"), "Hi there");
        assert_eq!(clean("“Hallo”"), "Hallo");
        assert_eq!(clean("\"Yes\" and \"no\""), "\"Yes\" and \"no\"");
        assert_eq!(clean("**User:** it's fine"), "it's fine");
        assert_eq!(clean_simulator_answer(" \"\" "), None);
        assert_eq!(clean_simulator_answer("user:"), None);
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing(text in "\\PC{0,60}") {
            if let Some(once) = clean_simulator_answer(&text) {
                prop_assert_eq!(clean_simulator_answer(&once), Some(once));
            }
        }
    }
}
