use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::testing::Fake;
use crate::{Answer, Cost, ErrorKind, Model, ModelError, Price, Purpose, Redactor, Request, Usage};

fn failed(kind: ErrorKind) -> Result<Answer, ModelError> {
    Err(ModelError::new(kind, "no"))
}

fn asked_to_wait(seconds: u64) -> Result<Answer, ModelError> {
    let retry_after = Some(Duration::from_secs(seconds));
    Err(ModelError { retry_after, ..ModelError::new(ErrorKind::RateLimited, "slow down") })
}

#[expect(clippy::unnecessary_wraps, reason = "an outcome, to be mixed with failures")]
fn answered(input_tokens: u64, output_tokens: u64) -> Result<Answer, ModelError> {
    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
    Ok(Answer { usage: Some(usage), model: "gpt-4o".into(), ..Answer::text("yes") })
}

fn question() -> Request {
    Request { max_tokens: Some(100), ..Request::ask(Purpose::Judge, "good?") }
}

fn patient() -> RetryPolicy {
    RetryPolicy { max_tries: 3, ..RetryPolicy::default() }
}

#[tokio::test(start_paused = true)]
async fn retry_waits_longer_each_time_and_counts() {
    let fake =
        Fake::new([failed(ErrorKind::Overloaded), failed(ErrorKind::Timeout), answered(1, 1)]);
    let began = Instant::now();
    let model = Retry::new(fake, patient(), Jitter::seeded(1));
    assert_eq!(model.ask(&question()).await.unwrap().tries, 3);
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_millis(750) && waited <= Duration::from_millis(1510),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn retry_gives_up_after_the_last_try_with_the_last_error() {
    let fake = Arc::new(Fake::new([failed(ErrorKind::Unreachable)]));
    let model = Retry::new(Arc::clone(&fake), patient(), Jitter::seeded(1));
    let error = model.ask(&question()).await.unwrap_err();
    assert_eq!((error.kind, error.tries, fake.count()), (ErrorKind::Unreachable, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn retry_never_repeats_what_cannot_succeed() {
    use ErrorKind as K;
    let hopeless = [
        K::Refused,
        K::QuotaExhausted,
        K::BadRequest,
        K::NotFound,
        K::BudgetExhausted,
        K::NoKey,
        K::CassetteMiss,
        K::ScriptExhausted,
        K::CommandFailed,
        K::Storage,
        K::Config,
    ];
    for kind in hopeless {
        let fake = Arc::new(Fake::new([failed(kind)]));
        let model = Retry::new(Arc::clone(&fake), patient(), Jitter::seeded(1));
        assert_eq!(model.ask(&question()).await.unwrap_err().tries, 1);
        assert_eq!(fake.count(), 1, "{kind:?}");
    }
    let fake = Arc::new(Fake::new([failed(K::Malformed)]));
    let model =
        Retry::new(Arc::clone(&fake), RetryPolicy { max_tries: 9, ..patient() }, Jitter::seeded(1));
    assert_eq!(model.ask(&question()).await.unwrap_err().tries, 2);
}

#[tokio::test(start_paused = true)]
async fn retry_honours_what_the_peer_asks_for_unless_it_is_too_long() {
    let began = Instant::now();
    let model =
        Retry::new(Fake::new([asked_to_wait(30), answered(1, 1)]), patient(), Jitter::seeded(1));
    model.ask(&question()).await.unwrap();
    assert!(
        began.elapsed() >= Duration::from_secs(30) && began.elapsed() < Duration::from_secs(34)
    );
    let began = Instant::now();
    let model = Retry::new(Fake::new([asked_to_wait(3600)]), patient(), Jitter::seeded(1));
    assert_eq!(model.ask(&question()).await.unwrap_err().kind, ErrorKind::RateLimited);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

proptest! {
    #[test]
    fn waits_stay_within_their_bounds(tries in 1_u32..40, jitter in -1.0_f64..2.0, asked in proptest::option::of(0_u64..200)) {
        let policy = RetryPolicy { max_tries: 50, ..RetryPolicy::default() };
        let error = ModelError { retry_after: asked.map(Duration::from_secs), ..ModelError::new(ErrorKind::RateLimited, "") };
        match (policy.wait(&error, tries, jitter), error.retry_after) {
            (None, asked) => prop_assert!(asked.unwrap() > policy.max_retry_after),
            (Some(wait), Some(asked)) => prop_assert!(wait >= asked && wait <= asked.mul_f64(1.1) + Duration::from_millis(100)),
            (Some(wait), None) => prop_assert!(wait >= policy.first_delay / 2 && wait <= policy.max_delay),
        }
    }

    #[test]
    fn jitter_is_between_nothing_and_one(seed in any::<u64>()) {
        let (jitter, same) = (Jitter::seeded(seed), Jitter::seeded(seed));
        for _ in 0..20 {
            let number = jitter.next();
            prop_assert!((0.0..1.0).contains(&number));
            prop_assert_eq!(number.to_bits(), same.next().to_bits());
        }
    }
}

/// A model that takes a second, and knows how many were inside at once.
#[derive(Default)]
struct Slow {
    inside: std::sync::atomic::AtomicUsize,
    most: std::sync::atomic::AtomicUsize,
}

impl Model for Slow {
    fn ask<'a>(&'a self, _: &'a Request) -> crate::Asking<'a> {
        use std::sync::atomic::Ordering::Relaxed;
        Box::pin(async {
            self.most.fetch_max(self.inside.fetch_add(1, Relaxed) + 1, Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.inside.fetch_sub(1, Relaxed);
            answered(1, 1)
        })
    }

    fn identity(&self) -> &crate::Identity {
        static WHO: crate::Identity = crate::Identity {
            backend: "slow",
            model: String::new(),
            billing: crate::Billing::Free,
        };
        &WHO
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_lets_so_many_in_at_once() {
    let slow = Arc::new(Slow::default());
    let gate = Arc::new(Gate::new(Limits { concurrency: Some(3), ..Limits::default() }));
    let began = Instant::now();
    let model = Arc::new(Limited::new(Arc::clone(&slow), gate));
    let asks = (0..9).map(|_| {
        let model = Arc::clone(&model);
        tokio::spawn(async move { model.ask(&question()).await })
    });
    for ask in asks.collect::<Vec<_>>() {
        ask.await.unwrap().unwrap();
    }
    assert_eq!(slow.most.load(std::sync::atomic::Ordering::Relaxed), 3);
    assert_eq!(began.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn two_users_of_a_gate_share_its_minute() {
    let gate = Arc::new(Gate::new(Limits { requests_per_minute: Some(60), ..Limits::default() }));
    let one = Limited::new(Fake::new([answered(1, 1)]), Arc::clone(&gate));
    let two = Limited::new(Fake::new([answered(1, 1)]), gate);
    let began = Instant::now();
    for _ in 0..6 {
        one.ask(&question()).await.unwrap();
        two.ask(&question()).await.unwrap();
    }
    assert!(began.elapsed().abs_diff(Duration::from_secs(6)) < Duration::from_millis(20));
}

#[tokio::test(start_paused = true)]
async fn real_use_replaces_the_estimate_of_tokens() {
    let gate = Arc::new(Gate::new(Limits { tokens_per_minute: Some(600), ..Limits::default() }));
    let model = Limited::new(Fake::new([answered(5, 5)]), gate);
    let began = Instant::now();
    for _ in 0..10 {
        model.ask(&question()).await.unwrap();
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_429_makes_the_others_wait_too() {
    let gate = Arc::new(Gate::new(Limits::default()));
    let told = Limited::new(Fake::new([asked_to_wait(5)]), Arc::clone(&gate));
    let other = Limited::new(Fake::new([answered(1, 1)]), Arc::clone(&gate));
    told.ask(&question()).await.unwrap_err();
    let began = Instant::now();
    other.ask(&question()).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(5) && began.elapsed() < Duration::from_secs(6));
    assert_eq!(gate.pace(), 720);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_waiting_leaves_no_hole() {
    let gate = Arc::new(Gate::new(Limits { requests_per_minute: Some(6), ..Limits::default() }));
    let model = Limited::new(Fake::new([answered(1, 1)]), gate);
    model.ask(&question()).await.unwrap();
    for _ in 0..50 {
        let soon = Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, model.ask(&question())).await.is_err());
    }
    let began = Instant::now();
    model.ask(&question()).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(10), "{:?}", began.elapsed());
}

fn metered(
    model: &str,
    dollars: f64,
    unknown: UnknownPrice,
) -> (Arc<Fake>, Arc<Budget>, Metered<Arc<Fake>>) {
    let fake = Arc::new(Fake::of_model(model, [answered(10, 50)]));
    let budget = Arc::new(Budget::new(Cost::from_dollars(dollars), unknown));
    let prices = PriceTable::with_overrides([("gpt-4o".to_owned(), Price::new(0.0, 10.0))].into());
    let meter = Metered::new(Arc::clone(&fake), Arc::new(prices), Some(Arc::clone(&budget)));
    (fake, budget, meter)
}

#[tokio::test]
async fn the_budget_refuses_the_call_that_would_exceed_it() {
    // A call reserves 100 tokens (0.1 cents) and uses 50.
    let (fake, budget, model) = metered("gpt-4o", 0.002, UnknownPrice::Refuse);
    for _ in 0..3 {
        assert_eq!(model.ask(&question()).await.unwrap().cost, Some(Cost::from_dollars(0.0005)));
    }
    let error = model.ask(&question()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BudgetExhausted);
    insta::assert_snapshot!(error, @"the budget of $0.002000 does not cover the next call (up to $0.001000): $0.001500 is spent, $0.00 is reserved by calls under way; raise the budget or lower max_tokens");
    assert_eq!((fake.count(), budget.spent()), (3, Cost::from_dollars(0.0015)));
    assert!(budget.is_exhausted());
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_are_part_of_the_budget() {
    let budget = Arc::new(Budget::new(Cost::from_dollars(0.0015), UnknownPrice::Refuse));
    let fake = Fake::new([asked_to_wait(30), answered(10, 50)]);
    let slow = Retry::new(fake, patient(), Jitter::seeded(1));
    let prices =
        Arc::new(PriceTable::with_overrides([("gpt-4o".to_owned(), Price::new(0.0, 10.0))].into()));
    let model = Arc::new(Metered::new(slow, prices, Some(Arc::clone(&budget))));
    let first = tokio::spawn({
        let model = Arc::clone(&model);
        async move { model.ask(&question()).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(model.ask(&question()).await.unwrap_err().kind, ErrorKind::BudgetExhausted);
    first.abort();
    assert!(first.await.is_err());
    model.ask(&question()).await.unwrap();
}

#[tokio::test]
async fn unknown_is_not_zero() {
    let (fake, _, model) = metered("mystery-1", 1.0, UnknownPrice::Refuse);
    let error = model.ask(&question()).await.unwrap_err();
    insta::assert_snapshot!(error, @"there is a budget, but no price for the model `mystery-1`: give its price, or allow unknown prices");
    assert_eq!((error.kind, fake.count()), (ErrorKind::Config, 0));
    let fake = Fake::of_model(
        "mystery-1",
        [Ok(Answer { model: "mystery-1".into(), ..answered(1, 1).unwrap() })],
    );
    let model = Metered::new(fake, Arc::default(), None);
    assert_eq!(model.ask(&question()).await.unwrap().cost, None);
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn the_cache_answers_the_second_time_per_repeat_and_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(Cache::open(folder.path().join("c"), Redactor::default()).unwrap());
    let fake = Arc::new(Fake::new([answered(1, 2)]));
    let (first, second) = (open(), open());
    let live = Cached::new(Arc::clone(&fake), first).ask(&question()).await.unwrap();
    let model = Cached::new(Arc::clone(&fake), Arc::clone(&second));
    let kept = model.ask(&question().in_lane("another")).await.unwrap();
    assert_eq!(kept, Answer { cached: true, ..live });
    assert!(!model.ask(&Request { repeat: 2, ..question() }).await.unwrap().cached);
    assert_eq!(fake.count(), 2);
    assert_eq!(second.stats(), CacheStats { hits: 1, misses: 1, failures: 0 });
    for path in files(folder.path()) {
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700), "{path:?}");
    }
}

#[tokio::test]
async fn a_damaged_or_foreign_file_is_a_miss_and_failures_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap());
    let fake = Arc::new(Fake::new([failed(ErrorKind::Overloaded), answered(1, 2)]));
    let model = Cached::new(Arc::clone(&fake), Arc::clone(&cache));
    model.ask(&question()).await.unwrap_err();
    assert!(files(folder.path()).is_empty());
    model.ask(&question()).await.unwrap();
    for text in ["", "{\"v\":1", "{\"v\":2,\"key\":1,\"answer\":{\"text\":\"\",\"model\":\"\"}}"] {
        std::fs::write(&files(folder.path())[0], text).unwrap();
        assert!(!model.ask(&question()).await.unwrap().cached, "{text}");
        assert!(model.ask(&question()).await.unwrap().cached);
    }
    std::fs::remove_dir_all(folder.path()).unwrap();
    std::fs::write(folder.path(), "in the way").unwrap();
    assert_eq!(model.ask(&question()).await.unwrap().text, "yes");
    assert_eq!(cache.stats().failures, 1);
    std::fs::remove_file(folder.path()).unwrap();
}

#[tokio::test]
async fn many_may_write_the_same_answer_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Arc::new(Fake::new([answered(1, 2)]));
    let tasks = (0..40).map(|_| {
        let cache = Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap());
        let model = Cached::new(Arc::clone(&fake), cache);
        tokio::spawn(async move { model.ask(&question()).await.unwrap().text })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(task.await.unwrap(), "yes");
    }
    assert_eq!(files(folder.path()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_layers_together() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Arc::new(Fake::new([asked_to_wait(1), answered(10, 50)]));
    let budget = Arc::new(Budget::new(Cost::from_dollars(1.0), UnknownPrice::Refuse));
    let model = Layers {
        gate: Some(Arc::new(Gate::new(Limits { concurrency: Some(1), ..Limits::default() }))),
        retry: Some((patient(), Jitter::seeded(3))),
        prices: Some(Arc::default()),
        budget: Some(Arc::clone(&budget)),
        cache: Some(Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap())),
        recorder: None,
    }
    .over(Arc::clone(&fake));
    let live = model.ask(&question()).await.unwrap();
    let again = model.ask(&question()).await.unwrap();
    assert_eq!((live.tries, live.cached, again.cached, fake.count()), (2, false, true, 2));
    assert_eq!(Some(budget.spent()), live.cost);
    assert_eq!(again.cost, live.cost);
}

#[tokio::test]
async fn an_agent_is_priced_by_what_it_says_of_itself_and_never_refused_for_want_of_a_price() {
    let agent = |model: &str| {
        let answer = Answer { model: model.into(), ..answered(0, 50).unwrap() };
        Fake::new([Ok(answer)]).named("venue", crate::Billing::Elsewhere)
    };
    let budget = Arc::new(Budget::new(Cost::from_dollars(1.0), UnknownPrice::Refuse));
    let metered =
        |model: &str| Metered::new(agent(model), Arc::default(), Some(Arc::clone(&budget)));
    assert_eq!(metered("venue").ask(&question()).await.unwrap().cost, None);
    assert_eq!(budget.spent(), Cost::ZERO);
    let cost = metered("gpt-4o-2024-08-06").ask(&question()).await.unwrap().cost;
    assert_eq!(cost, Some(Cost::from_dollars(0.0005)));
    assert_eq!(Some(budget.spent()), cost);
}
