//! Finding actors by path, one or many. `pattern` defines what a path's text means.
//!
//! A search begins at the root or at the searching actor, and takes one step for each element of the path. It locks one
//! actor at a time. The actors that it finds may end at any moment; their refs then behave like all refs to ended
//! actors.
//!
//! Rule 16.1.

mod pattern;

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::actor::{
    Actor, ActorRef, ActorSystem, AnyActorRef, Cell, Context, RefOf, Request, SendErrorReason, TypedRef,
};
use crate::base::ActorPath;
use crate::observe::{DeadLetterReason, Lost};

pub use pattern::InvalidSelection;
use pattern::{Address, Origin, Pattern, Step};

impl ActorSystem {
    /// The actor at a path, if there is one now. It may be stopping, but it has not ended.
    ///
    /// The path is an [`ActorPath`], or a text like `/user/a/b`. With `#uid` at the end, as a ref prints itself, it
    /// finds only that incarnation. `..` is the parent, and a slash at the end has no effect. A text that is not a path
    /// finds no actor.
    ///
    /// ```
    /// # use supervise_core::ActorSystem;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let system = ActorSystem::new("house");
    /// let user = system.find("/user").expect("every system has one");
    /// assert_eq!(system.find(user.path()), Some(user.clone()));
    /// assert_eq!(system.find(user.to_string()), Some(user), "this very incarnation");
    /// assert_eq!(system.find("/user/nobody"), None);
    /// # }
    /// ```
    pub fn find(&self, path: impl AsRef<str>) -> Option<AnyActorRef> {
        find(&self.core().root(), path.as_ref())
    }

    /// All actors whose paths match: `/user/*/worker-?`. In each element `*` matches any text, and `?` one character. A
    /// text without a slash in front also begins at the root.
    ///
    /// # Errors
    ///
    /// If the text is not a valid selection; the error says where. A selection that matches no actor is not an error.
    pub fn select(&self, pattern: impl AsRef<str>) -> Result<Selection, InvalidSelection> {
        Selection::new(self.core().root(), pattern.as_ref())
    }
}

impl<A: Actor> Context<A> {
    /// Like [`ActorSystem::find`], but a path without a slash in front begins at this actor: `child`, `../sibling`.
    pub fn find(&self, path: impl AsRef<str>) -> Option<AnyActorRef> {
        find(&self.me_any(), path.as_ref())
    }

    /// Like [`ActorSystem::select`], but a path without a slash in front begins at this actor: `*`, `../worker-?`.
    ///
    /// # Errors
    ///
    /// As [`ActorSystem::select`].
    pub fn select(&self, pattern: impl AsRef<str>) -> Result<Selection, InvalidSelection> {
        Selection::new(self.me_any(), pattern.as_ref())
    }
}

fn find(here: &AnyActorRef, path: &str) -> Option<AnyActorRef> {
    let address = Address::new(path);
    let mut found = begin(here, &address.origin)?;
    for element in address.elements() {
        found = if element == ".." { above(&found) } else { child(&found, element)? };
    }
    Some(found).filter(|found| address.means(found.uid()) && !found.has_ended())
}

/// Where the search begins. `None` if the path names another system.
fn begin(here: &AnyActorRef, origin: &Origin<impl AsRef<str>>) -> Option<AnyActorRef> {
    let system = &here.core().system;
    match origin {
        Origin::Here => Some(here.clone()),
        Origin::RootOf(name) if name.as_ref() != system.name() => None,
        Origin::Root | Origin::RootOf(_) => Some(system.root()),
    }
}

fn child(parent: &AnyActorRef, name: &str) -> Option<AnyActorRef> {
    parent.core().protocol().child_named(name).cloned()
}

/// The root's parent is the root.
fn above(child: &AnyActorRef) -> AnyActorRef {
    child.core().parent.as_ref().unwrap_or(child).clone()
}

/// A pattern of paths. Each call evaluates it against the current tree. Cheap to clone.
///
/// [`ActorSystem::select`] and [`Context::select`] make it.
#[derive(Clone)]
pub struct Selection {
    here: AnyActorRef,
    pattern: Arc<Pattern>,
}

/// What a selection found.
struct SearchResult {
    actors: Vec<AnyActorRef>,
    /// Whether a wildcard had several matches. Then it is not an error if some of the paths do not exist.
    crowd: bool,
}

impl Selection {
    fn new(here: AnyActorRef, pattern: &str) -> Result<Self, InvalidSelection> {
        Pattern::parse(pattern).map(|pattern| Self { here, pattern: Arc::new(pattern) })
    }

    /// The actors that match now, in the order in which they were started, without those that have ended.
    pub fn identify(&self) -> Vec<AnyActorRef> {
        self.search().actors
    }

    /// The same selection, restricted to actors of one type.
    pub fn of<A: Actor>(&self) -> SelectionOf<A> {
        SelectionOf { selection: self.clone(), actor: PhantomData }
    }

    fn search(&self) -> SearchResult {
        let mut found =
            SearchResult { actors: Vec::from_iter(begin(&self.here, &self.pattern.origin)), crowd: false };
        for step in &self.pattern.steps {
            match step {
                Step::Up => {
                    let mut seen = HashSet::new();
                    found.actors = found.actors.iter().map(above).filter(|it| seen.insert(it.clone())).collect();
                }
                Step::Named(name) => {
                    found.actors = found.actors.iter().filter_map(|parent| child(parent, name)).collect();
                }
                Step::Like(glob) => {
                    let mut matching = Vec::new();
                    for parent in &found.actors {
                        let protocol = parent.core().protocol();
                        matching.extend(
                            protocol
                                .children()
                                .map(|(_, child)| child)
                                .filter(|it| glob.matches(it.name()))
                                .cloned(),
                        );
                    }
                    found.actors = matching;
                    found.crowd |= found.actors.len() > 1;
                }
            }
        }
        let wanted = self.pattern.uid;
        found.actors.retain(|actor| wanted.is_none_or(|uid| actor.uid() == uid) && !actor.has_ended());
        found
    }

    /// The selected path, from the root down, with its wildcards.
    fn path(&self) -> ActorPath {
        let own = self.here.core().system.name();
        let (system, from) = match &self.pattern.origin {
            Origin::Here => (own, Some(self.here.path())),
            Origin::Root => (own, None),
            Origin::RootOf(name) => (&**name, None),
        };
        let mut elements: Vec<&str> = from.iter().flat_map(ActorPath::elements).collect();
        for step in &self.pattern.steps {
            match step {
                Step::Up => drop(elements.pop()),
                Step::Named(_) | Step::Like(_) => elements.push(step.text()),
            }
        }
        ActorPath::from_elements(system, elements.into_iter())
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Selection").field(&self.path()).finish()
    }
}

/// A pattern of paths, restricted to actors of type `A`. Each call evaluates it against the current tree.
///
/// [`Selection::of`] makes it.
pub struct SelectionOf<A> {
    selection: Selection,
    actor: PhantomData<fn() -> A>,
}

impl<A: Actor> SelectionOf<A> {
    /// The actors that match now.
    pub fn identify(&self) -> Vec<RefOf<A>> {
        self.typed().map(RefOf::<A>::from).collect()
    }

    fn typed(&self) -> impl Iterator<Item = ActorRef<A>> {
        self.selection.identify().into_iter().filter_map(|actor| actor.downcast::<A>())
    }

    /// Makes one request for each actor that matches now, tells it, and returns how many actors accepted it:
    /// `feeds.tell(FeedRef::refresh)`, `feeds.tell(|feed| feed.fetch(17))`.
    ///
    /// If no actor matches, the message becomes a dead letter to the selected path. It does not if a wildcard matched
    /// several actors on the way, because not each of them must have such a child. A message that a full mailbox
    /// refuses becomes a dead letter too.
    pub fn tell<T: Send + 'static>(
        &self,
        mut request: impl for<'a> FnMut(&'a RefOf<A>) -> Request<'a, A, T>,
    ) -> usize {
        let SearchResult { actors, crowd } = self.selection.search();
        let actors: Vec<_> = actors.iter().filter_map(AnyActorRef::downcast::<A>).map(RefOf::<A>::from).collect();
        if actors.is_empty() && !crowd {
            self.miss(&mut request);
        }
        let mut told = 0;
        for actor in &actors {
            match request(actor).tell() {
                Ok(()) => told += 1,
                Err(refused) => {
                    if refused.reason() == SendErrorReason::MailboxFull {
                        let message = refused.into_message();
                        let core = actor.actor_ref().core();
                        core.dead_letter(A::message_name(&message), DeadLetterReason::MailboxFull);
                    }
                }
            }
        }
        told
    }

    /// No actor exists for the request, but the dead letter needs the name of its message.
    fn miss<T: Send + 'static>(&self, request: &mut impl for<'a> FnMut(&'a RefOf<A>) -> Request<'a, A, T>) {
        let system = &self.selection.here.core().system;
        let nobody = RefOf::<A>::from(Cell::nobody(system, ""));
        let message = request(&nobody).into_message();
        let lost = Lost::new(A::message_name(&message), DeadLetterReason::NotFound, false);
        system.dead_letter(|| (self.selection.path(), None), lost);
    }
}

impl<A> Clone for SelectionOf<A> {
    fn clone(&self) -> Self {
        Self { selection: self.selection.clone(), actor: PhantomData }
    }
}

impl<A> fmt::Debug for SelectionOf<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.selection, f)
    }
}
