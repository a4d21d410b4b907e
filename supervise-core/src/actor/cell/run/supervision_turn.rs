//! A turn on the stack of a child that has just failed, for the supervisor's decision alone.

use std::cell::Cell as Local;
use std::mem::ManuallyDrop;
use std::task::Poll;

use super::{Runner, THROUGHPUT, UserCode};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::cell::System;
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::supervision::Input;

thread_local! {
    /// The report for which a turn begins. `ManuallyDrop`, because other thread-locals may drop actors when the thread ends.
    static REPORT: ManuallyDrop<Local<Option<System>>> = const { ManuallyDrop::new(Local::new(None)) };
}

/// Gives a supervisor that was idle a turn for this report. Other messages that it gets meanwhile come after it.
pub(in crate::actor::cell) fn decide_now(supervisor: &AnyActorRef, task: Task, report: System) {
    REPORT.with(|now| now.set(Some(report)));
    supervisor.core().system.dispatcher().run_supervisor(task, &*supervisor.0);
}

impl<A: Actor> Runner<A> {
    /// Handles the report and the system messages that wait, up to a call of user code other than the decider. Everything else
    /// is left to a carrier.
    ///
    /// Rules 1.9 and 2.2.
    #[cold]
    #[inline(never)]
    pub(super) fn take_supervision_turn(&mut self) -> Poll<Option<UserCode>> {
        let mut next = REPORT.with(|now| now.take());
        if self.effects.may_restart_groups()
            && let Some(report) = next.take()
        {
            // The children of a group restart in their order, so this child must not come first.
            let _open = self.effects.cell.mailbox.push_system(report);
        }
        self.effects.supervised += 1;
        while let Some(message) = next {
            self.step(Input::Message(message));
            let goes_on = self.effects.call.is_none() && !self.effects.has_rest();
            next = if goes_on && self.effects.supervised < THROUGHPUT { self.effects.next_system() } else { None };
        }
        let is_done = self.effects.call.is_none()
            && !self.effects.has_rest()
            && !self.effects.ended
            && self.ctx.timers_mut().is_none()
            && self.effects.has_nothing_to_do();
        if is_done {
            self.effects.wait();
        } else {
            self.effects.give_way();
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::runtime::Builder;
    use tokio::task::block_in_place;

    use crate::actor::actor_ref::ActorRef;
    use crate::actor::cell::{Cell, NewName};
    use crate::actor::context::Context;
    use crate::actor::definition::{Actor, Supervisor};
    use crate::actor::props::Props;
    use crate::actor::system::ActorSystem;
    use crate::failure::Failure;
    use crate::supervision::{ChildInfo, Directive};

    type Said = Arc<Mutex<Vec<String>>>;

    /// Whom the decider of each [`Worker`] tells something. A decider has no `self`.
    static TOLD_BY_DECIDER: Mutex<Option<ActorRef<Worker>>> = Mutex::new(None);

    /// Says what it does. A worker that has a child is a supervisor.
    struct Worker(Said);

    enum Work {
        Hire,
        Say(&'static str),
        Fail,
        Escalate,
    }

    impl Supervisor for Worker {
        type Ref = ActorRef<Self>;

        fn decide(failure: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
            if failure.to_string() == "up" {
                return Ok(Directive::Escalate);
            }
            if let Some(told) = &*TOLD_BY_DECIDER.lock().unwrap() {
                told.tell(Work::Say("told by the decider")).unwrap();
            }
            Ok(Directive::Restart)
        }
    }

    impl Actor for Worker {
        type Message = Work;

        async fn handle(&mut self, work: Work, ctx: &mut Context<Self>) -> Result<(), Failure> {
            match work {
                Work::Hire => {
                    let said = Arc::clone(&self.0);
                    let props = Props::new(move || Worker(Arc::clone(&said)));
                    Cell::spawn_under(&ctx.me_any(), NewName::Given("child"), props).map_err(Failure::new)?;
                }
                Work::Say(what) => self.0.lock().unwrap().push(what.to_owned()),
                Work::Fail => return Err(Failure::other("as told")),
                Work::Escalate => return Err(Failure::other("up")),
            }
            Ok(())
        }

        async fn post_restart(&mut self, ctx: &mut Context<Self>, _: &Failure) -> Result<(), Failure> {
            self.0.lock().unwrap().push(format!("{} again", ctx.path().name()));
            Ok(())
        }
    }

    async fn settled() {
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
    }

    fn child_of(parent: &ActorRef<Worker>) -> ActorRef<Worker> {
        parent.to_any().core().protocol().child_named("child").unwrap().downcast().unwrap()
    }

    /// What is said when the child fails and has another message, and perhaps somebody else has a message too.
    async fn what_is_said(somebody_is_next: bool) -> Vec<String> {
        let system = ActorSystem::new("nested");
        let said = Said::default();
        let spawn = |name| {
            let said = Arc::clone(&said);
            system.spawn(name, move || Worker(Arc::clone(&said))).unwrap()
        };
        let (supervisor, told, next) = (spawn("supervisor"), spawn("told"), spawn("next"));
        supervisor.tell(Work::Hire).unwrap();
        settled().await;
        let child = child_of(&supervisor);
        *TOLD_BY_DECIDER.lock().unwrap() = Some(told);
        child.tell(Work::Fail).unwrap();
        child.tell(Work::Say("child")).unwrap();
        if somebody_is_next {
            next.tell(Work::Say("next")).unwrap();
        }
        settled().await;
        *TOLD_BY_DECIDER.lock().unwrap() = None;
        system.terminate().await;
        said.lock().unwrap().clone()
    }

    /// So that its child goes on before others have their turns.
    #[tokio::test]
    async fn an_idle_supervisor_decides_within_the_turn_of_its_child_unless_somebody_else_is_next() {
        assert_eq!(what_is_said(false).await, ["child again", "child", "told by the decider"]);
        assert_eq!(what_is_said(true).await, ["next", "told by the decider", "child again", "child"]);
    }

    /// Turns nest to a limited depth.
    #[tokio::test]
    async fn an_escalation_through_many_supervisors_arrives() {
        const DEPTH: usize = if cfg!(miri) { 20 } else { 200 };
        let system = ActorSystem::new("deep");
        let said = Said::default();
        let top = Arc::clone(&said);
        let top = system.spawn("top", move || Worker(Arc::clone(&top))).unwrap();
        let mut lowest = top.clone();
        for _ in 0..DEPTH {
            lowest.tell(Work::Hire).unwrap();
            settled().await;
            lowest = child_of(&lowest);
        }
        lowest.tell(Work::Escalate).unwrap();
        while said.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*said.lock().unwrap(), ["top again"], "the guardian restarts it, without its children");
        system.terminate().await;
    }

    /// After this long, a test has failed. A test that passes never takes this long.
    const TOO_LONG: Duration = Duration::from_secs(20);

    /// Fails when it is to stop, and so ends in the same step. Its destructor waits in place.
    struct Falling {
        falls: Sender<()>,
        lands: Arc<Mutex<Receiver<()>>>,
    }

    impl Supervisor for Falling {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Falling {
        type Message = ();
        const HAS_LAST_HOOK: bool = false;

        async fn handle(&mut self, (): (), ctx: &mut Context<Self>) -> Result<(), Failure> {
            self.falls.send(()).unwrap();
            ctx.stopping().await;
            Err(Failure::other("as told"))
        }
    }

    impl Drop for Falling {
        fn drop(&mut self) {
            self.falls.send(()).unwrap();
            block_in_place(|| self.lands.lock().unwrap().recv_timeout(TOO_LONG).unwrap());
        }
    }

    struct Watching(Sender<()>);

    impl Supervisor for Watching {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Watching {
        type Message = ();

        async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
            self.0.send(()).map_err(Failure::new)
        }
    }

    /// Rule 1.10.
    #[test]
    fn a_supervisor_does_not_wait_for_the_destructor_of_a_child_that_ends_when_it_fails() {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let system = runtime.block_on(async { ActorSystem::new("falling") });
        let ((answer, answers), (falls, events), (land, lands)) = (channel(), channel(), channel());
        let lands = Arc::new(Mutex::new(lands));
        let supervisor = system.spawn("supervisor", move || Watching(answer.clone())).unwrap();
        let props = Props::new(move || Falling { falls: falls.clone(), lands: Arc::clone(&lands) });
        let child = Cell::spawn_under(&supervisor.to_any(), NewName::Given("child"), props).unwrap();
        supervisor.tell(()).unwrap();
        answers.recv_timeout(TOO_LONG).unwrap();
        child.tell(()).unwrap();
        events.recv_timeout(TOO_LONG).expect("its handler begins");
        child.to_any().stop();
        events.recv_timeout(TOO_LONG).expect("its destructor begins");
        supervisor.tell(()).unwrap();
        let answered = answers.recv_timeout(TOO_LONG);
        land.send(()).unwrap();
        answered.expect("it is not held up");
        runtime.block_on(system.terminate());
    }
}
