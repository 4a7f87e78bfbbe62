use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proctor_redact::Redactor;
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::testing::FakeModel;
use crate::{Answer, Cost, ErrorKind, Model, ModelError, Price, Purpose, Request, Usage};

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

fn retry_policy() -> RetryPolicy {
    RetryPolicy { max_tries: 3, ..RetryPolicy::default() }
}

#[tokio::test(start_paused = true)]
async fn retry_waits_longer_each_time_and_counts() {
    let fake =
        FakeModel::new([failed(ErrorKind::Overloaded), failed(ErrorKind::Timeout), answered(1, 1)]);
    let began = Instant::now();
    let model = RetryingModel::new(fake, retry_policy(), Jitter::seeded(1));
    assert_eq!(model.ask(&question()).await.unwrap().tries, 3);
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_millis(750) && waited <= Duration::from_millis(1510),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn retry_gives_up_after_the_last_try_with_the_last_error() {
    let fake = Arc::new(FakeModel::new([failed(ErrorKind::Unreachable)]));
    let model = RetryingModel::new(Arc::clone(&fake), retry_policy(), Jitter::seeded(1));
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
        let fake = Arc::new(FakeModel::new([failed(kind)]));
        let model = RetryingModel::new(Arc::clone(&fake), retry_policy(), Jitter::seeded(1));
        assert_eq!(model.ask(&question()).await.unwrap_err().tries, 1);
        assert_eq!(fake.count(), 1, "{kind:?}");
    }
    let fake = Arc::new(FakeModel::new([failed(K::Malformed)]));
    let model = RetryingModel::new(
        Arc::clone(&fake),
        RetryPolicy { max_tries: 9, ..retry_policy() },
        Jitter::seeded(1),
    );
    assert_eq!(model.ask(&question()).await.unwrap_err().tries, 2);
}

#[tokio::test(start_paused = true)]
async fn retry_honours_what_the_peer_asks_for_unless_it_is_too_long() {
    let began = Instant::now();
    let model = RetryingModel::new(
        FakeModel::new([asked_to_wait(30), answered(1, 1)]),
        retry_policy(),
        Jitter::seeded(1),
    );
    model.ask(&question()).await.unwrap();
    assert!(
        began.elapsed() >= Duration::from_secs(30) && began.elapsed() < Duration::from_secs(34)
    );
    let began = Instant::now();
    let model = RetryingModel::new(
        FakeModel::new([asked_to_wait(3600)]),
        retry_policy(),
        Jitter::seeded(1),
    );
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
    fn ask<'a>(&'a self, _: &'a Request) -> crate::ModelFuture<'a> {
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
            fingerprint: String::new(),
        };
        &WHO
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_lets_so_many_in_at_once() {
    let slow = Arc::new(Slow::default());
    let limiter =
        Arc::new(RequestLimiter::new(Limits { concurrency: Some(3), ..Limits::default() }));
    let began = Instant::now();
    let model = Arc::new(LimitedModel::new(Arc::clone(&slow), limiter));
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
    let limiter = Arc::new(RequestLimiter::new(Limits {
        requests_per_minute: Some(60),
        ..Limits::default()
    }));
    let one = LimitedModel::new(FakeModel::new([answered(1, 1)]), Arc::clone(&limiter));
    let two = LimitedModel::new(FakeModel::new([answered(1, 1)]), limiter);
    let began = Instant::now();
    for _ in 0..6 {
        one.ask(&question()).await.unwrap();
        two.ask(&question()).await.unwrap();
    }
    assert!(began.elapsed().abs_diff(Duration::from_secs(6)) < Duration::from_millis(20));
}

#[tokio::test(start_paused = true)]
async fn real_use_replaces_the_estimate_of_tokens() {
    let limiter =
        Arc::new(RequestLimiter::new(Limits { tokens_per_minute: Some(600), ..Limits::default() }));
    let model = LimitedModel::new(FakeModel::new([answered(5, 5)]), limiter);
    let began = Instant::now();
    for _ in 0..10 {
        model.ask(&question()).await.unwrap();
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_429_makes_the_others_wait_too() {
    let limiter = Arc::new(RequestLimiter::new(Limits::default()));
    let throttled = LimitedModel::new(FakeModel::new([asked_to_wait(5)]), Arc::clone(&limiter));
    let other = LimitedModel::new(FakeModel::new([answered(1, 1)]), Arc::clone(&limiter));
    throttled.ask(&question()).await.unwrap_err();
    let began = Instant::now();
    other.ask(&question()).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(5) && began.elapsed() < Duration::from_secs(6));
    assert_eq!(limiter.pace(), 720);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_waiting_leaves_no_hole() {
    let limiter =
        Arc::new(RequestLimiter::new(Limits { requests_per_minute: Some(6), ..Limits::default() }));
    let model = LimitedModel::new(FakeModel::new([answered(1, 1)]), limiter);
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
) -> (Arc<FakeModel>, Arc<Budget>, BudgetedModel<Arc<FakeModel>>) {
    let fake = Arc::new(FakeModel::of_model(model, [answered(10, 50)]));
    let budget = Arc::new(Budget::new(Cost::from_dollars(dollars), unknown));
    let prices = PriceTable::with_overrides([("gpt-4o".to_owned(), Price::new(0.0, 10.0))].into());
    let meter = BudgetedModel::new(Arc::clone(&fake), Arc::new(prices), Some(Arc::clone(&budget)));
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
    insta::assert_snapshot!(error, @"the budget of $0.002000 does not cover the next call (up to $0.001000): $0.001500 is spent; raise the budget or lower max_tokens");
    assert_eq!((fake.count(), budget.spent()), (3, Cost::from_dollars(0.0015)));
    assert!(budget.is_exhausted());
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_are_part_of_the_budget() {
    let budget = Arc::new(Budget::new(Cost::from_dollars(0.0015), UnknownPrice::Refuse));
    let fake = FakeModel::new([asked_to_wait(30), answered(10, 50)]);
    let slow = RetryingModel::new(fake, retry_policy(), Jitter::seeded(1));
    let prices =
        Arc::new(PriceTable::with_overrides([("gpt-4o".to_owned(), Price::new(0.0, 10.0))].into()));
    let model = Arc::new(BudgetedModel::new(slow, prices, Some(Arc::clone(&budget))));
    let first = tokio::spawn({
        let model = Arc::clone(&model);
        async move { model.ask(&question()).await }
    });
    tokio::task::yield_now().await;
    let soon = Duration::from_secs(1);
    assert!(tokio::time::timeout(soon, model.ask(&question())).await.is_err(), "it waits");
    first.abort();
    assert!(first.await.is_err());
    model.ask(&question()).await.unwrap();
    assert!(!budget.is_exhausted());
}

/// A model whose calls take as long and cost as much as they say: `max_tokens` is the worst case in cents, `seed` the
/// cost in cents, `vote` the seconds.
struct Priced;

impl Model for Priced {
    fn ask<'a>(&'a self, request: &'a Request) -> crate::ModelFuture<'a> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(request.vote.into())).await;
            let cents = request.seed.unwrap_or_default();
            let usage = Usage { output_tokens: cents, ..Usage::default() };
            Ok(Answer { usage: Some(usage), model: "priced".into(), ..Answer::text("yes") })
        })
    }

    fn identity(&self) -> &crate::Identity {
        static WHO: std::sync::LazyLock<crate::Identity> =
            std::sync::LazyLock::new(|| crate::Identity {
                backend: "priced",
                model: "priced".into(),
                billing: crate::Billing::ByTokens,
                fingerprint: String::new(),
            });
        &WHO
    }
}

/// Which of these calls a budget of this many cents lets through, with so many under way at once.
async fn let_through(limit: u32, calls: &[Request], at_once: usize) -> Vec<bool> {
    let own = [("priced".to_owned(), Price::new(0.0, 10_000.0))];
    let prices = Arc::new(PriceTable::with_overrides(own.into()));
    let budget = Budget::new(Cost::from_dollars(f64::from(limit) / 100.0), UnknownPrice::Refuse);
    let model = BudgetedModel::new(Priced, prices, Some(Arc::new(budget)));
    let asks = calls.iter().map(|call| async { model.ask(call).await.is_ok() });
    futures_util::StreamExt::collect(futures_util::StreamExt::buffered(
        futures_util::stream::iter(asks),
        at_once,
    ))
    .await
}

proptest! {
    /// Audit D13: what a budget allows does not depend on how many ask at once.
    #[test]
    fn d13_the_same_calls_are_made_one_by_one_and_all_at_once(
        limit in 0_u32..60,
        calls in proptest::collection::vec((1_u32..20, 0_u32..=100, 0_u32..9), 1..12),
    ) {
        let calls: Vec<Request> = calls
            .into_iter()
            .map(|(worst, share, seconds)| Request {
                max_tokens: Some(worst),
                seed: Some(u64::from(worst * share / 100)),
                vote: seconds,
                ..Request::ask(Purpose::Judge, "?")
            })
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let one_by_one = let_through(limit, &calls, 1).await;
            for at_once in [2, 5, 20] {
                assert_eq!(let_through(limit, &calls, at_once).await, one_by_one, "{at_once}");
            }
        });
    }
}

#[tokio::test]
async fn unknown_is_not_zero() {
    let (fake, _, model) = metered("mystery-1", 1.0, UnknownPrice::Refuse);
    let error = model.ask(&question()).await.unwrap_err();
    insta::assert_snapshot!(error, @"the budget cannot be enforced, because the price of the model `mystery-1` is not known: set its price, or allow unknown prices");
    assert_eq!((error.kind, fake.count()), (ErrorKind::Config, 0));
    let fake = FakeModel::of_model(
        "mystery-1",
        [Ok(Answer { model: "mystery-1".into(), ..answered(1, 1).unwrap() })],
    );
    let model = BudgetedModel::new(fake, Arc::default(), None);
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
    let fake = Arc::new(FakeModel::new([answered(1, 2)]));
    let (first, second) = (open(), open());
    let live = CachedModel::new(Arc::clone(&fake), first).ask(&question()).await.unwrap();
    let model = CachedModel::new(Arc::clone(&fake), Arc::clone(&second));
    let kept = model.ask(&question().in_conversation("another")).await.unwrap();
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
    let fake = Arc::new(FakeModel::new([failed(ErrorKind::Overloaded), answered(1, 2)]));
    let model = CachedModel::new(Arc::clone(&fake), Arc::clone(&cache));
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

/// A judge's question under a mark.
fn marked(mark: &str) -> Request {
    let text = format!("good? <<{mark} turn 1 {mark}>>");
    Request { mark: Some(mark.into()), ..Request::ask(Purpose::Judge, text) }
}

/// Audit D8: the random mark was part of the key, so that no answer of a judge was ever found again.
#[tokio::test]
async fn d8_a_kept_answer_carries_the_mark_of_the_new_question() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap());
    let fake = Arc::new(FakeModel::new([Ok(Answer::text("{\"mark\": \"aaaa\"} MARK"))]));
    let model = CachedModel::new(Arc::clone(&fake), cache);
    model.ask(&marked("aaaa")).await.unwrap();
    let again = model.ask(&marked("bbbb")).await.unwrap();
    assert_eq!((again.text.as_str(), again.cached), ("{\"mark\": \"bbbb\"} MARK", true));
    assert_eq!(fake.count(), 1);
    let vote = Request { vote: 1, ..marked("cccc") };
    assert!(!model.ask(&vote).await.unwrap().cached, "a further vote is another question");
    let forged = Request::ask(Purpose::Judge, "good? <<MARK turn 1 MARK>>");
    assert!(!model.ask(&forged).await.unwrap().cached, "no text stands for the mark");
}

/// Audit D8: unusable answers were kept, and retries read them back.
#[tokio::test]
async fn d8_answers_that_cannot_be_used_are_not_kept() {
    let unusable = [
        Answer { stop: crate::StopReason::Refusal, ..Answer::text("I will not") },
        Answer { stop: crate::StopReason::MaxTokens, ..Answer::text("{\"answers\": [") },
        Answer::text(" "),
        Answer::text("no idea"),
    ];
    let count = u32::try_from(unusable.len()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap());
    let fake = Arc::new(FakeModel::new(unusable.into_iter().chain([Answer::text("yes")]).map(Ok)));
    let model = CachedModel::new(Arc::clone(&fake), cache);
    let acceptance = crate::Acceptance::new(|_, answer| answer.text.contains("yes"));
    let asked = Request { acceptance, ..Request::ask(Purpose::Judge, "good?") };
    for _ in 0..=count {
        assert!(!model.ask(&asked).await.unwrap().cached);
    }
    assert_eq!(fake.count(), count + 1);
    assert!(model.ask(&asked).await.unwrap().cached);
    // Kept for one who could use it, read by one who cannot.
    let acceptance = crate::Acceptance::new(|_, answer| answer.text.contains("no"));
    assert!(!model.ask(&Request { acceptance, ..asked }).await.unwrap().cached);
}

/// Audit D8: every part of a request that a model is sent, and of its configuration, is part of the key.
#[tokio::test]
async fn d8_the_key_holds_everything_that_can_change_an_answer() {
    use crate::wire::Dialect;
    use crate::{CommandConfig, CommandInput, CommandModel, CommandOutput, Endpoint, HttpModel};
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Redactor::default()).unwrap();
    let http = |dialect, change: &dyn Fn(&mut Endpoint)| {
        let mut endpoint = Endpoint::new("http://127.0.0.1:1/v1", "m");
        change(&mut endpoint);
        cache.key(&question(), HttpModel::new(dialect, endpoint).unwrap().identity())
    };
    let extra = |name: &str, value: u64| {
        let extra =
            [(name.to_owned(), value.into())].into_iter().collect::<serde_json::Map<_, _>>();
        move |endpoint: &mut Endpoint| endpoint.extra.clone_from(&extra)
    };
    let header = |name: &'static str, value: &'static str| {
        move |endpoint: &mut Endpoint| endpoint.headers = vec![(name.into(), value.into())]
    };
    let mut keys = vec![
        http(Dialect::OpenAi, &|_| {}),
        http(Dialect::Anthropic, &|_| {}),
        http(Dialect::OpenAi, &|endpoint| endpoint.model = "n".into()),
        http(Dialect::OpenAi, &|endpoint| endpoint.url = "http://127.0.0.1:2/v1".into()),
        http(Dialect::OpenAi, &|endpoint| endpoint.url = "http://127.0.0.1:1/v1?v=2".into()),
        http(Dialect::OpenAi, &extra("seed", 1)),
        http(Dialect::OpenAi, &extra("seed", 2)),
        http(Dialect::OpenAi, &extra("top_p", 1)),
        http(Dialect::OpenAi, &header("x-tenant", "a-tenant")),
        http(Dialect::OpenAi, &header("x-tenant", "b-tenant")),
        http(Dialect::OpenAi, &header("authorization", "a-tenant")),
    ];
    let script = folder.path().join("judge.sh");
    let command = |change: &dyn Fn(&mut CommandConfig)| {
        let mut config = CommandConfig::new(["sh", "judge.sh"], proctor_process::Guard::None);
        config.folder = Some(folder.path().to_owned());
        change(&mut config);
        cache.key(&question(), CommandModel::new(config).unwrap().identity())
    };
    std::fs::write(&script, "echo yes").unwrap();
    keys.extend([
        command(&|_| {}),
        command(&|config| config.argv.push("--strict".into())),
        command(&|config| config.argv = vec!["sh judge.sh".into()]),
        command(&|config| config.env = vec![("A".into(), "1".into())]),
        command(&|config| config.input = CommandInput::Json),
        command(&|config| config.output = CommandOutput::Json("/result".into())),
    ]);
    std::fs::write(&script, "echo no").unwrap();
    keys.push(command(&|_| {}));
    let fake = FakeModel::new([]);
    let asked = |change: &dyn Fn(&mut Request)| {
        let mut request = question();
        change(&mut request);
        cache.key(&request, fake.identity())
    };
    let tool = crate::ToolSpec {
        name: "t".into(),
        description: String::new(),
        input_schema: serde_json::json!({}),
    };
    keys.extend([
        asked(&|_| {}),
        asked(&|request| request.system = Some("s".into())),
        asked(&|request| request.messages.push(crate::Message::user("more"))),
        asked(&|request| request.tools.push(tool.clone())),
        asked(&|request| request.tool_choice = crate::ToolChoice::Any),
        asked(&|request| request.max_tokens = None),
        asked(&|request| request.temperature = Some(0.0)),
        asked(&|request| request.seed = Some(1)),
        asked(&|request| request.stop = vec!["x".into()]),
        asked(&|request| request.repeat = 1),
        asked(&|request| request.vote = 1),
    ]);
    let hashes: std::collections::BTreeSet<String> = keys.iter().map(crate::request_hash).collect();
    assert_eq!(hashes.len(), keys.len(), "two of them share a key");
    assert!(!format!("{keys:?}").contains("tenant\""), "values of headers are not shown");
    // And nothing that cannot change it.
    let same = |change: &dyn Fn(&mut Endpoint)| http(Dialect::OpenAi, change) == keys[0];
    assert!(same(&|endpoint| endpoint.timeout = Duration::from_secs(1)));
    assert!(same(&|endpoint| endpoint.stream = true));
    assert!(same(&|endpoint| endpoint.key_hint = "set KEY".into()));
    assert_eq!(asked(&|request| request.conversation = "l".into()), asked(&|_| {}));
}

#[tokio::test]
async fn many_may_write_the_same_answer_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Arc::new(FakeModel::new([answered(1, 2)]));
    let tasks = (0..40).map(|_| {
        let cache = Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap());
        let model = CachedModel::new(Arc::clone(&fake), cache);
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
    let fake = Arc::new(FakeModel::new([asked_to_wait(1), answered(10, 50)]));
    let budget = Arc::new(Budget::new(Cost::from_dollars(1.0), UnknownPrice::Refuse));
    let model = Layers {
        limiter: Some(Arc::new(RequestLimiter::new(Limits {
            concurrency: Some(1),
            ..Limits::default()
        }))),
        wait: None,
        retry: Some((retry_policy(), Jitter::seeded(3))),
        prices: Some(Arc::default()),
        budget: Some(Arc::clone(&budget)),
        cache: Some(Arc::new(Cache::open(folder.path(), Redactor::default()).unwrap())),
        recorder: None,
    }
    .wrap(Arc::clone(&fake));
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
        FakeModel::new([Ok(answer)]).named("venue", crate::Billing::Elsewhere)
    };
    let budget = Arc::new(Budget::new(Cost::from_dollars(1.0), UnknownPrice::Refuse));
    let metered =
        |model: &str| BudgetedModel::new(agent(model), Arc::default(), Some(Arc::clone(&budget)));
    assert_eq!(metered("venue").ask(&question()).await.unwrap().cost, None);
    assert_eq!(budget.spent(), Cost::ZERO);
    let cost = metered("gpt-4o-2024-08-06").ask(&question()).await.unwrap().cost;
    assert_eq!(cost, Some(Cost::from_dollars(0.0005)));
    assert_eq!(Some(budget.spent()), cost);
}
