//! One lease: taken, renewed by compare-and-set, and judged by its holder.
//!
//! | state | what happened | next state |
//! |---|---|---|
//! | held | the server has renewed it | held, counted from when the renewal was sent |
//! | held | no renewal came through for the time of a lease | lost: the server has let it expire, or will |
//! | held | the server says that it has expired, or that somebody else holds it | lost |
//! | held | a renewal may or may not have come through | held; whose it is is asked with the next one |
//! | lost | anything | lost |
//!
//! The holder judges by its own clock, and earlier than the server does; others judge by what the server keeps.

use std::time::Duration;

use async_nats::jetstream::kv::{Operation, Store};
use bytes::Bytes;
use tokio::time::{Instant, timeout};

/// A lease that this process has taken.
pub(crate) struct Lease {
    store: Store,
    key: String,
    value: Bytes,
    revision: u64,
    clock: LeaseClock,
    time: Duration,
}

/// What its holder knows of a lease. Pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseClock {
    /// When the last renewal that came through was sent; `None` once it is lost.
    renewed: Option<Instant>,
}

/// What became of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// The server has it.
    Stored,
    /// Somebody else holds the lease, or nobody.
    Gone,
    /// Nothing is known.
    Unknown,
}

impl LeaseClock {
    pub(crate) fn new(taken: Instant) -> Self {
        Self { renewed: Some(taken) }
    }

    /// Takes note of a renewal that was sent then; says whether the lease is still held.
    pub(crate) fn step(
        &mut self,
        sent: Instant,
        renewal: Renewal,
        now: Instant,
        time: Duration,
    ) -> bool {
        let Some(renewed) = self.renewed else { return false };
        self.renewed = match renewal {
            Renewal::Stored if now.duration_since(sent) < time => Some(sent),
            Renewal::Gone => None,
            _ => (now.duration_since(renewed) < time).then_some(renewed),
        };
        self.renewed.is_some()
    }
}

impl Lease {
    /// Takes a lease that nobody holds; `None` if somebody does.
    pub(crate) async fn take(
        store: Store,
        key: String,
        value: Bytes,
        time: Duration,
    ) -> Result<Option<Self>, String> {
        let sent = Instant::now();
        match store.create(&key, value.clone()).await {
            Ok(revision) => {
                let clock = LeaseClock::new(sent);
                Ok(Some(Self { store, key, value, revision, clock, time }))
            }
            Err(error) => match store.entry(&key).await {
                Ok(Some(entry)) if entry.operation == Operation::Put => Ok(None),
                _ => Err(error.to_string()),
            },
        }
    }

    /// How often it is renewed.
    pub(crate) fn interval(&self) -> Duration {
        self.time / 4
    }

    /// Renews it; says whether it is still held.
    pub(crate) async fn renew(&mut self) -> bool {
        let sent = Instant::now();
        let renewal = self.try_renew().await;
        self.clock.step(sent, renewal, Instant::now(), self.time)
    }

    async fn try_renew(&mut self) -> Renewal {
        let update = self.store.update(&self.key, self.value.clone(), self.revision);
        match timeout(self.interval(), update).await {
            Ok(Ok(revision)) => {
                self.revision = revision;
                return Renewal::Stored;
            }
            Ok(Err(_)) => {}
            Err(_) => return Renewal::Unknown,
        }
        // An earlier renewal may have come through although its answer did not.
        match timeout(self.interval(), self.store.entry(&self.key)).await {
            Ok(Ok(Some(entry)))
                if entry.operation == Operation::Put && entry.value == self.value =>
            {
                self.revision = entry.revision;
                Renewal::Unknown
            }
            Ok(Ok(_)) => Renewal::Gone,
            Ok(Err(_)) | Err(_) => Renewal::Unknown,
        }
    }

    /// Takes it again after it has expired, if nobody else has.
    pub(crate) async fn take_again(&mut self) -> bool {
        let sent = Instant::now();
        let Ok(revision) = self.store.create(&self.key, self.value.clone()).await else {
            return false;
        };
        self.revision = revision;
        self.clock = LeaseClock::new(sent);
        true
    }

    /// Gives it up.
    pub(crate) async fn release(self) {
        // If the server does not hear it, the lease expires.
        let _ = self.store.delete_expect_revision(&self.key, Some(self.revision)).await;
    }
}

/// Whether somebody holds a lease; `None` if the server does not say.
pub(crate) async fn is_held(store: &Store, key: &str) -> Option<bool> {
    let entry = timeout(Duration::from_secs(1), store.entry(key)).await.ok()?.ok()?;
    Some(entry.is_some_and(|entry| entry.operation == Operation::Put))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIME: Duration = Duration::from_secs(2);

    fn any_renewal() -> impl Strategy<Value = Renewal> {
        prop_oneof![
            4 => Just(Renewal::Stored),
            2 => Just(Renewal::Unknown),
            1 => Just(Renewal::Gone),
        ]
    }

    proptest! {
        /// The server forgets a lease `TIME` after it has stored the last renewal. A renewal is stored between being sent and being
        /// answered; so whoever believes to hold the lease must have sent one less than `TIME` ago.
        #[test]
        fn whoever_believes_to_hold_a_lease_holds_it(
            steps in prop::collection::vec((any_renewal(), 0_u64..1_500, 0_u64..1_500), 0..30),
        ) {
            let mut now = Instant::now();
            let mut clock = LeaseClock::new(now);
            let (mut stored, mut lost) = (now, false);
            for (renewal, pause, taken) in steps {
                now += Duration::from_millis(pause);
                let sent = now;
                now += Duration::from_millis(taken);
                let held = clock.step(sent, renewal, now, TIME);
                if renewal == Renewal::Stored {
                    stored = sent;
                }
                if held {
                    prop_assert!(!lost, "what is lost stays lost");
                    prop_assert!(now.duration_since(stored) < TIME);
                    prop_assert!(renewal != Renewal::Gone);
                }
                lost |= !held;
            }
        }
    }

    #[test]
    fn a_holder_that_was_stopped_for_longer_than_the_lease_has_lost_it() {
        let start = Instant::now();
        let mut clock = LeaseClock::new(start);
        let late = start + TIME * 3;
        assert!(!clock.step(start + TIME / 4, Renewal::Stored, late, TIME));
        assert!(!clock.step(late, Renewal::Stored, late, TIME));
    }
}
