//! An actor without macros: each generated item is a plain trait impl that anybody can write.

use std::time::Duration;

use supervise_core::{
    Actor, ActorRef, ActorSystem, AskError, ChildInfo, Context, Decides, Directive, Envelope,
    EscalationsDecidedBy, Event, Failure, FailureKind, HandlersOfOneImplBlockDecidedBy, HowEnded, Reply, Request,
    Strategy, Supervisor, Terminated, TypedRef, Watches, generated,
};

#[derive(Debug, thiserror::Error)]
#[error("no more than {0}")]
struct TooMuch(u32);

struct Counter {
    count: u32,
}

enum CounterMessage {
    Add(u32),
    Panic,
    Forever,
}

impl Supervisor for Counter {
    type Ref = ActorRef<Self>;
}

impl Actor for Counter {
    type Message = Envelope<CounterMessage>;

    async fn handle(&mut self, message: Self::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match generated::open(ctx, message) {
            CounterMessage::Add(n) => {
                if self.count + n > 10 {
                    return Err(Failure::new(TooMuch(10)));
                }
                self.count += n;
                generated::reply(ctx, self.count)
            }
            CounterMessage::Panic => panic!("on purpose"),
            CounterMessage::Forever => std::future::pending().await,
        }
    }
}

impl<P: Decides<TooMuch>> HandlersOfOneImplBlockDecidedBy<P> for Counter {}
impl<P> EscalationsDecidedBy<P> for Counter {}

fn add(counter: &ActorRef<Counter>, n: u32) -> Request<'_, Counter, u32> {
    generated::request(counter, CounterMessage::Add(n))
}

struct Parent {
    gone: u32,
}

enum ParentMessage {
    Child,
    Relay(u32),
    Gone,
}

impl Supervisor for Parent {
    type Ref = ActorRef<Self>;
    const STRATEGY: Strategy = Strategy::one_for_one().max_retries(2);

    fn decide(failure: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        Ok(match failure.kind() {
            FailureKind::Panic => Directive::Resume,
            _ => Directive::Restart,
        })
    }
}

impl<E> Decides<E> for Parent {}
impl<P> HandlersOfOneImplBlockDecidedBy<P> for Parent {}
impl<P> EscalationsDecidedBy<P> for Parent {}
impl Watches<Counter> for Parent {}

impl Actor for Parent {
    type Message = Envelope<ParentMessage>;

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let child = ctx.spawn("child", || Counter { count: 0 }).map_err(Failure::new)?;
        ctx.watch(&child);
        Ok(())
    }

    async fn handle(&mut self, message: Self::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let child = ctx.child("child").and_then(|child| child.downcast::<Counter>());
        match generated::open(ctx, message) {
            ParentMessage::Child => {
                if let Some(child) = child {
                    generated::reply(ctx, child)?;
                }
                Ok(())
            }
            ParentMessage::Relay(n) => {
                if let Some(child) = child {
                    let first = add(&child, n).await;
                    let Reply(second) = Reply(add(&child, 1).await);
                    generated::reply(ctx, first.and(second))?;
                }
                Ok(())
            }
            ParentMessage::Gone => generated::reply(ctx, self.gone),
        }
    }

    async fn terminated(&mut self, gone: Terminated, _: &mut Context<Self>) -> Result<(), Failure> {
        assert_eq!(gone.how(), HowEnded::Graceful);
        self.gone += 1;
        Ok(())
    }
}

fn child(parent: &ActorRef<Parent>) -> Request<'_, Parent, ActorRef<Counter>> {
    generated::request(parent, ParentMessage::Child)
}

fn gone(parent: &ActorRef<Parent>) -> Request<'_, Parent, u32> {
    generated::request(parent, ParentMessage::Gone)
}

#[tokio::test(start_paused = true)]
async fn an_error_restarts_a_panic_resumes_and_the_limit_stops() {
    let system = ActorSystem::new("hand");
    let parent = system.spawn("parent", || Parent { gone: 0 }).unwrap();
    let counter = child(&parent).await.unwrap();
    assert_eq!(counter.path().to_string(), "supervise://hand/user/parent/child");

    assert_eq!(add(&counter, 3).await.unwrap(), 3);
    counter.tell(CounterMessage::Panic).unwrap();
    assert_eq!(add(&counter, 3).await.unwrap(), 6, "resumed with its state");
    assert!(
        matches!(add(&counter, 9).await, Err(AskError::Failed(failure)) if failure.downcast_ref::<TooMuch>().is_some())
    );
    assert_eq!(add(&counter, 1).await.unwrap(), 1, "restarted with a new state");
    assert!(add(&counter, 99).await.is_err());
    assert!(matches!(add(&counter, 99).await, Err(AskError::Failed(_))));
    assert!(matches!(add(&counter, 1).await, Err(AskError::StoppedByFailure(_))), "stopped at the limit");
    assert_eq!(gone(&parent).await.unwrap(), 1);
    system.terminate().await;
    assert!(parent.has_ended());
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_awaits_its_failing_child_does_not_hang() {
    let system = ActorSystem::new("hand");
    let parent = system.spawn("parent", || Parent { gone: 0 }).unwrap();
    let relay: Request<'_, _, Result<u32, AskError>> = generated::request(&parent, ParentMessage::Relay(99));
    let relayed = relay.timeout(Duration::from_secs(1)).await.unwrap();
    assert!(matches!(relayed, Err(AskError::Failed(_))), "{relayed:?}");
    system.terminate().await;
}

#[tokio::test(start_paused = true)]
async fn a_stuck_handler_is_aborted_after_the_stop_timeout() {
    let system = ActorSystem::new("hand");
    let mut events = system.events().subscribe();
    let counter = system.spawn("counter", || Counter { count: 0 }).unwrap();
    counter.tell(CounterMessage::Forever).unwrap();
    let begun = tokio::time::Instant::now();
    let late = add(&counter, 1).timeout(Duration::from_secs(1)).await.unwrap_err().to_string();
    assert!(late.ends_with("within 1s: 2 messages wait or are being handled"), "{late}");
    counter.actor_ref().stop();
    system.terminate().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(6));
    let mut ended = None;
    while let Some(event) = events.try_recv() {
        if let Event::Stopped { actor, how, .. } = event
            && actor == counter.path()
        {
            ended = Some(how);
        }
    }
    assert_eq!(ended, Some(HowEnded::Aborted));
}
