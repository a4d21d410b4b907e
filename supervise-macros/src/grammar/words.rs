//! The words. Where `supervise` has an enum of the same meaning, the enum here has its name and the names of its variants.

words! {
    /// The parts of `#[supervise(..)]`, apart from the strategy.
    Part, "strategy or setting", parts_list {
        "on" => Rule: "`on(PATTERN) = DIRECTIVE` says what to do about a failure. `on(A | B)` does it for both, and `on(A if |error| error.is_short())` only if the guard says so. The first rule that matches decides. There is at least one rule, unless there is a decider or a table of another type.",
        "decider" => Decider: "`decider = path::to::function` decides in place of rules: `fn(&Failure, &ChildInfo) -> Result<Directive, Failure>`. The compiler does not see what it decides or escalates, so the table of the parent needs `on(_)`.",
        "table" => Table: "`table = Storage` uses the strategy and the rules of another type, and excludes all other settings. A shared table is a unit struct: `#[supervise(..)] struct Storage;`.",
        "crate" => Crate: "`crate = path::to::supervise`, if this crate was renamed. Only for a shared table; for an actor, write it in `#[actor(..)]`.",
    }

    /// The strategies: which children a failure affects.
    // Erlang's and Akka's names.
    #[allow(clippy::enum_variant_names)]
    Scope, "strategy", scopes_list {
        "one_for_one" => OneForOne: "A failure affects the failed child only.",
        "all_for_one" => AllForOne: "A failure affects all children.",
        "rest_for_one" => RestForOne: "A failure affects the failed child and the children that started after it.",
    }

    /// What to do about a failed child.
    Directive, "directive", directives_list {
        "Resume" => Resume: "The child goes on with its state and its next message.",
        "Restart" => Restart: "A new instance replaces the failed one. `Restart(backoff(..))` waits first.",
        "Stop" => Stop: "The child stops.",
        "Escalate" => Escalate: "The supervisor fails with the child's failure, and its own supervisor decides.",
        "Default" => Default: "The child stops if it was killed or broke a death pact; otherwise it restarts.",
    }

    /// Patterns that are not types.
    FailureKind, "kind of failure", failure_kinds_list {
        "Panic" => Panic: "The child panicked.",
        "Killed" => Killed: "The child was killed.",
        "DeathPact" => DeathPact: "An actor that the child watches ended, and the child does not handle that.",
        "InitializationFailed" => InitializationFailed: "The child could not start.",
    }

    /// How a window moves.
    Window, "window", windows_list {
        "tumbling" => Tumbling: "A window opens at a failure. The count starts again at the first failure after its end.",
        "sliding" => Sliding: "The window is always the time before the current failure.",
    }

    /// What happens when the strategy refuses a restart.
    OnLimit, "answer", on_limit_list {
        "Stop" => Stop: "The affected children stop.",
        "Escalate" => Escalate: "The supervisor fails.",
    }

    /// Whose restarts count towards the limit.
    Count, "count", counts_list {
        "child" => Child: "Each child has its own count.",
        "supervisor" => Supervisor: "All children share one count.",
    }

    /// Which ends of significant children end the parent.
    AutoShutdown, "shutdown", shutdowns_list {
        "any_significant" => AnySignificant: "The parent stops as soon as one significant child ends by itself.",
        "all_significant" => AllSignificant: "The parent stops when a significant child ends by itself and no other one is left.",
    }

    /// How decisions are logged.
    LogLevel, "log level", log_levels_list {
        "off" => Off: "Not at all.",
        "error" => Error: "As errors.",
        "warn" => Warn: "As warnings.",
        "info" => Info: "As information.",
        "debug" => Debug: "For debugging.",
        "trace" => Trace: "For tracing.",
    }

    /// How a delay grows.
    Growth, "backoff", backoffs_list {
        "backoff" => Exponential: "`backoff(min = \"100ms\", max = \"10s\")` doubles the delay.",
        "linear_backoff" => Linear: "`linear_backoff(window = \"10s\", initial = \"100ms\")` adds `initial` to the delay each time.",
    }

    /// What restarts a declared child.
    RestartType, "restart type", restart_types_list {
        "transient" => Transient: "The table decides after a failure. A normal end is final.",
        "permanent" => Permanent: "The table decides after a failure. After a normal end the child starts again, which counts towards the limit.",
        "temporary" => Temporary: "Nothing. A directive that would restart the child stops it.",
    }

    /// The mailboxes.
    MailboxKind, "mailbox", mailboxes_list {
        "unbounded" => Unbounded: "Takes any number of messages.",
        "bounded" => Bounded: "`bounded(1000)` holds at most 1000 waiting messages.",
        "durable" => Durable: "Messages are stored before they are handled, and survive the process. With the feature `durable`; see `docs::durable`.",
    }

    /// What happens when a bounded mailbox is full.
    Overflow, "overflow", overflows_list {
        "fail" => Fail: "The sender gets the message back.",
        "drop_newest" => DropNewest: "The new message becomes a dead letter.",
        "drop_oldest" => DropOldest: "The oldest waiting message becomes a dead letter.",
    }

    /// What a method of an actor's impl block is for.
    Role, "attribute", roles_list {
        "handler" => Handler: "`fn` or `async fn`, `&self` or `&mut self`, any parameters, and `ctx: &mut Context<Self>` if wanted. Handles one kind of message. The return value is the reply; an `Err` fails the actor.",
        "pre_start" => PreStart: "`(&mut self, ctx)`. Runs before the first message.",
        "post_stop" => PostStop: "`(&mut self, ctx)`. Runs after the last message.",
        "pre_restart" => PreRestart: "`(&mut self, ctx, cause: &Failure, message: Option<..Message>)`. Runs on the old instance before a restart. Without it, the children stop and `post_stop` runs.",
        "post_restart" => PostRestart: "`(&mut self, ctx, cause: &Failure)`. Runs on the new instance after a restart. Without it, `pre_start` runs.",
        "watch" => Watch: "`(&mut self, gone: Terminated<A>, ctx)`, or `gone: Terminated` for any type. Runs when a watched actor has ended.",
        "stash_while" => StashWhile: "`(&self, message: &..Message) -> bool`. Runs before each message. `true` sets the message aside. The method runs again for such a message after each further message.",
    }
}
