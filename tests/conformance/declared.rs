//! Declared children: OTP's supervisor cases, for children that are fields.

mod first_start;
mod kinds;
mod lifecycle;
mod restart_types;
mod significant;
mod strategies;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};

/// What a worker notes: its name, and what it does.
type Step = (&'static str, &'static str);

/// What a test tells the workers, besides their messages.
#[derive(Clone)]
struct Plan {
    steps: ProbeHandle<Step>,
    /// Workers of this name cannot start.
    broken: Arc<Mutex<Option<&'static str>>>,
    /// Workers of this name never complete their start.
    stuck: Arc<Mutex<Option<&'static str>>>,
}

impl Plan {
    fn new(system: &TestSystem) -> (Self, TestProbe<Step>) {
        let probe = system.probe();
        (Self { steps: probe.handle(), broken: Arc::default(), stuck: Arc::default() }, probe)
    }

    fn break_starts_of(&self, name: &'static str) {
        *self.broken.lock().unwrap() = Some(name);
    }

    fn hold_up_starts_of(&self, name: &'static str) {
        *self.stuck.lock().unwrap() = Some(name);
    }

    fn mend(&self) {
        *self.broken.lock().unwrap() = None;
        *self.stuck.lock().unwrap() = None;
    }
}

/// Reports when it starts and ends, and does what it is told.
#[actor]
struct Worker {
    name: &'static str,
    plan: Plan,
    handled: u32,
}

impl Worker {
    fn factory(name: &'static str, plan: &Plan) -> impl FnMut() -> Self + Send + 'static + use<> {
        let plan = plan.clone();
        move || Self { name, plan: plan.clone(), handled: 0 }
    }

    fn note(&self, step: &'static str) {
        self.plan.steps.note((self.name, step));
    }
}

#[actor]
impl Worker {
    #[pre_start]
    async fn open(&mut self) -> io::Result<()> {
        // So that the test notices a start that nobody awaits.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if *self.plan.broken.lock().unwrap() == Some(self.name) {
            self.note("broken");
            return Err(io::ErrorKind::NotFound.into());
        }
        let stuck = *self.plan.stuck.lock().unwrap() == Some(self.name);
        if stuck {
            std::future::pending::<()>().await;
        }
        self.note("start");
        Ok(())
    }

    #[post_stop]
    async fn close(&mut self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.note("stop");
    }

    #[handler]
    fn fail(&self) -> io::Result<()> {
        Err(io::ErrorKind::TimedOut.into())
    }

    #[handler]
    fn leave(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    fn stop_me(&self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.stop(&me);
    }

    #[handler]
    fn count(&mut self) -> u32 {
        self.handled += 1;
        self.handled
    }
}

/// A supervisor of three workers, each of a restart type and perhaps `significant`.
macro_rules! supervisor {
    (
        $name:ident, $strategy:ident($($argument:tt)*),
        $one:ident $($one_is:ident)?, $two:ident $($two_is:ident)?, $three:ident $($three_is:ident)?
    ) => {
        #[actor]
        #[supervise($strategy($($argument)*), on(_) = Restart)]
        struct $name {
            plan: Plan,
            #[child(|this| Worker::factory("one", &this.plan), restart = $one $(, $one_is)?)]
            one: Child<Worker>,
            #[child(|this| Worker::factory("two", &this.plan), restart = $two $(, $two_is)?)]
            two: Child<Worker>,
            #[child(|this| Worker::factory("three", &this.plan), restart = $three $(, $three_is)?)]
            three: Child<Worker>,
        }

        impl $name {
            /// Spawns one, and waits until it runs.
            #[allow(dead_code, reason = "some are parts of a tree")]
            async fn run(system: &TestSystem) -> (<$name as Supervisor>::Ref, Plan, TestProbe<Step>) {
                let (plan, steps) = Plan::new(system);
                let supervisor = system.spawn("supervisor", Self::factory(&plan)).unwrap();
                system.advance(Duration::from_secs(1)).await;
                assert_eq!(steps.all().await, [("one", "start"), ("two", "start"), ("three", "start")]);
                (supervisor, plan, steps)
            }

            fn factory(plan: &Plan) -> impl FnMut() -> Self + Send + 'static + use<> {
                let plan = plan.clone();
                move || Self { plan: plan.clone(), one: Child::default(), two: Child::default(), three: Child::default() }
            }
        }

        #[actor]
        impl $name {
            /// The first, second and third.
            #[handler]
            fn workers(&self) -> [WorkerRef; 3] {
                [self.one.actor(), self.two.actor(), self.three.actor()]
            }

            #[handler]
            fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
                ctx.children().iter().map(|child| child.name().to_owned()).collect()
            }

            #[handler]
            fn stop_worker(&self, worker: WorkerRef, ctx: &mut Context<Self>) {
                ctx.stop(&worker);
            }
        }
    };
}

use supervisor;

/// How a worker ends.
#[derive(Clone, Copy)]
enum End {
    ByItself,
    /// Also by itself, in another way.
    StoppingItself,
    Stopped,
    Poisoned,
    Failing,
}

impl End {
    fn of(self, worker: &WorkerRef) {
        match self {
            Self::ByItself => worker.leave().tell().unwrap(),
            Self::StoppingItself => worker.stop_me().tell().unwrap(),
            Self::Stopped => worker.actor_ref().stop(),
            Self::Poisoned => worker.actor_ref().poison(),
            Self::Failing => worker.fail().tell().unwrap(),
        }
    }
}
