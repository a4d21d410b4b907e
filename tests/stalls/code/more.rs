//! The same with inline handlers, actors below a fellow, successors of keyed children, and an actor that stops itself.
//!
//! Rule 14.8.

use super::*;

/// Asks as it is told, and notes the answer and how long it took.
fn asks_so<F>(ask: impl Fn() -> F + Send + Sync + 'static, answers: &Answers) -> Code
where
    F: Future<Output = Result<u32, AskError>> + Send + 'static,
{
    let (ask, answers) = (Arc::new(ask), Arc::clone(answers));
    Code::new(move || {
        let (ask, answers) = (Arc::clone(&ask), Arc::clone(&answers));
        async move {
            let began = Instant::now();
            let answer = ask().await;
            answers.lock().unwrap().push((began.elapsed(), answer));
        }
    })
}

/// One after the other.
fn then(first: Code, second: Code) -> Code {
    Code::new(move || {
        let (first, second) = (first.clone(), second.clone());
        async move {
            (first.0)().await;
            (second.0)().await;
        }
    })
}

#[test]
fn z_14_8_an_inline_ask_of_an_actor_above_that_restarts_ends() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (hooks, answers, gate) = (Hooks::default(), Answers::default(), Arc::new(Notify::new()));
            let top = part(system, "top", &Hooks::default());
            let _low = top.below(hooks.clone()).await.unwrap();
            let own = top.clone();
            let ask = asks_so(
                move || {
                    let own = own.clone();
                    async move { own.peek().await }
                },
                &answers,
            );
            hooks.at_end(then(Code::new(move || sleep(Duration::from_millis(millis))), ask));
            top.fail_when(Arc::clone(&gate)).tell().unwrap();
            system.settle().await;
            let began = Instant::now();
            gate.notify_one();
            top.count().when_room().await.unwrap();
            assert_eq!(began.elapsed(), Duration::from_millis(millis));
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}

/// The first is suspended and restarts after the handler of the second, and so does the actor below the first.
#[test]
fn z_14_8_code_that_asks_an_actor_below_a_fellow_goes_on() {
    for sends in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate, start) = (Answers::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
            let (_row, [first, second, _]) = row(system, Default::default()).await;
            let deep = first.actor().below(Hooks::default()).await.unwrap();
            let deepest = deep.below(Hooks::default()).await.unwrap();
            let ask = asks_so(
                move || {
                    let (deep, deepest) = (deep.clone(), deepest.clone());
                    async move {
                        if sends {
                            for _ in 0..3 {
                                deep.count().send().await.unwrap();
                            }
                        }
                        deepest.count().await
                    }
                },
                &answers,
            );
            second.actor().run(then(waits(&start), ask)).tell().unwrap();
            first.actor().fail_when(Arc::clone(&gate)).tell().unwrap();
            system.settle().await;
            gate.notify_one();
            system.settle().await;
            let began = Instant::now();
            start.notify_one();
            first.actor().count().when_room().await.unwrap();
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}

/// Asks while the actor below the fellow is not suspended yet.
#[test]
fn z_14_8_code_that_waits_for_an_actor_below_a_fellow_that_then_fails_goes_on() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (answers, gate, pause) = (Answers::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (_row, [first, second, _]) = row(system, Default::default()).await;
        let deep = first.actor().below(Hooks::default()).await.unwrap();
        deep.run(waits(&pause)).tell().unwrap();
        let own = deep.clone();
        second.actor().run(asks(move || own.clone(), &answers)).tell().unwrap();
        first.actor().fail_when(Arc::clone(&gate)).tell().unwrap();
        system.settle().await;
        gate.notify_one();
        system.settle().await;
        let began = Instant::now();
        pause.notify_one();
        first.actor().count().when_room().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// The child was told to stop before, so nothing else wakes its code when the actor above begins to wait for its end.
#[test]
fn z_14_8_a_child_of_an_actor_that_had_none_when_it_stopped_itself_goes_on() {
    for is_told_before in [false, true] {
        testkit::run(async |system| {
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
            let top = part(system, "top", &Hooks::default());
            let shown = Arc::new(Mutex::new(None));
            top.leave_with_a_child(Arc::clone(&shown), waits(&gate)).tell().unwrap();
            system.settle().await;
            let low: PartRef = shown.lock().unwrap().clone().unwrap();
            let own = top.clone();
            low.run(asks(move || own.clone(), &answers)).tell().unwrap();
            system.settle().await;
            if is_told_before {
                low.actor_ref().stop();
                system.settle().await;
            }
            let began = Instant::now();
            gate.notify_one();
            system.expect_terminated(&top).await;
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}

/// Has parts by number.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Depot {
    parts: Children<u32, Part>,
}

#[actor]
impl Depot {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let parts = Children::of(|_: &u32| Part { hooks: Hooks::default() });
        self.parts = parts.spawn(ctx, "parts")?;
        Ok(())
    }

    #[handler]
    fn parts(&self) -> Children<u32, Part> {
        self.parts.clone()
    }
}

async fn depot(system: &testkit::TestSystem) -> Children<u32, Part> {
    let depot = system.spawn("depot", || Depot { parts: Children::default() }).unwrap();
    depot.parts().await.unwrap()
}

/// The ask goes to a part that was passivated, and moves to its successor, which is above the asker.
#[test]
fn z_14_8_an_ask_that_moves_to_a_successor_above_that_restarts_ends() {
    for is_told_before in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
            let parts = depot(system).await;
            let old = parts.get_or_spawn(1).unwrap();
            parts.passivate(&1);
            system.expect_terminated(&old).await;
            let new = parts.get_or_spawn(1).unwrap();
            let low = new.below(Hooks::default()).await.unwrap();
            new.fail_when(Arc::clone(&gate)).tell().unwrap();
            low.run(asks(move || old.clone(), &answers)).tell().unwrap();
            system.settle().await;
            if is_told_before {
                low.actor_ref().stop();
                system.settle().await;
            }
            let began = Instant::now();
            gate.notify_one();
            new.count().await.unwrap();
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}
