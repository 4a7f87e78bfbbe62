//! A scripted model: each item answers a given number of calls, once if it does not say otherwise.

use std::fmt;
use std::sync::Arc;

use proctor_llm::{ErrorKind, ModelError};
use proctor_text::shorten;

use crate::answer::ScriptedAnswer;
use crate::prompt::last_words;

/// How much of a prompt a message shows.
const SHOWN: usize = 200;

/// Whether an item answers a call with this prompt.
pub type Applies = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// One item.
#[derive(Clone)]
pub struct ScriptItem {
    /// What it answers.
    pub answer: ScriptedAnswer,
    /// The prompts that it answers; all when absent.
    pub applies: Option<Applies>,
    /// How many calls it answers.
    pub times: u32,
}

impl fmt::Debug for ScriptItem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScriptItem")
            .field("answer", &self.answer)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// The script of one conversation.
#[derive(Debug)]
pub struct Script {
    items: Vec<ScriptItem>,
    answered: u64,
}

impl Script {
    /// A script of which nothing is used.
    pub fn new(items: Vec<ScriptItem>) -> Self {
        Self { items, answered: 0 }
    }

    /// The answer of the first item that is not used up and applies. A script never begins again.
    pub(crate) fn take(&mut self, prompt: &str) -> Result<ScriptedAnswer, ModelError> {
        let applies = |item: &&mut ScriptItem| {
            item.times > 0 && item.applies.as_ref().is_none_or(|applies| applies(prompt))
        };
        if let Some(item) = self.items.iter_mut().find(applies) {
            item.times -= 1;
            self.answered += 1;
            return Ok(item.answer.clone());
        }
        let left = self.items.iter().filter(|item| item.times > 0).count();
        let why = match left {
            0 => "all of its answers are used".to_owned(),
            1 => "`when` of the only answer that is left does not apply".to_owned(),
            left => format!("`when` of none of the {left} answers that are left applies"),
        };
        let call = self.answered + 1;
        let message = format!(
            "the script of the model has no answer to call {call} of the agent: {why}; the call ends with {:?}; add an answer to `script:`, or find out why the agent asks once more",
            shorten(last_words(prompt), SHOWN)
        );
        Err(ModelError::new(ErrorKind::ScriptExhausted, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, when: Option<&'static str>) -> ScriptItem {
        let applies =
            when.map(|part| Arc::new(move |prompt: &str| prompt.contains(part)) as Applies);
        ScriptItem { answer: ScriptedAnswer::text(text), applies, times: 1 }
    }

    #[test]
    fn items_answer_in_their_order_and_once() {
        let mut script = Script::new(vec![item("a", Some("x")), item("b", None), item("c", None)]);
        let mut take = |prompt: &str| script.take(prompt).map(|answer| answer.text);
        assert_eq!(take("user: y").unwrap(), "b");
        assert_eq!(take("user: x").unwrap(), "a");
        assert_eq!(take("user: x").unwrap(), "c");
        let error = take("system: s\n\nuser: more").unwrap_err();
        assert_eq!(error.kind, ErrorKind::ScriptExhausted);
        assert!(
            error.message.contains("call 4") && error.message.contains("user: more"),
            "{}",
            error.message
        );
    }

    #[test]
    fn an_answer_that_does_not_apply_is_not_given() {
        let mut script = Script::new(vec![item("a", Some("x"))]);
        let error = script.take("user: y").unwrap_err();
        assert!(error.message.contains("does not apply"), "{}", error.message);
    }

    #[test]
    fn times_is_a_limit() {
        let mut script = Script::new(vec![ScriptItem { times: 2, ..item("a", None) }]);
        assert!(script.take("").is_ok() && script.take("").is_ok() && script.take("").is_err());
    }
}
