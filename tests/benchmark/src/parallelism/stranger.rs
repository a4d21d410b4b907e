//! Code that asks from outside the runtime of the actors.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::runtime::{Builder, Handle};

/// A thread outside the runtime of the actors, by how it waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// `Handle::block_on`, with the handle of the actors' runtime.
    Handle,
    /// A task of another runtime.
    Runtime,
    /// Without any runtime: it parks until it is woken.
    Parking,
}

impl Stranger {
    pub fn name(self) -> &'static str {
        match self {
            Self::Handle => "handle",
            Self::Runtime => "runtime",
            Self::Parking => "parking",
        }
    }

    /// Runs `work` on a thread of its own.
    pub fn spawn(self, actors: &Handle, work: impl Future<Output = ()> + Send + 'static) {
        let actors = actors.clone();
        std::thread::spawn(move || match self {
            Self::Handle => actors.block_on(work),
            Self::Runtime => {
                let runtime = Builder::new_current_thread().build().expect("a runtime");
                runtime.block_on(runtime.spawn(work)).expect("a task that does not panic");
            }
            Self::Parking => park_on(work),
        });
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn park_on<T>(work: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}
