//! The names of everything that is kept at the engine. Pure.
//!
//! | what | name |
//! |---|---|
//! | bucket of the leases of a namespace | `PROCTOR_<namespace>` |
//! | lease of a run's controller, with the announcement of the run | key `run.<run>` |
//! | lease of a machine in a run | key `machine.<run>.<boot>` |
//! | stream of a run | `PROCTOR_<namespace>_<run>` |
//! | messages of a machine | subject `proctor.<namespace>.<run>.up.<boot>` |
//! | messages to a machine | subject `proctor.<namespace>.<run>.to.<boot>` |
//!
//! A boot is one time that a machine takes part: a machine that comes back has another.

/// Whether a text can be one token of a subject, a part of a key and of a stream's name.
pub(crate) fn is_token(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

/// The bucket of a namespace.
pub(crate) fn bucket(namespace: &str) -> String {
    format!("PROCTOR_{namespace}")
}

/// The key of a run's controller.
pub(crate) fn run_key(run: &str) -> String {
    format!("run.{run}")
}

/// The run that such a key belongs to.
pub(crate) fn run_of_key(key: &str) -> Option<&str> {
    key.strip_prefix("run.").filter(|run| is_token(run))
}

/// The key of a machine in a run.
pub(crate) fn machine_key(run: &str, boot: &str) -> String {
    format!("machine.{run}.{boot}")
}

/// The names of one run's stream and subjects.
#[derive(Debug, Clone)]
pub(crate) struct RunNames {
    pub(crate) stream: String,
    prefix: String,
}

impl RunNames {
    pub(crate) fn new(namespace: &str, run: &str) -> Self {
        Self {
            stream: format!("PROCTOR_{namespace}_{run}"),
            prefix: format!("proctor.{namespace}.{run}"),
        }
    }

    /// All subjects of the stream.
    pub(crate) fn all(&self) -> String {
        format!("{}.>", self.prefix)
    }

    /// What all machines say.
    pub(crate) fn all_up(&self) -> String {
        format!("{}.up.*", self.prefix)
    }

    pub(crate) fn up(&self, boot: &str) -> String {
        format!("{}.up.{boot}", self.prefix)
    }

    pub(crate) fn to(&self, boot: &str) -> String {
        format!("{}.to.{boot}", self.prefix)
    }
}

/// The last token of a subject: the boot that it belongs to.
pub(crate) fn boot_of(subject: &str) -> &str {
    subject.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_run_do_not_meet_those_of_another() {
        let (one, other) = (RunNames::new("a", "r1"), RunNames::new("a", "r2"));
        assert_ne!(one.stream, other.stream);
        assert_eq!(one.up("b7"), "proctor.a.r1.up.b7");
        assert_eq!(boot_of(&one.to("b7")), "b7");
        assert_eq!(run_of_key(&run_key("r1")), Some("r1"));
        assert_eq!(run_of_key(&machine_key("r1", "b")), None);
    }

    #[test]
    fn wildcards_and_dots_are_no_tokens() {
        for bad in ["", "a.b", "*", ">", "a b", "ä", &"x".repeat(65)] {
            assert!(!is_token(bad), "{bad}");
        }
        assert!(is_token("0199-ab_C"));
    }
}
