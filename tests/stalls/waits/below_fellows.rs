//! Code that waits for an actor below a fellow of its own actor.
//!
//! Rule 14.8.

use super::*;

/// The first is suspended and restarts after the handler of the second, and so does the actor below the first.
#[test]
fn z_14_8_code_that_asks_an_actor_below_a_fellow_goes_on() {
    for sends in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate, start) = (Answers::default(), Gate::default(), Gate::default());
            let (_, [first, second, _]) = row(system).await;
            let deep = first.below().await.unwrap();
            let deepest = deep.below().await.unwrap();
            let ask = answers.notes(async move {
                if sends {
                    for _ in 0..3 {
                        deep.count().send().await.unwrap();
                    }
                }
                deepest.count().await
            });
            second.run(start.waits().then(ask)).tell().unwrap();
            first.fail_after(gate.waits()).tell().unwrap();
            gate.opens(system).await;
            start.opens(system).await;
            restarts_after(0, &first).await;
            answers.are_held_up();
        });
    }
}

/// Asks while the actor below the fellow is not suspended yet.
#[supervise::test]
async fn z_14_8_code_that_waits_for_an_actor_below_a_fellow_that_then_fails_goes_on(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let (answers, gate, pause) = (Answers::default(), Gate::default(), Gate::default());
    let (_, [first, second, _]) = row(system).await;
    let deep = first.below().await.unwrap();
    deep.run(pause.waits()).tell().unwrap();
    second.run(answers.asks(&deep)).tell().unwrap();
    first.fail_after(gate.waits()).tell().unwrap();
    gate.opens(system).await;
    pause.opens(system).await;
    restarts_after(0, &first).await;
    answers.are_held_up();
}
