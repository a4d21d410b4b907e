//! Traits whose names and messages make rustc say how to fix a program.

/// An actor has one `#[actor] impl` block, which writes this impl. rustc's error about a second block names the trait: move its handlers
/// to the first block, and methods that are not handlers to an `impl` block without the attribute.
pub trait AllHandlersStandInOneImplBlock {}

/// The bound on a ref's methods for methods of the actor that are not handlers. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "only handlers can be called through a `{Self}`",
    label = "the actor's method of this name has no `#[handler]`",
    note = "write `#[handler]` above the method in the `#[actor] impl` block; the call then asks the actor, and `.await` gives the reply"
)]
pub trait HasHandlerAttribute<'call> {}
