//! Traits whose names and messages make rustc say how to fix a program.

use std::marker::PhantomData;

use crate::actor::Child;

/// An actor with type parameters that any thread can run. The bounds of each impl say so.
pub trait RunsOnAnyThread {}

/// Requires that an actor with type parameters can move between threads. rustc proposes the bound to add, and shows the line with the
/// comment.
#[derive(Debug)]
pub struct MovesBetweenThreads<A>(PhantomData<A>)
where
    A: Send + 'static; // add `Send + 'static` to the bounds of the actor's type parameters

/// The bound on a ref's methods for methods of the actor that are not handlers. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "only handlers can be called through the ref `{Self}`",
    label = "the actor's method of this name has no `#[handler]`",
    note = "write `#[handler]` above the method in the `#[actor] impl` block; the call then asks the actor, and `.await` gives the reply"
)]
pub trait HasHandlerAttribute<'call> {} // write `#[handler]` above the method

/// A child of this actor may stand in a field for a `C`.
#[diagnostic::on_unimplemented(
    message = "the field holds the actor `{C}`, but its factory makes `{Self}`",
    label = "this factory makes `{Self}`",
    note = "let the factory make a `{C}`, `|_| || {C} {{ .. }}`, or make the field a `Child<{Self}>`"
)]
pub trait Fills<C: 'static>: Sized {
    /// The same field.
    fn field(child: &mut Child<C>) -> &mut Child<Self>;
}

#[diagnostic::do_not_recommend]
impl<A: 'static> Fills<A> for A {
    fn field(child: &mut Child<A>) -> &mut Child<A> {
        child
    }
}
