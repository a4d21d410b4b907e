//! Which hand-written supervisor decides about a failure, how often, and on whose turn.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use supervise_core::{
    Actor, ActorRef, ActorSystem, Backoff, ChildInfo, Context, DecidesAll, Directive, EscalationsDecidedBy, Event,
    Events, Failure, HandlersOfOneImplBlockDecidedBy, Outcome, ReplyTo, Request, Strategy, Supervisor,
};
use tokio::sync::Notify;

tokio::task_local! {
    static ASKER: &'static str;
}

/// One call of [`Node::decide`].
#[derive(Debug, PartialEq, Eq)]
struct Question {
    /// The level of the child that failed.
    about: usize,
    /// Whether the supervisor was otherwise idle: neither in its turn nor waiting in a handler.
    supervisor_is_free: bool,
    asker: Option<&'static str>,
}

/// What a test and its chain of nodes share.
struct Shared {
    /// The decision about the node of each level. The top level has none.
    verdicts: Vec<Directive>,
    nodes: Mutex<Vec<Option<ActorRef<Node>>>>,
    questions: Mutex<Vec<Question>>,
    busy: Notify,
    leaf_started: Notify,
}

/// Makes the leaf fail, and gives the deciders access to the test.
#[derive(thiserror::Error)]
#[error("as told")]
struct AsTold(Arc<Shared>);

impl std::fmt::Debug for AsTold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AsTold")
    }
}

/// A supervisor of the node one level below. The leaf is level 0.
struct Node {
    level: usize,
    shared: Arc<Shared>,
}

enum Message {
    Ping(ReplyTo<()>),
    Fail(ReplyTo<()>),
    /// Waits until the test allows it to go on.
    Wait,
}

fn request(to: &ActorRef<Node>, message: fn(ReplyTo<()>) -> Message) -> Request<'_, Node, ()> {
    let attach = |message: &mut Message, to| match message {
        Message::Ping(reply) | Message::Fail(reply) => *reply = to,
        Message::Wait => {}
    };
    Request::new(to, message(ReplyTo::nowhere()), attach).inline()
}

impl Supervisor for Node {
    type Ref = ActorRef<Self>;

    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        let AsTold(shared) = failure.downcast_ref().expect("no other failure");
        let about: usize = child.name.parse().expect("a level");
        let supervisor = shared.nodes.lock().expect("no panic").get(about + 1).cloned().flatten();
        let supervisor = supervisor.expect("a supervisor");
        // An actor that is idle, and has no turn, answers an inline ask in the poll that sends it.
        let ask = pin!(request(&supervisor, Message::Ping).into_future());
        let supervisor_is_free = ask.poll(&mut TaskContext::from_waker(Waker::noop())).is_ready();
        let asker = ASKER.try_with(|asker| *asker).ok();
        shared.questions.lock().expect("no panic").push(Question { about, supervisor_is_free, asker });
        Ok(shared.verdicts[about])
    }
}

impl DecidesAll for Node {}
impl<P> HandlersOfOneImplBlockDecidedBy<P> for Node {}
impl<P> EscalationsDecidedBy<P> for Node {}

impl Actor for Node {
    type Message = Message;

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let Self { level, shared } = self;
        shared.nodes.lock().expect("no panic")[*level] = Some(ctx.me().clone());
        if let Some(level) = level.checked_sub(1) {
            let shared = Arc::clone(shared);
            ctx.spawn(level.to_string(), move || Self { level, shared: Arc::clone(&shared) })
                .map_err(Failure::new)?;
        } else {
            shared.leaf_started.notify_one();
        }
        Ok(())
    }

    async fn handle(&mut self, message: Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            Message::Ping(reply) => {
                supervise_core::generated::hold(ctx, reply);
                supervise_core::generated::reply(ctx, ())?;
            }
            Message::Fail(reply) => {
                supervise_core::generated::hold(ctx, reply);
                return Err(Failure::new(AsTold(Arc::clone(&self.shared))));
            }
            Message::Wait => self.shared.busy.notified().await,
        }
        Ok(())
    }
}

/// A chain of nodes: the leaf, and a supervisor for each verdict.
async fn chain(system: &ActorSystem, verdicts: &[Directive]) -> (Arc<Shared>, Vec<ActorRef<Node>>) {
    let top = verdicts.len();
    let shared = Arc::new(Shared {
        verdicts: verdicts.to_vec(),
        nodes: Mutex::new(vec![None; top + 1]),
        questions: Mutex::new(Vec::new()),
        busy: Notify::new(),
        leaf_started: Notify::new(),
    });
    let its = Arc::clone(&shared);
    system.spawn("top", move || Node { level: top, shared: Arc::clone(&its) }).expect("a free name");
    shared.leaf_started.notified().await;
    let nodes = shared.nodes.lock().expect("no panic").iter().flatten().cloned().collect();
    (shared, nodes)
}

/// Until no node passes the failure on.
async fn decided(events: &mut Events) {
    let last = |event: &Event| matches!(event, Event::Decided { outcome, .. } if *outcome != Outcome::Escalated);
    while !last(&events.recv().await.expect("a running system")) {}
}

const SECOND: Duration = Duration::from_secs(1);

const VERDICTS: [Directive; 4] = [
    Directive::Resume,
    Directive::Restart,
    Directive::RestartAfter(Backoff::exponential(SECOND, SECOND)),
    Directive::Stop,
];

fn questions(shared: &Shared) -> Vec<Question> {
    std::mem::take(&mut shared.questions.lock().expect("no panic"))
}

fn asked(about: usize) -> Question {
    Question { about, supervisor_is_free: false, asker: None }
}

/// Rules 1.1 and 3.1.
#[tokio::test(start_paused = true)]
async fn each_supervisor_is_asked_once_and_on_its_own_turn() {
    for verdict in VERDICTS {
        for escalations in 0..3 {
            let system = ActorSystem::new("idle");
            let mut verdicts = vec![Directive::Escalate; escalations];
            verdicts.push(verdict);
            let (shared, nodes) = chain(&system, &verdicts).await;
            let mut events = system.events().subscribe();
            assert!(nodes[0].tell(Message::Fail(ReplyTo::nowhere())).is_ok());
            decided(&mut events).await;
            assert_eq!(questions(&shared), (0..=escalations).map(asked).collect::<Vec<_>>(), "{verdict:?}");
            system.terminate().await;
            assert_eq!(questions(&shared), []);
        }
    }
}

/// Rules 1.1 and 1.4.
#[tokio::test(start_paused = true)]
async fn a_supervisor_that_waits_in_a_handler_is_asked_once() {
    for verdict in VERDICTS {
        let system = ActorSystem::new("busy");
        let (shared, nodes) = chain(&system, &[Directive::Escalate, verdict]).await;
        for supervisor in &nodes[1..] {
            assert!(supervisor.tell(Message::Wait).is_ok());
        }
        let mut events = system.events().subscribe();
        assert!(nodes[0].tell(Message::Fail(ReplyTo::nowhere())).is_ok());
        decided(&mut events).await;
        assert_eq!(questions(&shared), [asked(0), asked(1)], "{verdict:?}");
        shared.busy.notify_waiters();
        system.terminate().await;
        assert_eq!(questions(&shared), []);
    }
}

/// Rule 1.8.
#[tokio::test(start_paused = true)]
async fn a_failure_of_an_inline_ask_is_not_decided_in_the_context_of_the_asker() {
    let system = ActorSystem::new("inline");
    let (shared, nodes) = chain(&system, &[Directive::Escalate, Directive::Restart]).await;
    let mut events = system.events().subscribe();
    let answer = ASKER.scope("alice", request(&nodes[0], Message::Fail).into_future()).await;
    assert!(answer.is_err());
    decided(&mut events).await;
    assert_eq!(questions(&shared), [asked(0), asked(1)]);
    system.terminate().await;
}

/// Rule 3.6.
#[tokio::test(start_paused = true)]
async fn ten_thousand_escalations_do_not_stand_on_one_stack() {
    const LEVELS: usize = 10_000;
    let system = ActorSystem::new("deep");
    let mut verdicts = vec![Directive::Escalate; LEVELS];
    verdicts.push(Directive::Resume);
    let (shared, nodes) = chain(&system, &verdicts).await;
    assert!(nodes[0].tell(Message::Fail(ReplyTo::nowhere())).is_ok());
    // Answered when the leaf is resumed.
    assert!(request(&nodes[0], Message::Ping).await.is_ok());
    assert_eq!(questions(&shared), (0..=LEVELS).map(asked).collect::<Vec<_>>());
    system.terminate().await;
}

/// A hand-written supervisor that restarts its members together.
struct Group(Arc<Members>);

/// One of a group. It says its number when it has restarted.
struct Member(usize, Arc<Members>);

#[derive(Default)]
struct Members {
    refs: Mutex<Vec<ActorRef<Member>>>,
    decided: Mutex<Vec<String>>,
    restarted: Mutex<Vec<usize>>,
    started: Notify,
}

impl Supervisor for Group {
    type Ref = ActorRef<Self>;
    const STRATEGY: Strategy = Strategy::all_for_one();

    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        let Broken(members) = failure.downcast_ref().expect("no other failure");
        members.decided.lock().expect("no panic").push(child.name.to_string());
        Ok(Directive::Restart)
    }
}

impl Supervisor for Member {
    type Ref = ActorRef<Self>;
}

impl DecidesAll for Group {}
impl<P> HandlersOfOneImplBlockDecidedBy<P> for Member {}
impl<P> EscalationsDecidedBy<P> for Member {}
impl<P> HandlersOfOneImplBlockDecidedBy<P> for Group {}
impl<P> EscalationsDecidedBy<P> for Group {}

/// Makes a member fail, and gives the decider access to the test.
#[derive(thiserror::Error)]
#[error("broken")]
struct Broken(Arc<Members>);

impl std::fmt::Debug for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Broken")
    }
}

const MEMBERS: usize = 3;

impl Actor for Group {
    type Message = ();

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        for number in 0..MEMBERS {
            let its = Arc::clone(&self.0);
            let member = ctx.spawn(number.to_string(), move || Member(number, Arc::clone(&its)));
            self.0.refs.lock().expect("no panic").push(member.map_err(Failure::new)?);
        }
        self.0.started.notify_one();
        Ok(())
    }

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Actor for Member {
    type Message = ();

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        Err(Failure::new(Broken(Arc::clone(&self.1))))
    }

    async fn post_restart(&mut self, _: &mut Context<Self>, _: &Failure) -> Result<(), Failure> {
        self.1.restarted.lock().expect("no panic").push(self.0);
        Ok(())
    }
}

/// Rules 1.9 and 7.1. The supervisor is idle, but it decides in a turn of its own, so the member that failed does not come first.
#[tokio::test(start_paused = true)]
async fn a_group_restarts_in_its_order_whichever_member_fails() {
    let system = ActorSystem::new("group");
    let members = Arc::new(Members::default());
    let its = Arc::clone(&members);
    system.spawn("group", move || Group(Arc::clone(&its))).expect("a free name");
    members.started.notified().await;
    for number in 0..MEMBERS {
        // Everybody is idle.
        tokio::time::sleep(SECOND).await;
        assert!(members.refs.lock().expect("no panic")[number].tell(()).is_ok());
        tokio::time::sleep(SECOND).await;
        assert_eq!(std::mem::take(&mut *members.decided.lock().expect("no panic")), [number.to_string()]);
        assert_eq!(std::mem::take(&mut *members.restarted.lock().expect("no panic")), [0, 1, 2]);
    }
    system.terminate().await;
}
