//! What makes an actor's instances.

/// Makes the instances of an actor: the first one, and one more for each restart. Every closure without parameters that can run
/// more than once is a factory.
///
/// This is a trait, and not just `FnMut() -> B`, so that rustc can say why a closure that runs only once is not enough.
#[diagnostic::on_unimplemented(
    message = "a factory must be a closure that can run again, because it runs at each restart",
    label = "this can run only once, or it is not a closure",
    note = "a closure that moves a captured value into the actor can run only once: if the value is `Clone`, clone it inside, `move || Writer {{ config: config.clone() }}`",
    note = "if the value is not `Clone`, such as a socket: write `ctx.spawn_once(name, Connection {{ socket }})` in a method with the parameter `ctx: &mut Context<Self>` of an actor whose rules all say `Resume`, `Stop` or `Escalate`",
    note = "an actor is not a factory: write `|| Writer::new()` for `Writer::new()`, or `let size = self.size; move || Writer::new(size)` for `Writer::new(self.size)`; nor is a pool: write `ctx.spawn_with(name, pool.props())` in a method with that parameter"
)]
pub trait Factory {
    /// What the factory returns: an actor or a `Result` of one, see [`Built`](crate::Built).
    type Product;

    /// Makes an instance.
    fn make(&mut self) -> Self::Product;
}

// Without this, rustc reports that the closure is not an `FnMut`, in place of the message above.
#[diagnostic::do_not_recommend]
impl<B, F: FnMut() -> B> Factory for F {
    type Product = B;

    fn make(&mut self) -> B {
        self()
    }
}
