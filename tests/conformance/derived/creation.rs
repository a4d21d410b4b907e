//! Z: actors that cannot start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::testkit::{self, TestSystem};
use supervise::{ActorSystem, Directive, Event, HowEnded, Outcome, Props, StoppingTable, Strategy};

use super::broken_at;
use crate::fixture::{Boom, PingPong, how_ended, keeper_deciding, keeper_under, keeping, names_of_children};
use crate::log::Log;

/// Rule 5.2.
#[test]
fn z_32_a_top_level_actor_that_cannot_start_harms_nobody() {
    testkit::run_with(ActorSystem::builder("test").supervised_by::<StoppingTable>(), async |system| {
        let log = Log::open();
        let probe = system.probe();
        let actor = system.spawn("actor", broken_at(&[1], probe.handle())).unwrap();
        system.expect_terminated(&actor).await;
        assert_eq!(log.errors().len(), 1);
        assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
        assert_eq!(probe.all().await, Vec::<String>::new(), "there was no instance to stop");
        system.expect_decision(&actor).await;
        system.spawn("actor", broken_at(&[], probe.handle())).unwrap();
        probe.expect("actor starts".to_owned()).await;
    });
}

/// Rule 5.2.
#[supervise::test]
async fn z_50_a_resume_from_above_does_not_create_what_failed_to_start(system: &TestSystem) {
    let calls = Arc::new(AtomicU32::new(0));
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), |_| Directive::Stop)).await;
    let counted = Arc::clone(&calls);
    crate::fixture::Stage::give(
        &middle,
        Box::new(move |ctx| {
            let props: Props<PingPong, _> = Props::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                Err::<PingPong, _>(Boom("cannot be made"))
            });
            ctx.spawn_with("child", props).expect("the name is free");
            Err(Boom("own"))
        }),
    );
    let deferred = system.take_all(|event| matches!(event, Event::ReportDeferred { .. })).await;
    assert_eq!(deferred.len(), 1, "the child's failure found its supervisor suspended");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    let outcomes: Vec<_> = decided
        .iter()
        .filter_map(|event| match event {
            Event::Decided { outcome, .. } => Some(*outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Resumed, Outcome::Stopped { children: 1 }]);
    assert_eq!(names_of_children(&middle).await, Vec::<String>::new());
}
