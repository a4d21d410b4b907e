//! Code that waits for a fellow of its actor: a sibling, or a sibling of an actor above.
//!
//! Rule 14.8.

use super::*;

/// The third stops, then the second, then the first. So the second does not wait for the first.
#[supervise::test]
async fn z_14_8_an_ask_of_a_fellow_that_stops_before_is_told_of_its_end(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let answers = Answers::default();
    let (row, [first, second, third]) = row(system).await;
    third.ends_with(sleeps(2000)).await.unwrap();
    first.run(sleeps(1000).then(answers.asks(&second))).tell().unwrap();
    system.settle().await;
    row.break_down(Duration::ZERO).tell().unwrap();
    sleep(Duration::from_secs(3)).await;
    let answers = answers.0.lock().unwrap();
    assert!(matches!(answers[..], [(_, Err(AskError::Stopped))]), "{answers:?}");
}

/// Stops the one that fails and those after it.
#[supervise(rest_for_one, on(_) = Stop)]
struct Strict;

/// The second is told to stop alone, before the failure of the first stops both.
#[supervise::test]
async fn z_14_8_code_that_was_told_to_stop_before_the_fellow_that_fails_goes_on(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let (answers, gate) = (Answers::default(), Gate::default());
    let (_, [first, second, _]) = row_under::<Strict>(system).await;
    first.fail_after(gate.waits()).tell().unwrap();
    second.run(answers.asks(&first)).tell().unwrap();
    system.settle().await;
    second.actor_ref().stop();
    gate.opens(system).await;
    ends_after(0, &first, system).await;
    answers.are_held_up();
}

/// The second has failed and waits for the third, which takes a while to stop. Then the first is told to stop alone, so that the second
/// waits for it, too. Its handler waits for an actor below, which was told to stop before and waits for the second.
#[supervise::test]
async fn z_14_8_code_below_a_fellow_that_is_told_to_stop_alone_goes_on(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let (answers, gate) = (Answers::default(), Gate::default());
    let (_, [first, second, third]) = row_under::<Strict>(system).await;
    third.ends_with(sleeps(2000)).await.unwrap();
    let deep = first.below().await.unwrap();
    first.run(waits_for(&deep, gate.waits().then(answers.asks(&second)))).tell().unwrap();
    system.settle().await;
    deep.actor_ref().stop();
    second.actor_ref().kill();
    gate.opens(system).await;
    system.settle().await;
    first.actor_ref().stop();
    ends_after(0, &first, system).await;
    answers.are_held_up();
}

/// Restarts the one that fails and those after it, after a long delay.
#[supervise(rest_for_one(backoff(min = "1h", max = "1h")), on(_) = Restart)]
struct Slow;

/// The second is told to stop alone. Then the row fails, and a little later the row stops all its parts.
#[supervise::test]
async fn z_14_8_code_that_was_told_to_stop_before_its_fellows_goes_on(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let (answers, gate) = (Answers::default(), Gate::default());
    let (row, [first, second, _]) = row_under::<Slow>(system).await;
    first.run(gate.waits()).tell().unwrap();
    second.run(answers.asks(&first)).tell().unwrap();
    system.settle().await;
    second.actor_ref().stop();
    system.settle().await;
    row.break_down(Duration::from_millis(10)).tell().unwrap();
    gate.opens(system).await;
    ends_after(0, &second, system).await;
    answers.are_held_up();
}

/// The third waits for a restart already when it asks, and the first is not affected yet.
#[supervise::test]
async fn z_14_8_code_of_a_group_that_grows_during_the_delay_goes_on(system: &TestSystem) {
    system.allow_failures();
    let (answers, gates) = (Answers::default(), <[Gate; 3]>::default());
    let (_, [first, second, third]) = row_under::<Slow>(system).await;
    first.fail_after(gates[0].waits()).tell().unwrap();
    second.fail_after(gates[1].waits()).tell().unwrap();
    third.run(gates[2].waits().then(answers.asks(&first))).tell().unwrap();
    for gate in [1, 2, 0] {
        gates[gate].opens(system).await;
    }
    system.settle().await;
    answers.are_held_up();
}

/// Stops only one of its children when it restarts.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
#[derive(Default)]
struct Keeper {
    stopped: Option<PartRef>,
}

#[actor]
impl Keeper {
    #[handler]
    fn parts(&mut self, ctx: &mut Context<Self>) -> Result<[PartRef; 2], SpawnError> {
        let (kept, stopped) = (ctx.spawn("kept", Part::default)?, ctx.spawn("stopped", Part::default)?);
        self.stopped = Some(stopped.clone());
        Ok([kept, stopped])
    }

    #[pre_restart]
    fn keep_one(&mut self, ctx: &mut Context<Self>) {
        ctx.stop(self.stopped.as_ref().unwrap());
    }

    #[handler]
    fn break_down(&self) -> Result<(), Bad> {
        Err(Bad)
    }
}

/// The other child survives, and restarts only after that.
#[test]
fn z_14_8_code_that_asks_a_fellow_that_survives_a_restart_goes_on() {
    for sends in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Gate::default());
            let keeper = system.spawn("keeper", Keeper::default).unwrap();
            let [kept, stopped] = keeper.parts().await.unwrap();
            let to = kept.clone();
            let fills = Code::new(async move { while to.count().send().await.is_ok() {} });
            let waits_for_it = if sends { fills } else { answers.asks(&kept) };
            stopped.run(gate.waits().then(waits_for_it)).tell().unwrap();
            system.settle().await;
            keeper.break_down().tell().unwrap();
            gate.opens(system).await;
            ends_after(0, &stopped, system).await;
            if !sends {
                answers.are_held_up();
            }
            assert_eq!(kept.count().when_room().await.unwrap(), 7);
        });
    }
}
