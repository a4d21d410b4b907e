//! Looking at each actor of a running system: what it does now, and what its supervisor knows about it.
//!
//! A look sends no message, wakes no actor and waits for none. It locks one actor at a time, and a parent for at most
//! [`SLICE`] of its children at a time.
//!
//! Rule 10.8.

use std::vec;

use super::tree::{NodeState, policy};
use crate::actor::{ActorSystem, AnyActorRef, DeciderTable, Rule};
use crate::base::Uid;
use crate::failure::During;
use crate::mailbox::Vitals;
use crate::observe::LastFailure;
use crate::supervision::{ChildId, Directive, Standing, Strategy, Time};

/// How many of its children are read while a parent is locked.
const SLICE: usize = 1024;

/// One actor, as a [look](ActorSystem::look) found it. Compare two looks to see what happened between them.
#[derive(Debug, Clone)]
pub struct Glimpse {
    actor: AnyActorRef,
    depth: usize,
    state: NodeState,
    parked: bool,
    has_children: bool,
    vitals: Vitals,
    by_parent: ByParent,
}

/// What the supervisor knows.
#[derive(Debug, Clone, Default)]
struct ByParent {
    restarts: u32,
    attempt: u32,
    standing: Option<Standing>,
    standing_of_rule: Option<(&'static Rule, Standing)>,
    due: Option<Time>,
}

impl Glimpse {
    /// The actor.
    pub fn actor(&self) -> &AnyActorRef {
        &self.actor
    }

    /// Its incarnation.
    pub fn uid(&self) -> Uid {
        self.actor.core().uid
    }

    /// How many actors are above it.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether it has children. If it has none, the look shows no actor below it.
    pub fn has_children(&self) -> bool {
        self.has_children
    }

    /// The name of its type, as [`std::any::type_name`] returns it.
    pub fn actor_type(&self) -> &'static str {
        self.actor.core().description().type_name()
    }

    /// Its state.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// Whether it is in a turn, or its handler waits at an await point.
    pub fn is_handling(&self) -> bool {
        self.state == NodeState::Running && (self.parked || self.vitals.handling)
    }

    /// Whether its handler waits at an await point. An actor that is handling and not parked in two looks a second apart may block
    /// its thread.
    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// The handler that it entered last. `None` if it has not entered one yet, or if it is written by hand
    /// and names no handlers.
    pub fn handler(&self) -> Option<&'static str> {
        match During::numbered(self.vitals.entered, self.actor.core().description().handlers())? {
            During::Handler(name) => Some(name),
            _ => None,
        }
    }

    /// How many messages were pushed into its mailbox so far. It wraps. `pushed - waiting` is the number of messages that it
    /// took up, so two looks give a rate.
    pub fn pushed(&self) -> u32 {
        self.vitals.pushed
    }

    /// How many messages wait in its mailbox, without the one in hand and the stash.
    pub fn waiting(&self) -> usize {
        self.vitals.waiting
    }

    /// Times its next message, if messages of its system [are timed](ActorSystem::begin_timing).
    #[cfg(feature = "timing")]
    #[doc(hidden)]
    pub fn time_next(&self) {
        self.actor.0.time_next();
    }

    /// Whether it may get a message again that made it fail: a handler says `redeliver`, or the mailbox is durable
    /// (rule [4.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-4.8)).
    pub fn may_repeat(&self) -> bool {
        self.actor.core().description().repeats()
    }

    /// How many messages are in its stash. Known with the feature `observe` or `timing`; otherwise 0.
    pub fn stashed(&self) -> usize {
        self.actor.core().stashed()
    }

    /// For how many messages its mailbox has room. `None`: it is unbounded.
    pub fn capacity(&self) -> Option<usize> {
        self.vitals.capacity
    }

    /// How it supervises its children.
    pub fn strategy(&self) -> Strategy {
        self.actor.core().description().strategy()
    }

    /// The rules by which it decides its children's failures.
    pub fn table(&self) -> DeciderTable {
        self.actor.core().description().table()
    }

    /// How many restarts its parent has told this incarnation to do, whether a limit counts them or not.
    pub fn restarts(&self) -> u32 {
        self.by_parent.restarts
    }

    /// How many restarts of its limit are used, as the next failure would count them. `None` if there is no limit.
    pub fn standing(&self) -> Option<Standing> {
        self.by_parent.standing
    }

    /// The rule of its supervisor's table whose own limit is nearest, and how much of that is used. `None`: no rule with a limit of its
    /// own has restarted it, or the limit depends on the supervisor's instance
    /// (rule [7.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.11)).
    pub fn standing_of_rule(&self) -> Option<(&'static Rule, Standing)> {
        self.by_parent.standing_of_rule
    }

    /// The actors that its code waits for: those that it has asked and whose answers it awaits. Known in builds
    /// with debug assertions and with the features `observe` and `testkit`, as rule
    /// [19.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.7) says;
    /// otherwise none.
    pub fn waits_for(&self) -> Vec<AnyActorRef> {
        self.actor.core().waits_for()
    }

    /// Its strategy and the rules of its table, as the attribute would write them, a line for each rule.
    pub fn policy(&self) -> (String, Vec<String>) {
        policy(self.actor.core().description())
    }

    /// How many failures there were in a row (rule [10.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.6)).
    pub fn attempt(&self) -> u32 {
        self.by_parent.attempt
    }

    /// When it will be restarted, as the time since the system began, if it waits for a delayed restart. Siblings that restart
    /// together have the same time.
    pub fn due(&self) -> Option<Time> {
        self.by_parent.due
    }

    /// Its last failure, if the log or a subscriber received it, and if the actor is among the last 4096 that
    /// failed.
    pub fn last_failure(&self) -> Option<LastFailure> {
        let core = self.actor.core();
        core.system.observer().last_failure(core.uid)
    }
}

/// The children of one actor that are still to be looked at.
struct Level {
    parent: AnyActorRef,
    strategy: Strategy,
    /// The rules with a limit of their own.
    limited: Vec<&'static Rule>,
    slice: vec::IntoIter<(AnyActorRef, ByParent)>,
    /// The child with which the next slice begins. `None` if this slice was the last.
    next: Option<ChildId>,
}

impl Level {
    fn below(parent: AnyActorRef) -> Self {
        let description = parent.core().description();
        let strategy = description.strategy();
        let limited = match description.table() {
            DeciderTable::Rules(rules) => rules.iter().filter(|rule| has_own_limit(rule)).collect(),
            _ => Vec::new(),
        };
        Self { parent, strategy, limited, slice: Vec::new().into_iter(), next: Some(ChildId(0)) }
    }

    fn next_child(&mut self, now: Time) -> Option<(AnyActorRef, ByParent)> {
        loop {
            if let Some(child) = self.slice.next() {
                return Some(child);
            }
            self.take_slice(self.next?, now);
        }
    }

    fn take_slice(&mut self, from: ChildId, now: Time) {
        let mut slice = Vec::new();
        let mut last = None;
        let protocol = self.parent.core().protocol();
        let known = |id| ByParent {
            restarts: protocol.restarts_in_all(id),
            attempt: protocol.failures_in_row(id),
            standing: protocol.standing(id, &self.strategy, now),
            standing_of_rule: nearest(&self.limited, |directive| {
                protocol.standing_of_rule(id, &self.strategy, directive, false, now)
            }),
            due: protocol.due(id),
        };
        // Most children are new.
        let mut known_of_new = None;
        for (id, child, is_new) in protocol.some_children(from, SLICE) {
            last = Some(id);
            let known = if is_new { known_of_new.get_or_insert_with(|| known(id)).clone() } else { known(id) };
            slice.push((child.clone(), known));
        }
        drop(protocol);
        self.next = last.filter(|_| slice.len() == SLICE).map(|last| ChildId(last.0 + 1));
        self.slice = slice.into_iter();
    }
}

fn has_own_limit(rule: &Rule) -> bool {
    rule.configured.is_none() && rule.directive.is_some_and(|directive| directive.is_limited())
}

/// The rule of which the fewest restarts are left.
fn nearest(
    rules: &[&'static Rule],
    standing: impl Fn(&Directive) -> Option<Standing>,
) -> Option<(&'static Rule, Standing)> {
    let known = rules.iter().filter_map(|rule| Some((*rule, standing(rule.directive.as_ref()?)?)));
    known.min_by_key(|(_, standing)| standing.of.saturating_sub(standing.used))
}

impl ActorSystem {
    /// Looks at each actor, each before its children. `look` is called with no lock held.
    ///
    /// All actors continue to run. What a look shows is true for the moment at which that actor is looked at. An actor that
    /// starts or ends meanwhile may be left out. A look delays an actor by no more than the time to list 1024 children. It runs
    /// no code of an actor, and sends no message
    /// (rule [10.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.8)).
    pub fn look(&self, mut look: impl FnMut(&Glimpse)) {
        let now = self.core().now();
        let mut levels: Vec<Level> = Vec::new();
        let mut next = Some((self.core().root(), ByParent::default()));
        loop {
            if let Some((actor, by_parent)) = next.take()
                && let Some(glimpse) = glimpse(actor, levels.len(), by_parent)
            {
                look(&glimpse);
                // Most actors have none.
                if glimpse.has_children {
                    levels.push(Level::below(glimpse.actor));
                }
            }
            let Some(level) = levels.last_mut() else { return };
            next = level.next_child(now);
            if next.is_none() {
                levels.pop();
            }
        }
    }
}

/// What is seen of an actor. `None` if it has ended.
fn glimpse(actor: AnyActorRef, depth: usize, by_parent: ByParent) -> Option<Glimpse> {
    let (state, parked, has_children) = {
        let protocol = actor.core().protocol();
        if protocol.has_ended() {
            return None;
        }
        (NodeState::of(&protocol), protocol.handler_is_parked(), protocol.children().next().is_some())
    };
    let vitals = actor.0.vitals();
    Some(Glimpse { actor, depth, state, parked, has_children, vitals, by_parent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::{Actor, ActorRef, Context, Props, Supervisor};
    use crate::failure::Failure;
    use crate::mailbox::{MailboxKind, Overflow};

    struct Plain;

    impl Supervisor for Plain {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Plain {
        type Message = ();

        async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
            std::future::pending().await
        }
    }

    fn seen(system: &ActorSystem, path: &str) -> Vec<Glimpse> {
        let mut found = Vec::new();
        system.look(|glimpse| {
            if glimpse.actor().path().to_string().ends_with(path) {
                found.push(glimpse.clone());
            }
        });
        found
    }

    /// CON-03: a list of children is read by slices, and none is missed or seen twice.
    #[tokio::test]
    async fn each_child_is_seen_once_however_many_there_are() {
        let system = ActorSystem::new("many");
        for more in [0, 1, SLICE - 3, 1, 1, SLICE, SLICE + 7] {
            for _ in 0..more {
                system.spawn_anonymous(|| Plain).expect("a running system");
            }
            let mut looked = Vec::new();
            system.look(|glimpse| looked.push(glimpse.actor().path().to_string()));
            assert_eq!(
                looked,
                system.tree().nodes().map(|node| format!("supervise://many{}", node.path())).collect::<Vec<_>>()
            );
        }
        system.terminate().await;
    }

    /// CON-03: however many children there are, their parent is locked only while one slice of them is read.
    #[tokio::test]
    async fn con_03_no_slice_is_longer_than_another() {
        let system = ActorSystem::new("slices");
        for _ in 0..3 * SLICE + 7 {
            system.spawn_anonymous(|| Plain).expect("a running system");
        }
        let parent = seen(&system, "/user").remove(0).actor;
        let mut level = Level::below(parent);
        let mut slices = Vec::new();
        while let Some(from) = level.next {
            level.take_slice(from, Time::ZERO);
            slices.push(level.slice.len());
        }
        assert_eq!(slices, [SLICE, SLICE, SLICE, 7]);
        system.terminate().await;
    }

    /// CON-06, CON-10: a handler at an await point is parked; what was handled is the difference of two numbers.
    #[tokio::test]
    async fn a_handler_that_waits_is_parked_and_what_waits_behind_it_is_counted() {
        let system = ActorSystem::new("parked");
        let actor = system.spawn("plain", || Plain).expect("a free name");
        while !seen(&system, "/user/plain").iter().any(|plain| plain.state() == NodeState::Running) {
            tokio::task::yield_now().await;
        }
        let [idle] = &seen(&system, "/user/plain")[..] else { panic!("it is there") };
        assert_eq!((idle.capacity(), u64::from(idle.uid()).to_string()), (None, idle.uid().to_string()));
        let room = MailboxKind::Bounded { capacity: 7, overflow: Overflow::Fail };
        system.spawn_with("narrow", Props::new(|| Plain).mailbox(room)).expect("a free name");
        assert_eq!(seen(&system, "/user/narrow")[0].capacity(), Some(7));
        assert!(!idle.is_parked() && idle.pushed() == 0, "{idle:?}");
        for _ in 0..3 {
            actor.tell(()).expect("it runs");
        }
        while !seen(&system, "/user/plain").iter().any(Glimpse::is_parked) {
            tokio::task::yield_now().await;
        }
        let [busy] = &seen(&system, "/user/plain")[..] else { panic!("it is there") };
        assert!(busy.is_handling() && busy.state() == NodeState::Running);
        assert_eq!((busy.pushed(), busy.waiting(), busy.restarts(), busy.due()), (3, 2, 0, None));
    }
}
