//! What an actor's type declares, as data that does not mention the type.

use std::any::{TypeId, type_name};
use std::fmt;

use crate::actor::cell::Visit;
use crate::actor::definition::{Actor, Supervisor};
use crate::supervision::{ChildSpec, Directive, Strategy};

/// A decider table as data, for people and tools. Only [`Supervisor::decide`] decides what happens after a failure.
///
/// `#[supervise]` writes it from its rules. Nothing checks that a table written by hand agrees with `decide`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum DeciderTable {
    /// The [default decider](crate::default_decider) decides.
    Default,
    /// The first rule that matches decides. A failure that matches no rule escalates.
    Rules(&'static [Rule]),
    /// A function decides. This is its name in the attribute.
    Function(&'static str),
    /// A function decides that was passed when the actor was spawned, to
    /// [`Props::supervision_unchecked`](crate::Props::supervision_unchecked) or
    /// [`ActorSystemBuilder::guardian_unchecked`](crate::ActorSystemBuilder::guardian_unchecked).
    AtRunTime,
}

impl DeciderTable {
    /// What matched, in a word, if the table names it by `place`: the pattern of the rule, `default` for the default decider, the name
    /// of a function. `None`: no rule matched, or the decider was passed at run time.
    pub(crate) fn rule_named(&self, place: Option<u16>) -> Option<&'static str> {
        match *self {
            Self::Default => Some("default"),
            Self::Rules(rules) => rules.get(usize::from(place?)).map(|rule| rule.pattern),
            Self::Function(name) => Some(name),
            Self::AtRunTime => None,
        }
    }
}

/// One rule of a [`DeciderTable`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// What fails, as the attribute says it: `io::Error`, `DbError::Timeout if |e| e.is_first()`, `Panic`, `_`.
    pub pattern: &'static str,
    /// The answer. `None`: the [default decider](crate::default_decider) decides.
    pub directive: Option<Directive>,
    /// The answer as the attribute writes it, if its values depend on the supervisor's instance.
    pub configured: Option<&'static str>,
}

impl Rule {
    /// A rule that answers a failure that matches `pattern` with `directive`.
    pub const fn new(pattern: &'static str, directive: Directive) -> Self {
        Self { pattern, directive: Some(directive), configured: None }
    }

    /// A rule that answers a failure that matches `pattern` with `directive`, whose values depend on the supervisor's instance.
    /// `text` is how the attribute writes them.
    pub const fn configured(pattern: &'static str, directive: Directive, text: &'static str) -> Self {
        Self { pattern, directive: Some(directive), configured: Some(text) }
    }

    /// A rule that leaves a failure that matches `pattern` to the [default decider](crate::default_decider).
    pub const fn by_default(pattern: &'static str) -> Self {
        Self { pattern, directive: None, configured: None }
    }
}

/// An actor's type as a value, through which its declarations can be read without naming the type.
#[derive(Clone, Copy)]
pub struct ActorType(fn() -> &'static TypeDescription);

/// What a type declares.
struct TypeDescription {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    answers_to: fn(TypeId) -> bool,
    strategy: Strategy,
    configured: Option<&'static str>,
    table: DeciderTable,
    children: &'static [ChildSpec],
    child_types: &'static [ActorType],
    handlers: &'static [&'static str],
    at_drain: Option<fn() -> Visit>,
    repeats: bool,
}

const fn supervisor_of<A: Supervisor>() -> TypeDescription {
    TypeDescription {
        id: TypeId::of::<A>,
        name: type_name::<A>,
        answers_to: A::answers_to,
        strategy: A::STRATEGY,
        configured: A::CONFIGURED,
        table: A::TABLE,
        children: A::CHILDREN,
        child_types: A::CHILD_TYPES,
        handlers: &[],
        at_drain: None,
        repeats: false,
    }
}

fn describe<A: Supervisor>() -> &'static TypeDescription {
    const { &supervisor_of::<A>() }
}

fn describe_running<A: Actor>() -> &'static TypeDescription {
    #[cfg(feature = "durable")]
    const fn repeats<A: Actor>() -> bool {
        A::REDELIVERS || A::DURABLE.is_some()
    }

    #[cfg(not(feature = "durable"))]
    const fn repeats<A: Actor>() -> bool {
        A::REDELIVERS
    }

    const {
        &TypeDescription {
            handlers: A::HANDLERS,
            at_drain: A::AT_DRAIN,
            repeats: repeats::<A>(),
            ..supervisor_of::<A>()
        }
    }
}

impl ActorType {
    /// The type `A`.
    pub const fn of<A: Supervisor>() -> Self {
        // A function instead of a reference, because types may declare each other as children.
        Self(describe::<A>)
    }

    fn description(self) -> &'static TypeDescription {
        (self.0)()
    }

    pub(crate) fn id(self) -> TypeId {
        (self.description().id)()
    }

    pub(crate) fn declared_children(self) -> impl DoubleEndedIterator<Item = (ChildSpec, ActorType)> {
        let TypeDescription { children, child_types, .. } = self.description();
        children.iter().copied().zip(child_types.iter().copied())
    }
}

impl PartialEq for ActorType {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for ActorType {}

impl fmt::Debug for ActorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActorType").field(&(self.description().name)()).finish()
    }
}

/// What an actor was made of: its type, and the settings that replaced the type's when it was spawned.
#[derive(Debug, Clone)]
pub(crate) struct ActorDescription {
    of: ActorType,
    policy: Option<Box<(Strategy, DeciderTable)>>,
}

impl From<ActorType> for ActorDescription {
    fn from(of: ActorType) -> Self {
        Self { of, policy: None }
    }
}

impl ActorDescription {
    pub(crate) fn of<A: Supervisor>() -> Self {
        Self::from(ActorType::of::<A>())
    }

    /// The description of a running actor, with the names of its handlers.
    pub(crate) fn running<A: Actor>() -> Self {
        Self::from(ActorType(describe_running::<A>))
    }

    pub(crate) fn handlers(&self) -> &'static [&'static str] {
        self.of.description().handlers
    }

    /// Whether a message that fails may be delivered again.
    pub(crate) fn repeats(&self) -> bool {
        self.of.description().repeats
    }

    /// What the actor does at the end of a drain, if it does not just stop.
    pub(crate) fn at_drain(&self) -> Option<Visit> {
        self.of.description().at_drain.map(|visit| visit())
    }

    /// The same description with another strategy and table than the type's, if `policy` is given.
    pub(crate) fn supervising(self, policy: Option<(Strategy, DeciderTable)>) -> Self {
        Self { policy: policy.map(Box::new), ..self }
    }

    /// Whether refs of the type `actor` reach such an actor.
    pub(crate) fn answers_to(&self, actor: TypeId) -> bool {
        (self.of.description().answers_to)(actor)
    }

    pub(crate) fn is(&self, actor: ActorType) -> bool {
        self.of == actor
    }

    pub(crate) fn type_name(&self) -> &'static str {
        (self.of.description().name)()
    }

    pub(crate) fn strategy(&self) -> Strategy {
        self.policy.as_ref().map_or(self.of.description().strategy, |policy| policy.0)
    }

    /// The strategy as its attribute writes it, if it depends on the instance.
    pub(crate) fn configured(&self) -> Option<&'static str> {
        if self.policy.is_some() { None } else { self.of.description().configured }
    }

    pub(crate) fn table(&self) -> DeciderTable {
        self.policy.as_ref().map_or(self.of.description().table, |policy| policy.1)
    }

    pub(crate) fn declared_child(&self, name: &str) -> Option<ChildSpec> {
        self.of.description().children.iter().find(|spec| spec.name == name).copied()
    }
}
