//! A thread-local variable may hold values of the runtime until its thread ends, when other thread-local variables are gone.
//!
//! A panic there aborts the process.

use std::any::Any;
use std::cell::RefCell;
use std::thread;

use supervise::prelude::*;
use tokio::runtime::{Builder, Runtime};

#[actor]
struct Idle;

#[actor]
impl Idle {
    #[handler]
    fn ping(&self) -> u32 {
        7
    }
}

thread_local! {
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs `code` on a thread of its own. Its result is dropped after the thread-local variables that it has used.
fn kept_to_the_end<T: 'static>(code: impl FnOnce() -> T + Send + 'static) {
    thread::spawn(|| {
        // Variables are destroyed in the reverse order of their first use, so tokio's still exist.
        drop(current_thread().enter());
        KEPT.with_borrow(|_| ());
        let value = code();
        KEPT.with_borrow_mut(|kept| kept.push(Box::new(value)));
    })
    .join()
    .unwrap();
}

/// Rule 1.5.
#[test]
fn a_message_may_be_dropped_when_its_thread_ends() {
    let runtime = current_thread();
    let idle = runtime.block_on(async {
        let system = ActorSystem::new("test");
        let idle = system.spawn("idle", || Idle).unwrap();
        system.stop(&idle);
        system.ended(&idle).await;
        idle
    });
    kept_to_the_end(move || {
        drop(idle.ping().ask().unwrap_err());
        idle.ping().ask().unwrap_err()
    });
}

/// Runs its system on, when it is dropped.
struct RunsLate(Runtime, IdleRef, ActorSystem, std::sync::mpsc::Sender<u32>);

impl Drop for RunsLate {
    fn drop(&mut self) {
        let Self(runtime, idle, system, news) = self;
        let answer = runtime.block_on(async {
            let answer = idle.ping().ask().unwrap().await.unwrap();
            system.terminate().await;
            answer
        });
        news.send(answer).expect("the test listens");
    }
}

/// Rule 6.6.
#[test]
fn a_system_may_run_when_its_thread_ends() {
    let (news, told) = std::sync::mpsc::channel();
    kept_to_the_end(move || {
        let runtime = current_thread();
        let (system, idle) = runtime.block_on(async {
            let system = ActorSystem::new("test");
            (system.clone(), system.spawn("idle", || Idle).unwrap())
        });
        runtime.block_on(async { idle.ping().ask().unwrap().await.unwrap() });
        RunsLate(runtime, idle, system, news)
    });
    assert_eq!(told.recv(), Ok(7));
}
