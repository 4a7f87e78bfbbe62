//! The table of steps, and properties over any sequence of events.

use super::*;
use proptest::prelude::*;

const fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

const ASKED: Life = Life::Asked { term_at: ms(400), kill_at: ms(800) };
const TERMINATING: Life = Life::Terminating { kill_at: ms(800) };
const KILLING: Life = Life::Killing { force_at: Some(ms(1100)) };
const STOP: Event = Event::Stop { timeout: ms(1000) };

type Row = (Life, u64, Event, Option<(Life, Vec<Effect>)>);

#[test]
fn the_table() {
    use Effect::{Announce, AskShutdown, ForceKill, KillTree, Launch, Terminate};
    let within = ms(800);
    let quiet = Life::Running { rpc: false };
    let talking = Life::Running { rpc: true };
    // (state, time, event, next state, effects); `None` marks an illegal step.
    #[rustfmt::skip]
    let table: &[Row] = &[
        (Life::Pending, 0, Event::Start, Some((Life::Starting, vec![Launch]))),
        (Life::Starting, 0, Event::Start, None),
        (talking, 0, Event::Start, None),
        (Life::Exited, 0, Event::Start, None),
        (Life::Starting, 0, Event::Started { rpc: true }, Some((talking, vec![]))),
        (Life::Starting, 0, Event::Ended, Some((Life::Exited, vec![Announce]))),
        (Life::Pending, 0, STOP, None),
        (Life::Pending, 0, Event::Kill, None),
        (talking, 0, STOP, Some((ASKED, vec![AskShutdown { within }]))),
        (quiet, 0, STOP, Some((TERMINATING, vec![Terminate]))),
        (talking, 100, Event::Stop { timeout: ms(0) }, Some((KILLING, vec![KillTree]))),
        (talking, 100, Event::Kill, Some((KILLING, vec![KillTree]))),
        (talking, 0, Event::Tick, Some((talking, vec![]))),
        (talking, 0, Event::Ended, Some((Life::Exited, vec![Announce]))),
        (ASKED, 399, Event::Tick, Some((ASKED, vec![]))),
        (ASKED, 400, Event::Tick, Some((TERMINATING, vec![Terminate]))),
        (ASKED, 900, Event::Tick, Some((Life::Killing { force_at: Some(ms(1900)) }, vec![KillTree]))),
        (ASKED, 10, Event::ShutdownRefused, Some((TERMINATING, vec![Terminate]))),
        (ASKED, 100, Event::Kill, Some((KILLING, vec![KillTree]))),
        (ASKED, 100, Event::Stop { timeout: ms(100) },
            Some((Life::Asked { term_at: ms(140), kill_at: ms(180) }, vec![]))),
        (ASKED, 100, Event::Stop { timeout: ms(9000) }, Some((ASKED, vec![]))),
        (ASKED, 100, Event::Stop { timeout: ms(0) }, Some((KILLING, vec![KillTree]))),
        (TERMINATING, 799, Event::Tick, Some((TERMINATING, vec![]))),
        (TERMINATING, 100, Event::ShutdownRefused, Some((TERMINATING, vec![]))),
        (TERMINATING, 100, Event::Stop { timeout: ms(0) }, Some((KILLING, vec![KillTree]))),
        (KILLING, 100, STOP, Some((KILLING, vec![]))),
        (KILLING, 100, Event::Kill, Some((KILLING, vec![]))),
        (KILLING, 1100, Event::Tick, Some((Life::Killing { force_at: None }, vec![ForceKill]))),
        (KILLING, 1100, Event::Ended, Some((Life::Exited, vec![Announce]))),
        (Life::Exited, 0, STOP, Some((Life::Exited, vec![]))),
        (Life::Exited, 0, Event::Kill, Some((Life::Exited, vec![]))),
        (Life::Exited, 0, Event::Ended, None),
    ];
    for (life, at, event, expected) in table {
        let found = life.step(ms(*at), *event).ok();
        assert_eq!(&found, expected, "{life:?} at {at} ms on {event:?}");
    }
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        Just(Event::Start),
        any::<bool>().prop_map(|rpc| Event::Started { rpc }),
        (0_u64..5000).prop_map(|timeout| Event::Stop { timeout: ms(timeout) }),
        Just(Event::Kill),
        Just(Event::ShutdownRefused),
        Just(Event::Tick),
        Just(Event::Ended),
    ];
    proptest::collection::vec((0_u64..800, event), 0..40)
}

fn rank(state: State) -> u8 {
    match state {
        State::Pending => 0,
        State::Running => 1,
        State::Stopping => 2,
        State::Exited => 3,
    }
}

proptest! {
    /// The state never goes back, each effect comes at most once, and exit is announced once.
    #[test]
    fn never_goes_back_and_never_repeats_itself(events in events()) {
        let (mut life, mut now) = (Life::Pending, ms(0));
        let mut effects = Vec::new();
        for (pause, event) in events {
            now += ms(pause);
            let before = life.state();
            if let Ok((next, new)) = life.step(now, event) {
                life = next;
                effects.extend(new);
            }
            prop_assert!(rank(life.state()) >= rank(before));
        }
        let count = |wanted: fn(&Effect) -> bool| effects.iter().filter(|e| wanted(e)).count();
        let once: [fn(&Effect) -> bool; 5] = [
            |e| matches!(e, Effect::Launch),
            |e| matches!(e, Effect::AskShutdown { .. }),
            |e| matches!(e, Effect::Terminate),
            |e| matches!(e, Effect::KillTree),
            |e| matches!(e, Effect::ForceKill),
        ];
        for wanted in once {
            prop_assert!(count(wanted) <= 1);
        }
        let exited = usize::from(life.state() == State::Exited);
        let announced = count(|e| matches!(e, Effect::Announce));
        prop_assert_eq!(announced, exited);
    }

    /// Whoever follows the deadlines has sent SIGKILL within the time of every stop given.
    #[test]
    fn the_kill_comes_within_the_shortest_timeout(
        rpc in any::<bool>(),
        stops in proptest::collection::vec((0_u64..1000, 0_u64..3000), 1..5),
    ) {
        let (mut life, mut now) = (Life::Running { rpc }, ms(0));
        let mut limit = Duration::MAX;
        let mut killed_at = None;
        let mut stops = stops.into_iter().map(|(pause, timeout)| (ms(pause), ms(timeout)));
        let mut next_stop = stops.next().map(|(pause, timeout)| (now + pause, timeout));
        while killed_at.is_none() {
            let tick_first = match (life.deadline(), next_stop) {
                (Some(tick), Some((at, _))) => tick <= at,
                (Some(_), None) => true,
                (None, _) => false,
            };
            let event = if tick_first {
                now = life.deadline().unwrap();
                Event::Tick
            } else {
                let (at, timeout) = next_stop.unwrap();
                now = at;
                limit = limit.min(now + timeout);
                next_stop = stops.next().map(|(pause, timeout)| (now + pause, timeout));
                Event::Stop { timeout }
            };
            let (next, effects) = life.step(now, event).unwrap();
            life = next;
            if effects.contains(&Effect::KillTree) {
                killed_at = Some(now);
            }
        }
        prop_assert!(killed_at.unwrap() <= limit);
    }
}
