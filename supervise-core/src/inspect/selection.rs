//! Finding actors by path, one or many. What a path's text means is in `pattern`.
//!
//! A search goes down from the root, or from where one stands, one step an element; it takes the lock of one actor at a
//! time. What it finds was there when it was looked at, and may end at any moment: the refs stay what they are.
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
    /// The actor at a path, if one is there now. It may be ending, it has not ended.
    ///
    /// The path is an [`ActorPath`], or a text like `/user/a/b`. With `#uid` behind it, as a ref prints itself, only
    /// that incarnation is found. `..` is the parent, a slash at the end means nothing. A text that is not a path finds
    /// nobody.
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

    /// All actors whose paths match: `/user/*/worker-?`. In each element `*` stands for any text, `?` for one
    /// character; a text that begins without a slash begins at the root all the same.
    ///
    /// # Errors
    ///
    /// If the text cannot be a selection; it says where. Selecting nobody is not an error.
    pub fn select(&self, pattern: impl AsRef<str>) -> Result<Selection, InvalidSelection> {
        Selection::new(self.core().root(), pattern.as_ref())
    }
}

impl<A: Actor> Context<A> {
    /// Like [`ActorSystem::find`], but a path without a slash in front begins here: `child`, `../sibling`.
    pub fn find(&self, path: impl AsRef<str>) -> Option<AnyActorRef> {
        find(&self.me_any(), path.as_ref())
    }

    /// Like [`ActorSystem::select`], but a path without a slash in front begins here: `*`, `../worker-?`.
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

/// `None` in a system that is not this one.
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

/// The actors whose paths match a pattern, whenever one asks. Cheap to clone.
///
/// Made by [`ActorSystem::select`] and [`Context::select`].
#[derive(Clone)]
pub struct Selection {
    here: AnyActorRef,
    pattern: Arc<Pattern>,
}

/// What a selection found.
struct Found {
    actors: Vec<AnyActorRef>,
    /// A wildcard had several matches. Whoever sends to several actors does not expect each path to exist.
    crowd: bool,
}

impl Selection {
    fn new(here: AnyActorRef, pattern: &str) -> Result<Self, InvalidSelection> {
        Pattern::parse(pattern).map(|pattern| Self { here, pattern: Arc::new(pattern) })
    }

    /// The actors that match now, in the order in which they were started. Those that have ended are left out.
    pub fn identify(&self) -> Vec<AnyActorRef> {
        self.search().actors
    }

    /// Of the actors that match, those of one type.
    pub fn of<A: Actor>(&self) -> SelectionOf<A> {
        SelectionOf { selection: self.clone(), actor: PhantomData }
    }

    fn search(&self) -> Found {
        let mut found = Found { actors: Vec::from_iter(begin(&self.here, &self.pattern.origin)), crowd: false };
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

    /// The selected path, from the root down, wildcards as they were written.
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

/// The actors of type `A` whose paths match a pattern, whenever one asks.
///
/// Made by [`Selection::of`].
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

    /// Tells each actor that matches now the request that is made for it, and answers how many took it:
    /// `feeds.tell(FeedRef::refresh)`, `feeds.tell(|feed| feed.fetch(17))`.
    ///
    /// If nobody matches, the message becomes a dead letter to the selected path; unless a wildcard matched several
    /// actors on the way, whose missing children are nobody's concern. A message that a full mailbox refuses becomes a
    /// dead letter too.
    pub fn tell<T: Send + 'static>(
        &self,
        mut request: impl for<'a> FnMut(&'a RefOf<A>) -> Request<'a, A, T>,
    ) -> usize {
        let Found { actors, crowd } = self.selection.search();
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

    /// There is nobody to make the request for, but it has to be made to know what it would have said.
    fn miss<T: Send + 'static>(&self, request: &mut impl for<'a> FnMut(&'a RefOf<A>) -> Request<'a, A, T>) {
        let system = &self.selection.here.core().system;
        let nobody = RefOf::<A>::from(Cell::nobody(system, ""));
        let message = request(&nobody).into_message();
        let lost = Lost::new(A::message_name(&message), DeadLetterReason::NotFound, false);
        system.dead_letter(|| self.selection.path(), lost);
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
