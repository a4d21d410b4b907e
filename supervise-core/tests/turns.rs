//! Turns on each kind of runtime, in programs small enough for Miri, which looks for undefined behaviour in the crates below
//! this one.

use supervise_core::{
    Actor, ActorRef, ActorSystem, AskError, Context, Failure, ReplyTo, Request, Supervisor, generated,
};
use tokio::runtime::{Builder, Runtime};

#[derive(Debug, thiserror::Error)]
#[error("told to fail")]
struct ToldTo;

struct Counter {
    count: u32,
}

enum CounterMessage {
    Add(u32, ReplyTo<u32>),
    /// Waits while it borrows its own state.
    AddSlowly(Vec<u32>, ReplyTo<u32>),
    Fail,
}

impl Supervisor for Counter {
    type Ref = ActorRef<Self>;
}

impl Actor for Counter {
    type Message = CounterMessage;

    async fn handle(&mut self, message: CounterMessage, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            CounterMessage::Add(n, reply) => {
                self.count += n;
                generated::hold(ctx, reply);
                generated::reply(ctx, self.count)?;
            }
            CounterMessage::AddSlowly(numbers, reply) => {
                generated::hold(ctx, reply);
                let count = &mut self.count;
                for n in &numbers {
                    tokio::task::yield_now().await;
                    *count += n;
                }
                generated::reply(ctx, self.count)?;
            }
            CounterMessage::Fail => return Err(Failure::new(ToldTo)),
        }
        Ok(())
    }
}

fn add(counter: &ActorRef<Counter>, n: u32) -> Request<'_, Counter, u32> {
    Request::new(counter, CounterMessage::Add(n, ReplyTo::nowhere()), attach)
}

fn add_slowly(counter: &ActorRef<Counter>, numbers: Vec<u32>) -> Request<'_, Counter, u32> {
    Request::new(counter, CounterMessage::AddSlowly(numbers, ReplyTo::nowhere()), attach)
}

fn attach(message: &mut CounterMessage, to: ReplyTo<u32>) {
    if let CounterMessage::Add(_, reply) | CounterMessage::AddSlowly(_, reply) = message {
        *reply = to;
    }
}

fn on(runtime: &Runtime) {
    runtime.block_on(async {
        let system = ActorSystem::new("turns");
        let counter = system.spawn("counter", || Counter { count: 0 }).unwrap();
        counter.tell(CounterMessage::Add(1, ReplyTo::nowhere())).unwrap();
        assert_eq!(add(&counter, 1).await.unwrap(), 2);
        assert_eq!(add(&counter, 1).inline().await.unwrap(), 3);
        assert_eq!(add_slowly(&counter, vec![1, 2, 3]).await.unwrap(), 9);
        counter.tell(CounterMessage::Fail).unwrap();
        assert_eq!(add(&counter, 1).await.unwrap(), 1, "a new instance");

        let other = counter.clone();
        let asking = tokio::spawn(async move { add_slowly(&other, vec![1; 8]).await.unwrap() });
        assert!(add(&counter, 1).await.unwrap() > 1);
        assert!(asking.await.unwrap() > 8);

        system.terminate().await;
        assert!(matches!(add(&counter, 1).await, Err(AskError::Stopped)));
    });
}

#[test]
fn an_actor_runs_on_one_thread() {
    on(&Builder::new_current_thread().enable_all().build().unwrap());
}

#[test]
fn an_actor_runs_on_two_threads() {
    on(&Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
}

#[test]
fn a_runtime_takes_an_actor_along_that_waits() {
    for runtime in [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ] {
        let system = runtime.block_on(async {
            let system = ActorSystem::new("turns");
            let counter = system.spawn("counter", || Counter { count: 0 }).unwrap();
            counter.tell(CounterMessage::AddSlowly(vec![1; 1_000_000], ReplyTo::nowhere())).unwrap();
            tokio::task::yield_now().await;
            system
        });
        drop(runtime);
        assert!(system.has_terminated());
    }
}
