//! Accounts of requests and tokens per minute. Pure: time comes in, waits come out.
//!
//! Each account is a bucket that refills evenly. A request is let through when every bucket holds
//! enough for it, and not taken down before: a request that waits for tokens must not use up its
//! place among the requests meanwhile, nor one that gives up leave a hole. Who asks in which order
//! is the caller's business. A request larger than a bucket waits for a full one and leaves a debt,
//! instead of waiting for ever.
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

    /// How long until the bucket holds enough.
    fn wait(&self, amount: u64, pace: u32) -> Duration {
        let rate = self.rate(pace);
        let missing = (units(amount).min(self.capacity) - self.level).max(0);
        let nanoseconds = missing.saturating_add(rate - 1) / rate;
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

    /// Lets a request of about this many tokens through, or says when to ask again.
    pub fn take(&mut self, now: Duration, tokens: u64) -> Result<(), Duration> {
        self.refill(now);
        let pace = self.pace;
        let requests = self.requests.as_ref().map(|bucket| bucket.wait(1, pace));
        let others = self.tokens.as_ref().map(|bucket| bucket.wait(tokens, pace));
        let pause = self.paused_until.saturating_sub(now);
        let wait = pause.max(requests.unwrap_or_default()).max(others.unwrap_or_default());
        if !wait.is_zero() {
            return Err(wait);
        }
        if let Some(bucket) = &mut self.requests {
            bucket.level -= units(1);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.level -= units(tokens);
        }
        Ok(())
    }

    /// Puts right what a finished call was thought to use.
    pub fn settle(&mut self, now: Duration, reserved: u64, used: u64) {
        self.refill(now);
        if let Some(bucket) = &mut self.tokens {
            let owed = units(used) - units(reserved);
            bucket.level = (bucket.level - owed).min(bucket.capacity);
        }
        self.pace = (self.pace + REGAIN).min(1000);
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

    /// Lets a request through as soon as it may, and says when that was.
    fn pass(accounts: &mut Accounts, now: Duration, tokens: u64) -> Duration {
        match accounts.take(now, tokens) {
            Ok(()) => now,
            Err(wait) => {
                assert_eq!(accounts.take(now + wait, tokens), Ok(()), "the wait was too short");
                now + wait
            }
        }
    }

    #[test]
    fn requests_are_spread_after_the_first_burst() {
        let mut accounts = Accounts::new(Some(60), None, s(100));
        let mut now = s(100);
        let passed: Vec<_> = (0..8)
            .map(|_| {
                now = pass(&mut accounts, now, 0);
                now.as_secs() - 100
            })
            .collect();
        assert_eq!(passed, [0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_request_larger_than_the_bucket_leaves_a_debt_instead_of_waiting_for_ever() {
        let mut accounts = Accounts::new(None, Some(600), s(0));
        assert_eq!(accounts.take(s(0), 600), Ok(()));
        assert_eq!(accounts.take(s(0), 1), Err(Duration::from_millis(30_100)));
        assert_eq!(accounts.take(s(10), 600), Err(s(50)));
    }

    #[test]
    fn what_was_not_used_comes_back_and_what_was_used_on_top_is_owed() {
        let mut accounts = Accounts::new(None, Some(600), s(0));
        assert_eq!(accounts.take(s(0), 300), Ok(()));
        accounts.settle(s(0), 300, 100);
        assert_eq!(accounts.take(s(0), 200), Ok(()));
        accounts.settle(s(0), 200, 260);
        assert_eq!(accounts.take(s(0), 0), Err(s(6)));
    }

    #[test]
    fn a_429_pauses_everyone_slows_down_once_and_is_forgiven() {
        let mut accounts = Accounts::new(Some(600), None, s(0));
        accounts.slow_down(s(10), s(5));
        accounts.slow_down(s(11), s(9));
        assert_eq!(accounts.pace(), 700);
        assert_eq!(accounts.take(s(12), 0), Err(s(8)));
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
        /// the span refills, but for what one request is larger than the bucket; and a wait is
        /// always long enough.
        #[test]
        fn no_span_exceeds_the_limits(rpm in 1_u64..5000, tpm in 1_u64..100_000,
            calls in proptest::collection::vec((0_u64..3_000, 0_u64..5_000), 1..60)) {
            let mut accounts = Accounts::new(Some(rpm), Some(tpm), s(0));
            let mut now = s(0);
            let mut passed: Vec<(Duration, u128)> = Vec::new();
            for (pause, tokens) in calls {
                now = pass(&mut accounts, now + Duration::from_millis(pause), tokens);
                passed.push((now, tokens.into()));
            }
            let minute = MINUTE.as_nanos();
            for (first, (from, _)) in passed.iter().enumerate() {
                let (mut count, mut sum) = (0, 0);
                for (to, tokens) in &passed[first..] {
                    count += 1;
                    sum += tokens;
                    let span = to.saturating_sub(*from).as_nanos();
                    let (requests_held, tokens_held) = (u128::from((rpm / 10).max(1)), u128::from((tpm / 2).max(1)));
                    prop_assert!(count * minute <= requests_held * minute + u128::from(rpm) * span);
                    let debt = tokens.saturating_sub(tokens_held) * minute;
                    prop_assert!(sum * minute <= tokens_held * minute + u128::from(tpm) * span + debt);
                }
            }
        }
    }
}
