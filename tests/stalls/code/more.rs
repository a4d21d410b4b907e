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
