//! Accounts of requests and tokens per minute. Pure: time comes in, waits come out.
//!
//! Each account is a bucket that refills evenly and may go into debt: a reservation is always
//! taken down at once, and whoever takes it waits until the debt is paid. So nobody is overtaken,
//! and one request that is larger than the bucket waits longer instead of for ever.
//!
//! A 429 says that our idea of the limits is too high, or that others use the same key: everyone
//! pauses, the buckets refill more slowly, and each success brings the pace back a little.

use std::time::Duration;

/// One minute, the time in which a bucket refills.
const MINUTE: Duration = Duration::from_mins(1);

/// The pace, in thousandths of the configured one: never below, cut to, and regained.
const SLOWEST: u32 = 100;
const CUT: u32 = 700;
const REGAIN: u32 = 20;

/// A bucket. Amounts are in units of which a minute of nanoseconds make one token, so that
/// refilling by the nanosecond is exact.
#[derive(Clone, Debug)]
struct Bucket {
    per_minute: u64,
    capacity: i128,
    level: i128,
    seen: Duration,
}

impl Bucket {
    fn new(per_minute: u64, burst: u64, now: Duration) -> Self {
        let capacity = units(burst.max(1));
        Self { per_minute: per_minute.max(1), capacity, level: capacity, seen: now }
    }

    fn refill(&mut self, now: Duration, pace: u32) {
        let elapsed = now.saturating_sub(self.seen).as_nanos().min(1 << 80);
        self.seen = self.seen.max(now);
        let gained = i128::try_from(elapsed).unwrap_or(0) * self.rate(pace);
        self.level = (self.level + gained).min(self.capacity);
    }

    fn take(&mut self, amount: u64, pace: u32) -> Duration {
        self.level -= units(amount);
        self.debt(pace)
    }

    fn give(&mut self, amount: u64) {
        self.level = (self.level + units(amount)).min(self.capacity);
    }

    fn debt(&self, pace: u32) -> Duration {
        let rate = self.rate(pace);
        let nanoseconds = (-self.level).max(0).saturating_add(rate - 1) / rate;
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Units a nanosecond. The thousand is the scale of the pace, kept in the units.
    fn rate(&self, pace: u32) -> i128 {
        i128::from(self.per_minute) * i128::from(pace)
    }
}

fn units(amount: u64) -> i128 {
    i128::from(amount) * i128::try_from(MINUTE.as_nanos()).unwrap_or(i128::MAX) * 1000
}

/// The accounts of one backend.
#[derive(Clone, Debug)]
pub struct Accounts {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    pace: u32,
    paused_until: Duration,
}

impl Accounts {
    /// Fresh accounts. A tenth of a minute's worth of requests may go at once (at least one), and
    /// half a minute's worth of tokens: providers refill evenly too, and punish bursts.
    pub fn new(
        requests_per_minute: Option<u64>,
        tokens_per_minute: Option<u64>,
        now: Duration,
    ) -> Self {
        Self {
            requests: requests_per_minute.map(|limit| Bucket::new(limit, limit / 10, now)),
            tokens: tokens_per_minute.map(|limit| Bucket::new(limit, limit / 2, now)),
            pace: 1000,
            paused_until: Duration::ZERO,
        }
    }

    /// Takes down a request of about this many tokens, and says how long to wait with it.
    pub fn reserve(&mut self, now: Duration, tokens: u64) -> Duration {
        self.refill(now);
        let pace = self.pace;
        let requests = self.requests.as_mut().map(|bucket| bucket.take(1, pace));
        let tokens = self.tokens.as_mut().map(|bucket| bucket.take(tokens, pace));
        let wait = requests.unwrap_or_default().max(tokens.unwrap_or_default());
        wait.max(self.pause(now))
    }

    /// How long everyone still has to pause.
    pub fn pause(&self, now: Duration) -> Duration {
        self.paused_until.saturating_sub(now)
    }

    /// Puts right what a finished call was thought to use.
    pub fn settle(&mut self, now: Duration, reserved: u64, used: u64) {
        self.refill(now);
        if let Some(bucket) = &mut self.tokens {
            bucket.give(reserved.saturating_sub(used));
            bucket.level -= units(used.saturating_sub(reserved));
        }
        self.pace = (self.pace + REGAIN).min(1000);
    }

    /// Takes back a reservation that was never used.
    pub fn give_back(&mut self, now: Duration, tokens: u64) {
        self.refill(now);
        if let Some(bucket) = &mut self.requests {
            bucket.give(1);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.give(tokens);
        }
    }

    /// The peer said that we are too fast.
    pub fn slow_down(&mut self, now: Duration, pause: Duration) {
        self.refill(now);
        let until = now.saturating_add(pause);
        // Calls that were under way together are told together: that is one cut, not many.
        if now >= self.paused_until {
            self.pace = (self.pace * CUT / 1000).max(SLOWEST);
        }
        self.paused_until = self.paused_until.max(until);
    }

    /// The pace, in thousandths of what was configured.
    pub fn pace(&self) -> u32 {
        self.pace
    }

    fn refill(&mut self, now: Duration) {
        let pace = self.pace;
        for bucket in [&mut self.requests, &mut self.tokens].into_iter().flatten() {
            bucket.refill(now, pace);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn requests_are_spread_after_the_first_burst() {
        let mut accounts = Accounts::new(Some(60), None, s(100));
        let waits: Vec<_> = (0..8).map(|_| accounts.reserve(s(100), 0)).collect();
        assert_eq!(waits, [s(0), s(0), s(0), s(0), s(0), s(0), s(1), s(2)]);
        assert_eq!(accounts.reserve(s(103), 0), s(0));
    }

    #[test]
    fn a_request_larger_than_the_bucket_waits_longer_not_for_ever() {
        let mut accounts = Accounts::new(None, Some(600), s(0));
        assert_eq!(accounts.reserve(s(0), 600), s(30));
    }

    #[test]
    fn what_was_not_used_comes_back_and_what_was_used_on_top_is_owed() {
        let mut accounts = Accounts::new(None, Some(600), s(0));
        assert_eq!(accounts.reserve(s(0), 300), s(0));
        accounts.settle(s(0), 300, 100);
        assert_eq!(accounts.reserve(s(0), 200), s(0));
        accounts.settle(s(0), 200, 260);
        assert_eq!(accounts.reserve(s(0), 0), s(6));
        let mut accounts = Accounts::new(Some(10), Some(600), s(0));
        accounts.reserve(s(0), 300);
        accounts.give_back(s(0), 300);
        assert_eq!(accounts.reserve(s(0), 300), s(0));
    }

    #[test]
    fn a_429_pauses_everyone_slows_down_once_and_is_forgiven() {
        let mut accounts = Accounts::new(Some(600), None, s(0));
        accounts.slow_down(s(10), s(5));
        accounts.slow_down(s(11), s(9));
        assert_eq!(accounts.pace(), 700);
        assert_eq!(accounts.reserve(s(12), 0), s(8));
        for _ in 0..15 {
            accounts.settle(s(30), 0, 0);
        }
        assert_eq!(accounts.pace(), 1000);
        for second in 100..120 {
            accounts.slow_down(s(second), s(0));
        }
        assert_eq!(accounts.pace(), SLOWEST);
    }

    proptest! {
        /// Whatever comes when: in no span of time is more let through than the bucket holds and
        /// the span refills, and nobody is overtaken.
        #[test]
        fn no_span_exceeds_the_limits(rpm in 1_u64..5000, tpm in 1_u64..100_000,
            calls in proptest::collection::vec((0_u64..3_000, 0_u64..5_000), 1..60)) {
            let mut accounts = Accounts::new(Some(rpm), Some(tpm), s(0));
            let mut now = s(0);
            let mut let_through: Vec<(Duration, u64)> = Vec::new();
            for (pause, tokens) in calls {
                now += Duration::from_millis(pause);
                let at = now + accounts.reserve(now, tokens);
                if let Some((before, _)) = let_through.last() { prop_assert!(at >= *before); }
                let_through.push((at, tokens));
            }
            for (first, (from, _)) in let_through.iter().enumerate() {
                let mut sum = 0;
                for (count, (to, tokens)) in let_through[first..].iter().enumerate() {
                    sum += u128::from(*tokens);
                    let span = to.saturating_sub(*from).as_nanos();
                    let allowed = |limit: u64, burst: u64| u128::from(burst.max(1)) * MINUTE.as_nanos() + u128::from(limit) * span;
                    prop_assert!((count as u128 + 1) * MINUTE.as_nanos() <= allowed(rpm, rpm / 10) + u128::from(rpm) + MINUTE.as_nanos());
                    // The first of a span may be larger than what the bucket held when it came.
                    let largest = u128::from(let_through[first].1) * MINUTE.as_nanos();
                    prop_assert!(sum * MINUTE.as_nanos() <= allowed(tpm, tpm / 2) + u128::from(tpm) + largest);
                }
            }
        }
    }
}
