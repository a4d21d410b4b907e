//! STA, and the DW cases about the stash: which messages `#[stash_while]` sets aside, and how they come back.

use std::fmt;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{
    AskError, DeadLetterReason, EscalationsDecidedBy, Event, HandlersOfOneImplBlockDecidedBy, StashOverflow,
    Strategy,
};

use crate::fixture::{Boom, PingPong, PingPongRef, child, keeper_deciding, secs};

/// Says goodbye only to guests that it has met.
#[actor]
struct Host {
    met: bool,
    said: ProbeHandle<&'static str>,
}

#[actor]
impl Host {
    #[handler]
    fn hello(&mut self) {
        self.said.note("hello");
        self.met = true;
    }

    #[handler]
    fn bye(&mut self) -> &'static str {
        self.said.note("bye");
        "bye"
    }

    #[handler]
    fn stay(&mut self) {
        self.said.note("stay");
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[stash_while]
    fn strangers(&self, message: &HostMessage) -> bool {
        !self.met && matches!(message, HostMessage::Bye)
    }
}

/// A host that has met nobody in its first life, and everybody in the next ones.
fn forgetful(said: ProbeHandle<&'static str>) -> impl FnMut() -> Host + Send + 'static {
    let mut lives = 0;
    move || {
        lives += 1;
        Host { met: lives > 1, said: said.clone() }
    }
}

/// Rule 15.3.
#[supervise::test]
async fn sta_01_a_message_waits_until_another_was_handled(system: &TestSystem) {
    let said = system.probe();
    let host = system.spawn("host", forgetful(said.handle())).unwrap();
    host.bye().tell().unwrap();
    host.stay().tell().unwrap();
    host.hello().tell().unwrap();
    assert_eq!(said.all().await, ["stay", "hello", "bye"]);
}

/// Can be written to while open, and thrown away while closed.
#[actor]
enum File {
    Closed(ProbeHandle<&'static str>),
    Open(ProbeHandle<&'static str>),
}

impl File {
    fn note(&self, what: &'static str) -> ProbeHandle<&'static str> {
        let (Self::Closed(did) | Self::Open(did)) = self;
        did.note(what);
        did.clone()
    }
}

#[actor]
impl File {
    #[handler]
    fn open(&mut self) {
        *self = Self::Open(self.note("open"));
    }

    #[handler]
    fn write(&mut self) {
        self.note("write");
    }

    #[handler]
    fn close(&mut self) {
        *self = Self::Closed(self.note("close"));
    }

    #[handler]
    fn done(&mut self, ctx: &mut Context<Self>) {
        self.note("done");
        ctx.stop_self();
    }

    #[stash_while]
    fn out_of_turn(&self, message: &FileMessage) -> bool {
        match self {
            Self::Closed(_) => matches!(message, FileMessage::Write | FileMessage::Close),
            Self::Open(_) => matches!(message, FileMessage::Open | FileMessage::Done),
        }
    }
}

/// Rule 15.3.
#[supervise::test]
async fn sta_02_a_protocol_takes_its_messages_in_its_own_order(system: &TestSystem) {
    let did = system.probe();
    let handle = did.handle();
    let file = system.spawn("file", move || File::Closed(handle.clone())).unwrap();
    for request in [FileRef::open, FileRef::write, FileRef::open, FileRef::close, FileRef::write, FileRef::close] {
        request(&file).tell().unwrap();
    }
    file.done().tell().unwrap();
    system.expect_terminated(&file).await;
    assert_eq!(did.all().await, ["open", "write", "close", "open", "write", "close", "done"]);
}

/// Rules 4.7, 15.3.
#[supervise::test]
async fn sta_04_the_new_instance_gets_what_was_set_aside_before_the_rest(system: &TestSystem) {
    let said = system.probe();
    let host = system.spawn("host", forgetful(said.handle())).unwrap();
    let asked = host.bye().ask().unwrap();
    host.fail().tell().unwrap();
    host.stay().tell().unwrap();
    assert_eq!(said.all().await, ["bye", "stay"]);
    assert_eq!(asked.await.unwrap(), "bye");
    system.expect_restarts(&host, 1).await;
}

/// Rules 4.7, 15.3.
#[supervise::test]
async fn sta_04_a_resumed_instance_keeps_what_it_set_aside(system: &TestSystem) {
    let said = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let host = child(&keeper, "host", forgetful(said.handle())).await;
    host.bye().tell().unwrap();
    host.fail().tell().unwrap();
    host.stay().tell().unwrap();
    assert_eq!(said.all().await, ["stay"]);
    host.hello().tell().unwrap();
    assert_eq!(said.all().await, ["hello", "bye"]);
    system.expect_decision(&host).await;
}

/// Each can be distinguished from the others when it is dropped.
#[derive(Clone)]
struct Ticket {
    number: u32,
    torn: Option<ProbeHandle<u32>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(torn) = &self.torn {
            torn.note(self.number);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// Lets in every guest with a ticket, once it is open.
#[actor(stash = 10)]
struct Theatre {
    open: bool,
    asked: ProbeHandle<u32>,
    admitted: ProbeHandle<u32>,
}

impl Theatre {
    fn closed(asked: ProbeHandle<u32>, admitted: ProbeHandle<u32>) -> impl FnMut() -> Self + Send + 'static {
        move || Self { open: false, asked: asked.clone(), admitted: admitted.clone() }
    }
}

#[actor]
impl Theatre {
    #[handler]
    fn admit(&mut self, ticket: Ticket) -> u32 {
        self.admitted.note(ticket.number);
        ticket.number
    }

    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    /// Anything may happen before the theatre opens.
    #[handler]
    fn rehearse(&mut self) {}

    #[stash_while]
    fn queue(&self, message: &TheatreMessage) -> bool {
        let TheatreMessage::Admit { ticket, .. } = message else { return false };
        self.asked.note(ticket.number);
        !self.open
    }
}

fn ticket(number: u32) -> Ticket {
    Ticket { number, torn: None }
}

/// Rule 15.3.
#[supervise::test]
async fn sta_05_the_same_message_is_set_aside_again_and_handled_once(system: &TestSystem) {
    let (asked, admitted) = (system.probe(), system.probe());
    let theatre = system.spawn("theatre", Theatre::closed(asked.handle(), admitted.handle())).unwrap();
    theatre.admit(ticket(1)).tell().unwrap();
    theatre.rehearse().tell().unwrap();
    theatre.rehearse().await.unwrap();
    assert_eq!(asked.all().await, [1; 3], "once when it came, and after each of the others");
    theatre.open().tell().unwrap();
    assert_eq!(admitted.all().await, [1]);
}

/// Rule 15.3.
#[supervise::test]
async fn sta_05_two_equal_messages_are_two_messages(system: &TestSystem) {
    let (asked, admitted) = (system.probe(), system.probe());
    let theatre = system.spawn("theatre", Theatre::closed(asked.handle(), admitted.handle())).unwrap();
    let first = theatre.admit(ticket(7)).ask().unwrap();
    let second = theatre.admit(ticket(7)).ask().unwrap();
    theatre.open().tell().unwrap();
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (7, 7));
    assert_eq!(admitted.all().await, [7, 7]);
}

/// Sets aside eleven messages, and poisons the actor.
async fn one_too_many<R: TypedRef>(system: &TestSystem, actor: &R, admit: impl Fn(Ticket)) {
    let torn = system.probe();
    for number in 1..=11 {
        admit(Ticket { number, torn: Some(torn.handle()) });
    }
    assert_eq!(torn.all().await, [11], "the one that has no room, at once");
    let letter = system.expect_dead_letter(actor).await;
    assert_eq!(letter.reason, DeadLetterReason::StashFull);
    let decision = system.expect_decision(actor).await;
    assert_eq!(decision.failure.downcast_ref(), Some(&StashOverflow { capacity: 10 }));
    assert_eq!(decision.directive, Directive::Restart);
    actor.actor_ref().poison();
    system.expect_terminated(actor).await;
    assert_eq!(torn.all().await, (1..=10).collect::<Vec<_>>(), "the rest at the end, in order");
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert_eq!(letters.len(), 10);
    for letter in &letters {
        assert!(matches!(letter, Event::DeadLetter(letter) if letter.reason == DeadLetterReason::Stopped));
    }
}

/// Rule 10.1.
#[supervise::test]
async fn sta_08_one_more_than_fit_is_a_dead_letter_at_once_and_the_rest_at_the_end(system: &TestSystem) {
    let (asked, admitted) = (system.probe(), system.probe());
    let theatre = system.spawn("theatre", Theatre::closed(asked.handle(), admitted.handle())).unwrap();
    one_too_many(system, &theatre, |ticket| theatre.admit(ticket).tell().unwrap()).await;
    admitted.expect_none().await;
}

/// A theatre with a short street in front of it.
#[actor(mailbox = bounded(11, overflow = fail), stash = 10)]
struct Studio;

#[actor]
impl Studio {
    #[handler]
    fn admit(&mut self, ticket: Ticket) -> u32 {
        ticket.number
    }

    #[stash_while]
    fn queue(&self, _message: &StudioMessage) -> bool {
        true
    }
}

/// Rule 15.3.
#[supervise::test]
async fn sta_09_the_same_with_a_bounded_mailbox(system: &TestSystem) {
    let studio = system.spawn("studio", || Studio).unwrap();
    one_too_many(system, &studio, |ticket| studio.admit(ticket).tell().unwrap()).await;
}

/// Rule 15.3.
#[supervise::test]
async fn sta_09_what_is_set_aside_takes_no_room_in_the_mailbox(system: &TestSystem) {
    let studio = system.spawn("studio", || Studio).unwrap();
    let set_aside = studio.admit(ticket(0)).ask().unwrap();
    system.settle().await;
    for number in 1..=9 {
        studio.admit(ticket(number)).tell().unwrap();
    }
    system.settle().await;
    for number in 10..=20 {
        studio.admit(ticket(number)).tell().expect("the mailbox holds eleven besides those set aside");
    }
    assert!(studio.admit(ticket(21)).tell().is_err(), "and no more");
    system.stop(&studio);
    system.expect_terminated(&studio).await;
    assert!(matches!(set_aside.await, Err(AskError::Stopped)), "its asker is told");
    system.allow_failures();
    system.allow_dead_letters();
}

/// Declares its stash by hand.
struct Barn;

impl Supervisor for Barn {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 10;
}

impl<P> HandlersOfOneImplBlockDecidedBy<P> for Barn {}
impl<P> EscalationsDecidedBy<P> for Barn {}

impl Actor for Barn {
    type Message = Ticket;

    async fn handle(&mut self, _ticket: Ticket, _ctx: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }

    fn stash_while(&self, _ticket: &Ticket) -> bool {
        true
    }
}

/// Rule 15.3.
#[supervise::test]
async fn sta_12_the_same_where_the_capacity_is_declared_by_hand(system: &TestSystem) {
    let barn = system.spawn("barn", || Barn).unwrap();
    one_too_many(system, &barn, |ticket| barn.tell(ticket).unwrap()).await;
}

/// Watches and sets timers, but stashes their messages until it wakes up.
#[actor]
struct Dreamer {
    awake: bool,
    heard: ProbeHandle<String>,
}

#[actor]
impl Dreamer {
    #[handler]
    fn tick_once(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer("tick", secs(1), me.tick("once"));
    }

    #[handler]
    fn tick_again_and_again(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("tick", secs(1), move || me.tick("again").into_message());
    }

    #[handler]
    fn tick_when_idle(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(secs(1), move || me.tick("idle").into_message());
    }

    #[handler]
    fn follow(&mut self, friend: PingPongRef, with_message: bool, ctx: &mut Context<Self>) {
        let me = ctx.me();
        if with_message {
            ctx.watch_with(&friend, me.lost()).expect("nobody is watched yet");
        } else {
            ctx.watch(&friend);
        }
    }

    #[handler]
    fn tick(&mut self, which: &'static str) {
        self.heard.note(format!("tick {which}"));
    }

    #[handler]
    fn lost(&mut self) {
        self.heard.note("lost".to_owned());
    }

    #[handler]
    fn wake_up(&mut self) {
        self.awake = true;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("nightmare"))
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<PingPong>) {
        self.heard.note(format!("{} gone", gone.path().name()));
    }

    #[stash_while]
    fn asleep(&self, message: &DreamerMessage) -> bool {
        let asleep = !self.awake;
        match message {
            DreamerMessage::Tick { which, .. } => {
                self.heard.note(format!("asked about {which}"));
                asleep
            }
            DreamerMessage::Lost => {
                self.heard.note("asked about lost".to_owned());
                asleep
            }
            _ => false,
        }
    }
}

fn dreamer(system: &TestSystem, heard: ProbeHandle<String>) -> DreamerRef {
    system.spawn("dreamer", move || Dreamer { awake: false, heard: heard.clone() }).unwrap()
}

fn friend(system: &TestSystem) -> PingPongRef {
    system.spawn("friend", PingPong::factory(&system.probe().handle())).unwrap()
}

/// Rule 15.3.
#[supervise::test]
async fn sta_13_a_timer_s_message_is_set_aside_as_it_is(system: &TestSystem) {
    let heard = system.probe();
    let dreamer = dreamer(system, heard.handle());
    dreamer.tick_once().await.unwrap();
    system.advance(secs(1)).await;
    assert_eq!(heard.all().await, ["asked about once"]);
    dreamer.wake_up().tell().unwrap();
    assert_eq!(heard.all().await, ["asked about once", "tick once"]);
    system.advance(secs(10)).await;
    heard.expect_none().await;
}

/// Rule 15.3.
#[supervise::test]
async fn sta_13_so_are_those_of_a_periodic_timer(system: &TestSystem) {
    let heard = system.probe();
    let dreamer = dreamer(system, heard.handle());
    dreamer.tick_again_and_again().await.unwrap();
    system.advance(secs(1)).await;
    assert_eq!(heard.all().await, ["asked about again"]);
    dreamer.wake_up().tell().unwrap();
    assert_eq!(heard.all().await, ["asked about again", "tick again"]);
    system.advance(secs(1)).await;
    assert_eq!(heard.all().await, ["asked about again", "tick again"], "the next one is a new message");
}

/// Rule 15.3.
#[supervise::test]
async fn sta_13_so_is_that_of_the_receive_timeout(system: &TestSystem) {
    let heard = system.probe();
    let dreamer = dreamer(system, heard.handle());
    dreamer.tick_when_idle().await.unwrap();
    system.advance(secs(1)).await;
    assert_eq!(heard.all().await, ["asked about idle"]);
    dreamer.wake_up().tell().unwrap();
    assert_eq!(heard.all().await, ["asked about idle", "tick idle"]);
}

/// Rule 15.3.
#[supervise::test]
async fn dw_11_the_message_of_a_watch_is_set_aside_as_it_is(system: &TestSystem) {
    let heard = system.probe();
    let (dreamer, friend) = (dreamer(system, heard.handle()), friend(system));
    dreamer.follow(friend.clone(), true).await.unwrap();
    system.stop(&friend);
    assert_eq!(heard.all().await, ["asked about lost"]);
    dreamer.wake_up().tell().unwrap();
    assert_eq!(heard.all().await, ["asked about lost", "lost"]);
}

/// Rule 15.3.
#[supervise::test]
async fn dw_11_and_handed_to_the_next_instance(system: &TestSystem) {
    let heard = system.probe();
    let (dreamer, friend) = (dreamer(system, heard.handle()), friend(system));
    dreamer.follow(friend.clone(), true).await.unwrap();
    system.stop(&friend);
    system.settle().await;
    dreamer.fail().tell().unwrap();
    dreamer.wake_up().tell().unwrap();
    let heard = heard.all().await;
    assert_eq!(heard.iter().filter(|what| *what == "lost").count(), 1, "{heard:?}");
    system.expect_restarts(&dreamer, 1).await;
}

/// Rule 15.3.
#[supervise::test]
async fn dw_13_the_news_itself_is_never_set_aside_and_moves_nothing_else(system: &TestSystem) {
    let heard = system.probe();
    let (dreamer, friend) = (dreamer(system, heard.handle()), friend(system));
    dreamer.follow(friend.clone(), false).await.unwrap();
    dreamer.tick("set aside").tell().unwrap();
    system.stop(&friend);
    assert_eq!(heard.all().await, ["asked about set aside", "friend gone", "asked about set aside"]);
    dreamer.wake_up().tell().unwrap();
    assert_eq!(heard.all().await, ["asked about set aside", "tick set aside"]);
}

/// Stashes everything until it is restarted, and overrides the hook that returns the stash in other
/// frameworks.
#[actor]
struct Stubborn {
    open: bool,
    said: ProbeHandle<&'static str>,
}

#[actor]
impl Stubborn {
    #[handler]
    fn say(&mut self, what: &'static str) {
        self.said.note(what);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn replaced(&mut self) {
        panic!("not even this one is clean");
    }

    #[stash_while]
    fn closed(&self, message: &StubbornMessage) -> bool {
        !self.open && matches!(message, StubbornMessage::Say { .. })
    }
}

/// Rules 4.7, 15.3.
#[supervise::test]
async fn s21_3_an_overridden_pre_restart_loses_no_stash(system: &TestSystem) {
    let said = system.probe();
    let handle = said.handle();
    let mut lives = 0;
    let stubborn = system.spawn("stubborn", move || {
        lives += 1;
        Stubborn { open: lives > 1, said: handle.clone() }
    });
    let stubborn = stubborn.unwrap();
    let asked = stubborn.say("one").ask().unwrap();
    stubborn.say("two").tell().unwrap();
    stubborn.fail().tell().unwrap();
    stubborn.say("three").tell().unwrap();
    assert_eq!(said.all().await, ["one", "two", "three"]);
    asked.await.unwrap();
    system.expect_restarts(&stubborn, 1).await;
}
