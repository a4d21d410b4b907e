//! Last hooks that wait for an actor above or for a fellow, and code that waits for an actor above whose last hook
//! waits.
//!
//! Rule 14.8.

use super::*;

/// While the last hook of the top waits, its children are already told to stop.
#[supervise::test]
async fn z_14_8_an_actor_above_whose_last_hook_waits_is_not_held_up(system: &TestSystem) {
    system.allow_failures();
    let (answers, gate) = (Answers::default(), Gate::default());
    let [top, low] = tower(system).await;
    let other = top.below().await.unwrap();
    top.ends_with(sleeps(10)).await.unwrap();
    top.fail_after(gate.waits()).tell().unwrap();
    low.run(answers.asks(&top)).tell().unwrap();
    let (to, (tell, told)) = (top.clone(), oneshot::channel());
    let sends = async move {
        let began = Instant::now();
        for _ in 0..3 {
            to.count().send().await.unwrap();
        }
        tell.send(began.elapsed()).unwrap();
    };
    other.run(Code::new(sends)).tell().unwrap();
    gate.opens(system).await;
    let began = Instant::now();
    top.count().when_room().await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(10));
    answers.are_held_up();
    assert_eq!(told.await, Ok(Duration::ZERO), "there is no room to wait for");
}

#[test]
fn z_14_8_a_last_hook_that_asks_an_actor_above_that_restarts_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (answers, gate) = (Answers::default(), Gate::default());
            let [top, low] = tower(system).await;
            low.ends_with(sleeps(millis).then(answers.asks(&top))).await.unwrap();
            top.fail_after(gate.waits()).tell().unwrap();
            gate.opens(system).await;
            restarts_after(millis, &top).await;
            answers.are_held_up();
        });
    }
}

#[test]
fn z_14_8_an_inline_ask_of_an_actor_above_that_restarts_ends() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (answers, gate) = (Answers::default(), Gate::default());
            let [top, low] = tower(system).await;
            let asked = top.clone();
            let ask = answers.notes(async move { asked.peek().await });
            low.ends_with(sleeps(millis).then(ask)).await.unwrap();
            top.fail_after(gate.waits()).tell().unwrap();
            gate.opens(system).await;
            restarts_after(millis, &top).await;
            answers.are_held_up();
        });
    }
}

#[test]
fn z_14_8_a_last_hook_that_asks_an_actor_above_that_stops_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_dead_letters();
            let answers = Answers::default();
            let [top, low] = tower(system).await;
            low.ends_with(sleeps(millis).then(answers.asks(&top))).await.unwrap();
            top.actor_ref().stop();
            ends_after(millis, &top, system).await;
            answers.are_held_up();
        });
    }
}

#[test]
fn z_14_8_a_last_hook_that_asks_a_fellow_that_restarts_later_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (answers, gate) = (Answers::default(), Gate::default());
            let (_, [first, second, _]) = row(system).await;
            second.ends_with(sleeps(millis).then(answers.asks(&first))).await.unwrap();
            first.fail_after(gate.waits()).tell().unwrap();
            gate.opens(system).await;
            restarts_after(millis, &first).await;
            answers.are_held_up();
        });
    }
}
