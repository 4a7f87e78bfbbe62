//! Accounts of requests and tokens per minute. Pure: time comes in, waits come out.
//!
//! Each account is a bucket that refills evenly, and a list of what the last minute took. The bucket
//! spreads requests; the list holds that no minute, wherever it begins, takes more than the limit.
//! A request is let through when every account has room for it, and not taken down before: a request
//! that waits for tokens must not use up its place among the requests meanwhile, nor one that gives up
//! leave a hole. Who asks in which order is the caller's business. A request larger than a bucket waits
//! for a full one and leaves a debt, and one larger than the limit waits for an empty minute, instead of
//! waiting for ever.
//!
//! A 429 says that our idea of the limits is too high, or that others use the same key: everyone
//! pauses, the buckets refill more slowly, and each success brings the pace back a little.

use std::collections::VecDeque;
use std::time::Duration;

/// One minute, the time in which a bucket refills.
const MINUTE: Duration = Duration::from_mins(1);

/// The pace, in thousandths of the configured one: never below, cut to, and regained.
const MIN_PACE: u32 = 100;
const PACE_CUT: u32 = 700;
const PACE_GAIN: u32 = 20;

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

/// What was let through within the last minute.
#[derive(Clone, Debug)]
struct Window {
    limit: u64,
    /// When, which request, and how much it took; the oldest first.
    taken: VecDeque<(Duration, Ticket, u64)>,
    sum: u64,
}

impl Window {
    fn new(limit: u64) -> Self {
        Self { limit: limit.max(1), taken: VecDeque::new(), sum: 0 }
    }

    fn forget_before_last_minute(&mut self, now: Duration) {
        while let Some((at, _, amount)) = self.taken.front().copied()
            && at + MINUTE <= now
        {
            self.sum -= amount;
            self.taken.pop_front();
        }
    }

    /// How long until there is room for this much.
    fn wait(&self, amount: u64, now: Duration) -> Duration {
        let mut over = self.sum.saturating_add(amount).saturating_sub(self.limit);
        let mut wait = Duration::ZERO;
        for (at, _, taken) in &self.taken {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(*taken);
            wait = (*at + MINUTE).saturating_sub(now);
        }
        wait
    }

    fn take(&mut self, now: Duration, ticket: Ticket, amount: u64) {
        self.taken.push_back((now, ticket, amount));
        self.sum = self.sum.saturating_add(amount);
    }

    /// Puts right what a request took; nothing to do once its minute is over.
    fn correct(&mut self, ticket: Ticket, amount: u64) {
        let known = self.taken.iter_mut().rev().find(|(_, known, _)| *known == ticket);
        if let Some((_, _, taken)) = known {
            self.sum = self.sum.saturating_sub(*taken).saturating_add(amount);
            *taken = amount;
        }
    }
}

/// Names a request that was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// A bucket and a window over the same amounts.
#[derive(Clone, Debug)]
struct Account {
    bucket: Bucket,
    window: Window,
}

impl Account {
    fn new(per_minute: u64, burst: u64, now: Duration) -> Self {
        let (bucket, window) = (Bucket::new(per_minute, burst, now), Window::new(per_minute));
        Self { bucket, window }
    }

    fn wait(&self, amount: u64, now: Duration, pace: u32) -> Duration {
        self.bucket.wait(amount, pace).max(self.window.wait(amount, now))
    }

    fn take(&mut self, now: Duration, ticket: Ticket, amount: u64) {
        self.bucket.level -= units(amount);
        self.window.take(now, ticket, amount);
    }
}

/// The accounts of one backend.
#[derive(Clone, Debug)]
pub struct Accounts {
    requests: Option<Account>,
    tokens: Option<Account>,
    pace: u32,
    paused_until: Duration,
    last_ticket: u64,
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
            requests: requests_per_minute.map(|limit| Account::new(limit, limit / 10, now)),
            tokens: tokens_per_minute.map(|limit| Account::new(limit, limit / 2, now)),
            pace: 1000,
            paused_until: Duration::ZERO,
            last_ticket: 0,
        }
    }

    /// Lets a request of about this many tokens through, or says when to ask again.
    pub fn take(&mut self, now: Duration, tokens: u64) -> Result<Ticket, Duration> {
        self.refill(now);
        let pace = self.pace;
        let requests = self.requests.as_ref().map(|account| account.wait(1, now, pace));
        let others = self.tokens.as_ref().map(|account| account.wait(tokens, now, pace));
        let pause = self.paused_until.saturating_sub(now);
        let wait = pause.max(requests.unwrap_or_default()).max(others.unwrap_or_default());
        if !wait.is_zero() {
            return Err(wait);
        }
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        if let Some(account) = &mut self.requests {
            account.take(now, ticket, 1);
        }
        if let Some(account) = &mut self.tokens {
            account.take(now, ticket, tokens);
        }
        Ok(ticket)
    }

    /// Puts right what a finished call was thought to use.
    pub fn settle(&mut self, now: Duration, ticket: Ticket, reserved: u64, used: u64) {
        self.refill(now);
        if let Some(Account { bucket, window }) = &mut self.tokens {
            let owed = units(used) - units(reserved);
            bucket.level = (bucket.level - owed).min(bucket.capacity);
            window.correct(ticket, used);
        }
        self.pace = (self.pace + PACE_GAIN).min(1000);
    }

    /// The peer said that we are too fast.
    pub fn slow_down(&mut self, now: Duration, pause: Duration) {
        self.refill(now);
        let until = now.saturating_add(pause);
        // Concurrent calls are refused together: the pace is cut once, not once per call.
        if now >= self.paused_until {
            self.pace = (self.pace * PACE_CUT / 1000).max(MIN_PACE);
        }
        self.paused_until = self.paused_until.max(until);
    }

    /// The pace, in thousandths of what was configured.
    pub fn pace(&self) -> u32 {
        self.pace
    }

    fn refill(&mut self, now: Duration) {
        let pace = self.pace;
        for account in [&mut self.requests, &mut self.tokens].into_iter().flatten() {
            account.bucket.refill(now, pace);
            account.window.forget_before_last_minute(now);
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
            Ok(_) => now,
            Err(wait) => {
                assert!(accounts.take(now + wait, tokens).is_ok(), "the wait was too short");
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
        assert!(accounts.take(s(0), 600).is_ok());
        assert_eq!(accounts.take(s(0), 1), Err(s(60)), "the minute is used up");
        assert_eq!(accounts.take(s(10), 600), Err(s(50)));
        assert!(accounts.take(s(60), 900).is_ok(), "larger than any minute");
        assert_eq!(accounts.take(s(60), 600), Err(s(90)));
    }

    #[test]
    fn what_was_not_used_comes_back_and_what_was_used_on_top_is_owed() {
        let mut accounts = Accounts::new(None, Some(600), s(0));
        let first = accounts.take(s(0), 300).unwrap();
        accounts.settle(s(0), first, 300, 100);
        let second = accounts.take(s(0), 200).unwrap();
        accounts.settle(s(0), second, 200, 260);
        assert_eq!(accounts.take(s(0), 0), Err(s(6)));
        // By then the bucket has plenty; the minute has not.
        assert_eq!(accounts.take(s(30), 300), Err(s(30)));
    }

    #[test]
    fn a_429_pauses_everyone_slows_down_once_and_is_forgiven() {
        let mut accounts = Accounts::new(Some(600), None, s(0));
        accounts.slow_down(s(10), s(5));
        accounts.slow_down(s(11), s(9));
        assert_eq!(accounts.pace(), 700);
        assert_eq!(accounts.take(s(12), 0), Err(s(8)));
        for _ in 0..15 {
            accounts.settle(s(30), Ticket(0), 0, 0);
        }
        assert_eq!(accounts.pace(), 1000);
        for second in 100..120 {
            accounts.slow_down(s(second), s(0));
        }
        assert_eq!(accounts.pace(), MIN_PACE);
    }

    proptest! {
        /// Whatever comes when: in no span of time is more let through than the bucket holds and
        /// the span refills, but for what one request is larger than the bucket; in no minute more
        /// than the limit, but for a request that is larger and has its minute alone; and a wait is
        /// always long enough. Audit D18: bursts beyond rpm and tpm.
        #[test]
        fn d18_no_span_and_no_minute_exceeds_the_limits(rpm in 1_u64..5000, tpm in 1_u64..100_000,
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
                    if span < minute {
                        prop_assert!(count <= u128::from(rpm));
                        prop_assert!(sum <= u128::from(tpm) || count == 1, "{sum} tokens in a minute");
                    }
                }
            }
        }
    }
}
