//! Handlers that wait for an actor above them, which restarts or stops.
//!
//! Rule 14.8.

use std::sync::mpsc;

use super::*;

/// The mailbox takes four asks, including that of the test, and two of them are beyond the bound.
#[supervise::test]
async fn z_14_8_asks_that_wait_for_room_in_an_actor_above_end(system: &TestSystem) {
    system.allow_failures();
    let gate = Gate::default();
    let [top, low] = tower(system).await;
    top.fail_after(gate.waits()).tell().unwrap();
    let (asked, (tell, told)) = (top.clone(), oneshot::channel());
    let asks = async move {
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(asked.count().when_room().await);
        }
        tell.send(answers).unwrap();
    };
    low.run(Code::new(asks)).tell().unwrap();
    gate.opens(system).await;
    let began = Instant::now();
    top.count().when_room().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    let answers = told.await.unwrap();
    assert!(answers[..3].iter().all(|answer| matches!(answer, Err(AskError::HeldUp(_)))), "{answers:?}");
    assert!(answers[3..].iter().all(|answer| matches!(answer, Err(AskError::MailboxFull))), "{answers:?}");
}

/// The handler of the middle one waits for the low one, which waits for the top.
#[supervise::test]
async fn z_14_8_an_actor_above_restarts_at_once_although_a_handler_between_waits(system: &TestSystem) {
    system.allow_failures();
    let (answers, gate) = (Answers::default(), Gate::default());
    let [top, middle, low] = tower(system).await;
    top.fail_after(gate.waits()).tell().unwrap();
    middle.run(waits_for(&low, answers.asks(&top))).tell().unwrap();
    gate.opens(system).await;
    restarts_after(0, &top).await;
    answers.are_held_up();
}

/// The order to stop reaches the low one while its handler is polled for the first time, so nothing wakes the handler later.
#[test]
fn z_14_8_a_handler_that_is_told_to_stop_in_its_first_poll_goes_on() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (system, answers) = (ActorSystem::new("first"), Answers::default());
        let top = system.spawn("top", Part::default).unwrap();
        let other = top.below().await.unwrap();
        let low = top.below().await.unwrap();
        let (entered, has_entered) = mpsc::channel();
        let (goes_on, until) = mpsc::channel::<()>();
        let blocks = Code::new(async move {
            entered.send(()).unwrap();
            until.recv().unwrap();
        });
        low.run(blocks.then(answers.asks(&top))).tell().unwrap();
        has_entered.recv().unwrap();
        top.actor_ref().stop();
        // It was asked to stop after the low one.
        system.ended(&other).await;
        goes_on.send(()).unwrap();
        system.ended(&low).await;
        answers.are_held_up();
        system.terminate().await;
    });
}

/// The low actor is the last one that ran code which might hold others up. When it is gone, another actor may get
/// its address, while the middle one still waits for `slow`.
#[supervise::test]
async fn z_14_8_an_actor_at_the_address_of_one_that_was_held_is_not_held(system: &TestSystem) {
    system.allow_failures();
    let (answers, gate) = (Answers::default(), Gate::default());
    let [top, middle, low] = tower(system).await;
    let slow = middle.below().await.unwrap();
    top.fail_after(gate.waits()).tell().unwrap();
    low.run(sleeps(1000)).tell().unwrap();
    slow.run(Code::new(std::future::pending())).tell().unwrap();
    drop(low);
    gate.opens(system).await;
    sleep(Duration::from_secs(2)).await;
    for number in 0..64 {
        part(system, &format!("other-{number}")).run(answers.asks(&top)).tell().unwrap();
    }
    system.settle().await;
    top.count().when_room().await.unwrap();
    let answers = answers.0.lock().unwrap();
    assert!(!answers.iter().any(|(_, answer)| matches!(answer, Err(AskError::HeldUp(_)))), "{answers:?}");
}

#[supervise::test]
async fn z_14_8_code_that_was_told_to_stop_before_the_actor_above_goes_on(system: &TestSystem) {
    system.allow_dead_letters();
    let (answers, gate) = (Answers::default(), Gate::default());
    let [top, middle, low] = tower(system).await;
    top.run(gate.waits()).tell().unwrap();
    low.run(answers.asks(&top)).tell().unwrap();
    system.settle().await;
    middle.actor_ref().stop();
    system.settle().await;
    top.actor_ref().stop();
    gate.opens(system).await;
    ends_after(0, &top, system).await;
    answers.are_held_up();
}

/// The top has stopped itself when it is asked.
#[supervise::test]
async fn z_14_8_code_that_was_told_to_stop_before_the_actor_above_stopped_itself_goes_on(system: &TestSystem) {
    system.allow_dead_letters();
    let (answers, gate, start) = (Answers::default(), Gate::default(), Gate::default());
    let [top, middle, low] = tower(system).await;
    low.run(start.waits().then(answers.asks(&top))).tell().unwrap();
    system.settle().await;
    middle.actor_ref().stop();
    system.settle().await;
    top.leave(gate.waits()).tell().unwrap();
    start.opens(system).await;
    gate.opens(system).await;
    ends_after(0, &top, system).await;
    answers.are_held_up();
}

/// The child was told to stop before, so nothing else wakes its code when the actor above begins to wait for its end.
#[test]
fn z_14_8_a_child_of_an_actor_that_had_none_when_it_stopped_itself_goes_on() {
    for is_told_before in [false, true] {
        testkit::run(async |system| {
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Gate::default());
            let top = part(system, "top");
            let low = top.leave_with_a_child(gate.waits()).await.unwrap();
            low.run(answers.asks(&top)).tell().unwrap();
            system.settle().await;
            if is_told_before {
                low.actor_ref().stop();
            }
            gate.opens(system).await;
            ends_after(0, &top, system).await;
            answers.are_held_up();
        });
    }
}

/// Has parts by number.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Depot;

#[actor]
impl Depot {
    #[handler]
    fn open(&self, ctx: &mut Context<Self>) -> Result<Children<u32, Part>, SpawnError> {
        Children::of(|_: &u32| Part::default()).spawn(ctx, "parts")
    }
}

/// The ask goes to a part that was passivated, and moves to the part's successor, which is above the asker.
#[test]
fn z_14_8_an_ask_that_moves_to_a_successor_above_that_restarts_ends() {
    for is_told_before in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Gate::default());
            let parts = system.spawn("depot", || Depot).unwrap().open().await.unwrap();
            let old = parts.get_or_spawn(1).unwrap();
            parts.passivate(&1);
            system.expect_terminated(&old).await;
            let new = parts.get_or_spawn(1).unwrap();
            let low = new.below().await.unwrap();
            new.fail_after(gate.waits()).tell().unwrap();
            low.run(answers.asks(&old)).tell().unwrap();
            system.settle().await;
            if is_told_before {
                low.actor_ref().stop();
            }
            gate.opens(system).await;
            restarts_after(0, &new).await;
            answers.are_held_up();
        });
    }
}
