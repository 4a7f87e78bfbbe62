//! What a run and its machines tell each other, as versioned wire types.
//!
//! Slots have the numbers that the run gives them; places are numbered at each machine. Unknown fields are ignored; an unknown
//! message is an error, because ignoring it would leave both sides with different ideas.

use proctor_events::Exception;
use serde::{Deserialize, Serialize};

use super::CodeProof;
use crate::example::OutsideError;
use crate::worker_link::orders::Order;
use crate::worker_link::reports::ReportBatch;

/// The version of these messages.
const VERSION: u32 = 1;

/// What the run tells a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToMachine {
    /// It takes part.
    Welcome,
    /// It would not run the same thing, and takes no part.
    Refused { differences: Vec<String> },
    /// Serve a generation of a slot at this place.
    Serve { slot: u32, generation: u32, place: u32, marks: String },
    /// An order to what serves a slot.
    Order { slot: u32, generation: u32, order: Order },
    /// The run knows that the machine leaves; nothing more is begun there.
    LeaveNoted,
    /// The run is over: end the suites.
    Finish { at_once: bool },
}

/// What a machine tells the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromMachine {
    /// It offers slots: so many for each suite.
    Join { name: String, offer: Vec<u32>, proof: CodeProof },
    /// Reports of one of its slots.
    Reports(ReportBatch),
    /// It finishes what it runs and begins nothing more.
    Leaving,
    /// Its suites have ended.
    Ended(SuitesEnd),
}

/// What the suites of a machine left when they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SuitesEnd {
    pub(crate) output: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) errors: Vec<WireError>,
}

/// An error outside any example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireError {
    pub(crate) phase: String,
    pub(crate) place: Option<String>,
    pub(crate) exception: Option<Exception>,
    pub(crate) message: Option<String>,
}

impl From<OutsideError> for WireError {
    fn from(error: OutsideError) -> Self {
        let OutsideError { phase, place, exception, message } = error;
        Self { phase, place, exception, message }
    }
}

impl From<WireError> for OutsideError {
    fn from(error: WireError) -> Self {
        let WireError { phase, place, exception, message } = error;
        Self { phase, place, exception, message }
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    v: u32,
    m: T,
}

/// A message as one line of text.
pub(crate) fn write<T: Serialize>(message: &T) -> String {
    // These types always serialize; were it otherwise, the empty line would be refused by the reader.
    let text = serde_json::to_string(&Envelope { v: VERSION, m: message }).unwrap_or_default();
    // Events keep the text in which they came. Within strings a line feed is escaped, so this one is space.
    if text.contains('\n') { text.replace('\n', " ") } else { text }
}

/// A message that has arrived, or why it cannot be used.
pub(crate) fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    let envelope: Envelope<T> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if envelope.v != VERSION {
        return Err(format!("its version is {}, this one reads {VERSION}", envelope.v));
    }
    Ok(envelope.m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_link::orders::OrderAction;
    use crate::worker_link::reports::Report;

    #[test]
    fn messages_come_back_as_they_were() {
        let order =
            Order { version: 1, number: 3, action: OrderAction::Shutdown { stopped: true } };
        for message in [
            ToMachine::Welcome,
            ToMachine::Refused { differences: vec!["a".to_owned()] },
            ToMachine::Serve { slot: 7, generation: 2, place: 1, marks: "\u{1}m".to_owned() },
            ToMachine::Order { slot: 7, generation: 2, order },
            ToMachine::LeaveNoted,
            ToMachine::Finish { at_once: true },
        ] {
            assert_eq!(read::<ToMachine>(&write(&message)), Ok(message));
        }
        let reports = vec![Report::Ready { pid: Some(4) }];
        let batch =
            ReportBatch { version: 1, number: 1, slot: 7, generation: 2, last_order: 0, reports };
        let proof = CodeProof::default().with("commit", "abc");
        let exception = Some(Exception { message: "m".to_owned(), ..Exception::default() });
        let error = WireError { phase: "p".to_owned(), place: None, exception, message: None };
        for message in [
            FromMachine::Join { name: "m1".to_owned(), offer: vec![4, 1], proof },
            FromMachine::Reports(batch),
            FromMachine::Leaving,
            FromMachine::Ended(SuitesEnd { errors: vec![error], ..SuitesEnd::default() }),
        ] {
            assert_eq!(read::<FromMachine>(&write(&message)), Ok(message));
        }
    }

    #[test]
    fn a_message_is_one_line_whatever_stands_in_it() {
        let event = "{\"event_type\": \"Later\",\n \"a\": \"b\\nc\"}";
        let event = Box::new(proctor_events::Event::from_json(event).unwrap());
        let reports = vec![Report::Event { key: None, event }];
        let batch =
            ReportBatch { version: 1, number: 1, slot: 0, generation: 1, last_order: 0, reports };
        let text = write(&FromMachine::Reports(batch));
        assert!(!text.contains('\n') && text.contains("b\\nc"), "{text}");
        assert!(read::<FromMachine>(&text).is_ok());
    }

    #[test]
    fn what_another_version_or_nobody_says_is_refused() {
        assert!(
            read::<ToMachine>(r#"{"v":2,"m":"welcome"}"#).unwrap_err().contains("version is 2")
        );
        assert!(read::<ToMachine>(r#"{"v":1,"m":"dance"}"#).is_err());
        assert!(read::<ToMachine>("").is_err());
    }
}
