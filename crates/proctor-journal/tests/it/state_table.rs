//! The state table as a property: random operations, compared with the model after each.

use proctor_journal::{Journal, OutcomeStatus};
use proptest::prelude::*;

use crate::mem_disk::{MemDisk, Stop};
use crate::model::{Model, Reply, Request, advance, ask, observed};
use crate::support::Clock;

pub(crate) fn any_ask() -> impl Strategy<Value = Request> {
    prop_oneof![
        4 => any::<u8>().prop_map(Request::Create),
        3 => (proptest::option::of(0..3_u8), any::<bool>())
            .prop_map(|(hypothesis, note)| Request::Update { hypothesis, note }),
        3 => prop_oneof![
            Just(OutcomeStatus::Confirmed),
            Just(OutcomeStatus::Falsified),
            Just(OutcomeStatus::Abandoned)
        ].prop_map(Request::Resolve),
        1 => any::<u8>().prop_map(Request::Annotate),
        1 => Just(Request::Adopt),
        1 => Just(Request::AbandonOrphan),
        2 => proptest::option::of(any::<u8>()).prop_map(Request::Start),
        1 => Just(Request::End),
        2 => Just(Request::Count),
        1 => Just(Request::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without interruptions the journal and the model agree on every answer and every state.
    #[test]
    fn journal_follows_the_table(asks in proptest::collection::vec(any_ask(), 1..40)) {
        let disk = MemDisk::new();
        let journal = Journal::on(disk.clone(), "/journal");
        let clock = Clock::new();
        let mut model = Model::default();
        for next in asks {
            let moment = clock.tick();
            let said = ask(&journal, &model, &next, &moment).unwrap();
            prop_assert_eq!(&said, &model.expects(&next), "{:?}", next);
            if said == Reply::Done {
                model = advance(&model, &next, &moment);
            }
            // Looking through a fresh journal: all state is in the files.
            let fresh = Journal::on(disk.clone(), "/journal");
            prop_assert_eq!(observed(&fresh, &moment), model.clone(), "{:?}", next);
        }
    }

    /// With a stop at some change of some operations, nothing acknowledged is lost and nothing is
    /// there twice, whether the process died or the power failed.
    #[test]
    fn nothing_is_lost_or_repeated_by_crashes(
        asks in proptest::collection::vec((any_ask(), 0..12_usize, any::<u64>(), any::<bool>()), 1..40),
    ) {
        let disk = MemDisk::new();
        let clock = Clock::new();
        let mut model = Model::default();
        for (next, stop_at, dice, power) in asks {
            let journal = Journal::on(disk.clone(), "/journal");
            let moment = clock.tick();
            disk.stop_at((stop_at > 0).then_some(stop_at), dice);
            let result = ask(&journal, &model, &next, &moment);
            let expected = model.expects(&next);
            if result.is_ok() && !disk.has_stopped() {
                prop_assert_eq!(&result.unwrap(), &expected);
                if expected == Reply::Done {
                    model = advance(&model, &next, &moment);
                }
                disk.stop_at(None, dice);
                prop_assert_eq!(observed(&journal, &moment), model.clone());
                continue;
            }
            disk.restart(if power { Stop::Power } else { Stop::Process });
            // What an operation left that was never acknowledged may be seen now and lost in a
            // later power cut; that is no loss, so the two kinds of stop are kept apart.
            disk.flush();
            let after = if expected == Reply::Done { advance(&model, &next, &moment) } else { model.clone() };
            let moment = clock.tick();
            model = crate::crash::reconcile(&model, &after, &observed(&journal, &moment));
        }
        crate::crash::check_final(&disk, &model, &clock.tick());
    }
}
