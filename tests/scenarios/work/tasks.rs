//! Plain futures as children.
//!
//! Rule 17.7.

use supervise::{FailsWith, HowEnded, SpawnError, Task};

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Return,
    Fail,
    Panic,
}

/// Tells one run of a task what to do.
pub(super) type Order = oneshot::Sender<Does>;

/// Notes that it runs, with the channel that tells it what to do, and notes when it is dropped.
pub(super) async fn task(
    number: u32,
    runs: ProbeHandle<(u32, Order)>,
    seen: ProbeHandle<Seen>,
) -> Result<(), Broken> {
    let _owned = Owned(number, seen);
    let (order, what) = oneshot::channel();
    runs.note((number, order));
    match what.await {
        Ok(Does::Return) => Ok(()),
        Ok(Does::Fail) => Err(Broken),
        Ok(Does::Panic) => panic!("task"),
        Err(_) => pending().await,
    }
}

/// A parent of three tasks, under each strategy.
macro_rules! parent {
    ($name:ident, $reference:ident, $strategy:ident) => {
        #[actor]
        #[supervise($strategy, on(Broken) = Restart, on(Panic) = Stop)]
        struct $name {
            runs: ProbeHandle<(u32, Order)>,
            seen: ProbeHandle<Seen>,
        }

        #[actor]
        impl $name {
            #[pre_start]
            fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
                for number in 0..3 {
                    let (runs, seen) = (self.runs.clone(), self.seen.clone());
                    ctx.spawn_task(format!("task-{number}"), move || task(number, runs.clone(), seen.clone()))?;
                }
                Ok(())
            }

            #[handler]
            fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
                ctx.children().iter().map(|child| child.path().name().to_owned()).collect()
            }

            #[handler]
            fn stop_child(&self, name: &'static str, ctx: &mut Context<Self>) {
                ctx.child(name).unwrap().stop();
            }
        }
    };
}

parent!(OneForOne, OneForOneRef, one_for_one);
parent!(AllForOne, AllForOneRef, all_for_one);
parent!(RestForOne, RestForOneRef, rest_for_one);

/// The runs so far, by number.
async fn orders(runs: &TestProbe<(u32, Order)>) -> Vec<(u32, Order)> {
    let mut orders = runs.all().await;
    orders.sort_by_key(|(number, _)| *number);
    orders
}

macro_rules! under {
    ($name:ident, $parent:ident, $again:expr) => {
        /// Rules 7.1 and 17.7.
        #[supervise::test]
        async fn $name(system: &TestSystem) {
            let (runs, seen) = (system.probe(), system.probe());
            let (run_handle, seen_handle) = (runs.handle(), seen.handle());
            let parent = system
                .spawn("parent", move || $parent { runs: run_handle.clone(), seen: seen_handle.clone() })
                .unwrap();
            system.allow_failures();
            system.settle().await;
            let again: &[u32] = &$again;
            let mut first = orders(&runs).await;
            assert_eq!(first.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
            first.remove(1).1.send(Does::Fail).unwrap();
            system.settle().await;
            let second = orders(&runs).await;
            assert_eq!(second.iter().map(|(number, _)| *number).collect::<Vec<_>>(), again);
            let mut dropped = seen.all().await;
            dropped.sort_by_key(|seen| if let Seen::Dropped(number) = seen { *number } else { 9 });
            assert_eq!(dropped, again.iter().map(|number| Seen::Dropped(*number)).collect::<Vec<_>>());
            assert_eq!(parent.children().await.unwrap(), ["task-0", "task-1", "task-2"]);
            drop((first, second));
        }
    };
}

under!(a_task_is_restarted_alone, OneForOne, [1]);
under!(all_tasks_are_restarted, AllForOne, [0, 1, 2]);
under!(the_later_tasks_are_restarted_too, RestForOne, [1, 2]);

/// Rules 14.2 and 17.7.
#[supervise::test]
async fn a_task_ends_when_its_future_returns_and_fails_when_it_panics(system: &TestSystem) {
    let (runs, seen) = (system.probe(), system.probe());
    let (run_handle, seen_handle) = (runs.handle(), seen.handle());
    let parent =
        system.spawn("parent", move || OneForOne { runs: run_handle.clone(), seen: seen_handle.clone() }).unwrap();
    system.settle().await;
    let mut orders = orders(&runs).await;
    orders.remove(0).1.send(Does::Return).unwrap();
    system.settle().await;
    assert_eq!(parent.children().await.unwrap(), ["task-1", "task-2"]);
    assert_eq!(seen.all().await, [Seen::Dropped(0)]);
    orders.remove(0).1.send(Does::Panic).unwrap();
    system.settle().await;
    assert_eq!(parent.children().await.unwrap(), ["task-2"]);
    let stopped = system.take_all(|event| matches!(event, supervise::Event::Decided { .. })).await;
    assert!(
        matches!(&stopped[..], [supervise::Event::Decided { child, failure, directive: Directive::Stop, .. }]
            if child.name() == "task-1" && failure.kind() == FailureKind::Panic),
        "{stopped:?}"
    );
    // A stop does not wait for it.
    parent.stop_child("task-2").await.unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [1, 2].map(Seen::Dropped));
    assert_eq!(parent.children().await.unwrap(), [""; 0]);
    assert_eq!(runs.all().await.len(), 0);
}

/// Rules 14.2 and 17.7: a task as a declared child that comes back when it has returned.
#[supervise::test]
async fn a_permanent_task_runs_again_when_it_has_returned(system: &TestSystem) {
    #[actor]
    #[supervise(on(Broken) = Restart)]
    struct Keeper {
        runs: ProbeHandle<(u32, Order)>,
        seen: ProbeHandle<Seen>,
        #[child(
            |this| {
                let (runs, seen) = (this.runs.clone(), this.seen.clone());
                move || Task::new(task(5, runs.clone(), seen.clone()))
            },
            restart = permanent,
        )]
        task: Child<Task<FailsWith<Broken>>>,
    }
    #[actor]
    impl Keeper {
        #[handler]
        fn task(&self) -> String {
            self.task.actor().path().name().to_owned()
        }
    }
    let (runs, seen) = (system.probe(), system.probe());
    let (run_handle, seen_handle) = (runs.handle(), seen.handle());
    let keeper = system
        .spawn("keeper", move || Keeper {
            runs: run_handle.clone(),
            seen: seen_handle.clone(),
            task: Child::default(),
        })
        .unwrap();
    for does in [Does::Return, Does::Fail, Does::Return] {
        runs.next().await.1.send(does).unwrap();
        seen.expect(Seen::Dropped(5)).await;
    }
    assert_eq!(keeper.task().await.unwrap(), "task");
    let (_, last) = runs.next().await;
    keeper.actor_ref().stop();
    assert_eq!(system.expect_terminated(&keeper).await, HowEnded::Graceful);
    assert_eq!(seen.all().await, [Seen::Dropped(5)]);
    drop(last);
    system.allow_failures();
}

/// Rules 4.2 and 17.7: a task can be watched with a message, and one that never fails lives under any table.
#[supervise::test]
async fn a_task_that_cannot_fail_needs_no_rule(system: &TestSystem) {
    #[actor]
    #[supervise(on(Panic) = Escalate)]
    struct Strict(ProbeHandle<Seen>);
    #[actor]
    impl Strict {
        #[pre_start]
        fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
            let task = ctx.spawn_task("task", || tokio::time::sleep(SECOND))?;
            let me = ctx.me();
            ctx.watch_with(&task, me.over(1)).expect("it is not watched yet");
            Ok(())
        }
        #[handler]
        fn over(&mut self, number: u32) {
            self.0.note(Seen::Got(1, number));
        }
    }
    let seen = system.probe();
    let handle = seen.handle();
    let _strict = system.spawn("strict", move || Strict(handle.clone())).unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, []);
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, [Seen::Got(1, 1)]);
}

/// Rule 17.7: a loop needs no type, and a kill is a failure as for any child.
#[supervise::test]
async fn a_task_may_loop_for_ever(system: &TestSystem) {
    #[actor]
    #[supervise(on(Killed) = Restart)]
    struct Host(ProbeHandle<Seen>);
    #[actor]
    impl Host {
        #[pre_start]
        fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
            let seen = self.0.clone();
            let mut life = 0;
            ctx.spawn_task("task", move || {
                life += 1;
                let seen = seen.clone();
                async move {
                    for round in 1.. {
                        tokio::time::sleep(SECOND).await;
                        seen.note(Seen::Got(life, round));
                    }
                }
            })?;
            ctx.spawn_task("loop", || async {
                loop {
                    tokio::time::sleep(SECOND).await;
                }
            })?;
            Ok(())
        }
        #[handler]
        fn kill(&mut self, ctx: &mut Context<Self>) {
            ctx.child("task").unwrap().kill();
        }
    }
    let seen = system.probe();
    let handle = seen.handle();
    let host = system.spawn("host", move || Host(handle.clone())).unwrap();
    system.advance(2 * SECOND).await;
    assert_eq!(seen.all().await, [Seen::Got(1, 1), Seen::Got(1, 2)]);
    host.kill().await.unwrap();
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, [Seen::Got(2, 1)]);
    let killed = system.take_all(|event| matches!(event, supervise::Event::Decided { .. })).await;
    assert!(
        matches!(&killed[..], [supervise::Event::Decided { directive: Directive::Restart, .. }]),
        "{killed:?}"
    );
}

/// Rule 17.7.
#[supervise::test]
async fn ten_thousand_tasks_at_once(system: &TestSystem) {
    #[actor]
    struct Many;
    #[actor]
    impl Many {
        #[pre_start]
        fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
            for number in 0..10_000 {
                ctx.spawn_task(number.to_string(), || tokio::time::sleep(SECOND))?;
            }
            Ok(())
        }
        #[handler]
        fn children(&self, ctx: &mut Context<Self>) -> usize {
            ctx.children().len()
        }
    }
    let many = system.spawn("many", || Many).unwrap();
    assert_eq!(many.children().await.unwrap(), 10_000);
    system.advance(SECOND).await;
    assert_eq!(many.children().await.unwrap(), 0);
}
