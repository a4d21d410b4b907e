//! The arguments. A row has the name (or several), the field and its type, the function that reads it, an example, and the meaning.
//! The last column is the list of the words that may be the value.

use std::time::Duration;

use proc_macro2::Ident;
use syn::{LitStr, Path, Visibility};

use super::words::{AutoShutdown, Count, OnLimit, Overflow, RestartType, Window};
use crate::block::model::Remote;
use crate::block::parse::batch::size;
use crate::block::parse::handler::redeliveries;
use crate::block::parse::implements::implements;
use crate::block::parse::message::{derives, message, name, visibility};
use crate::block::parse::remote::remote;
use crate::block::parse::stored::{stored_flag, stored_name, stored_names};
use crate::declaration::model::Mailbox;
use crate::declaration::parse::{child_name, limit, mailbox, module, number, positive, stash};
use crate::settings::{duration, flag, word};
use crate::supervise::model::{Backoff, Log, Reset};
use crate::supervise::parse::strategy::{backoff, jitter, log, max_retries, reset_after};
use crate::value::{Value, length};

arguments! {
    /// The arguments of `#[actor(..)]` on a type.
    ActorArguments, "setting of `#[actor]`", actor_arguments {
        "mailbox" => mailbox: Mailbox = mailbox, "mailbox = unbounded | bounded(1000)",
            "How many messages may wait. `bounded(1000, overflow = ..)` says what happens when they are too many. Default: `unbounded`.", mailboxes_list;
        "stash" => stash: usize = stash, "stash = 100",
            "How many messages `#[stash_while]` may set aside; one more fails the actor. Default: any number.";
        "stop_timeout" => stop_timeout: Duration = duration, "stop_timeout = \"5s\"",
            "How long a running handler may continue after a stop request. Default: 5 s.";
        "ask_timeout" => ask_timeout: Duration = duration, "ask_timeout = \"5s\"",
            "How long an ask of the actor waits for the reply, unless the asker sets a limit. Default: the limit of the system.";
        "crate" => krate: Path = module, "crate = path::to::supervise",
            "The path of this crate, if it was renamed. Default: `::supervise`.";
    }

    /// The arguments of `#[actor(..)]` on an impl block.
    BlockArguments, "setting of `#[actor]` on an impl block", block_arguments {
        "message" => message: MessageArguments = message, "message(..)",
            "What the enum of the messages looks like.";
        "implements" => implements: Vec<Path> = implements, "implements(Storage, Archive)",
            "The protocols that the handlers implement: for each of their methods, the handler of the same name. The actor's ref then implements them. With the feature `protocol`; see `#[protocol]`.";
        "remote" => remote: Remote = remote, "remote",
            "The actor's refs work on other machines, and its messages travel there. `remote = \"shop.Feed\"` is its name on the wire; by default, that is the type's name. With the feature `remote`.";
        "crate" => krate: Path = module, "crate = path::to::supervise",
            "The path of this crate, if it was renamed. Default: `::supervise`.";
    }

    /// The arguments of `message(..)`.
    MessageArguments, "setting of the messages", message_arguments {
        "name" => name: Ident = name, "name = OrderCommand",
            "The name of the enum. Default: the actor's name and `Message`. Set another name if one of your types already has that name.";
        "vis" => vis: Visibility = visibility, "vis = pub(crate)",
            "The visibility of the enum. It cannot be less than that of the actor. Default: `pub`.";
        "derive" => derive: Vec<Path> = derives, "derive(Clone, PartialEq)",
            "What the enum derives. A variant has the arguments of its handler as fields and nothing else. Default: nothing. `Debug` is always there: it shows the arguments that implement it.";
    }

    /// The arguments of `bounded(..)` behind the capacity.
    BoundedArguments, "setting of a bounded mailbox", bounded_arguments {
        "overflow" => overflow: Overflow = word, "overflow = ..",
            "What happens when a bounded mailbox is full. Default: `fail`.", overflows_list;
    }

    /// The arguments of `durable(..)`.
    DurableArguments, "setting of a durable mailbox", durable_arguments {
        "capacity" => capacity: u64 = positive, "capacity = 1000000",
            "How many messages may wait in the store. Default: 1000000.";
        "window" => window: usize = positive, "window = 1024",
            "How many of them may be in memory. Default: 1024.";
        "redeliver" => redeliver: u32 = number, "redeliver = 3",
            "How often a message is delivered again after a failure. A handler's own `redeliver` takes precedence. Default: 3.";
        "crashes" => crashes: u32 = positive, "crashes = 3",
            "After how many deaths of the process a message that was under way each time goes into quarantine. Default: 3.";
        "keep" => keep: Duration = duration, "keep = \"30d\"",
            "How long a message stays in quarantine before it is discarded. Default: until somebody retries or discards it.";
        "shared" => shared: () = flag, "shared",
            "Several actors may own the queue, in one process or in many, with a store that can share it. Each message is with one of them, and in no order. The window is then 16 unless said otherwise.";
    }

    /// The arguments of `#[handler(..)]`.
    HandlerArguments, "setting of `#[handler]`", handler_arguments {
        "redeliver" => redeliver: u32 = redeliveries, "redeliver = 3",
            "How often a restart delivers the message again, from a clone of it. After that, the message becomes a dead letter with its failures. The asker gets the first failure, unless it asks with `.retried()`. Default: never.";
        "batch" => batch: usize = size, "batch = 100",
            "Up to this many messages are handled in one call. The handler takes a `Vec` with an element for each message; the ref's method takes one element. The handler returns nothing, a `Vec` with one reply for each message in their order, or a `Result` of these. An `Err` fails the actor once, and all askers of the batch get it. Without `linger`, a batch consists of the messages that already wait. The messages of a sender keep their order, also between handlers.";
        "linger" => linger: Duration = duration, "linger = \"10ms\"",
            "How long a batch that is not full waits for more messages, after its first one. Default: not at all.";
        "skip_abandoned" => skip_abandoned: () = flag, "skip_abandoned",
            "If the asker has given up before the message is handled, the handler does not run. For questions whose answer nobody needs any more, not for commands.";
        "not_influencing" => not_influencing: () = flag, "not_influencing",
            "The message does not reset the receive timeout.";
        "sensitive" => sensitive: () = flag, "sensitive",
            "The message's `Debug` hides the arguments.";
        "local" => local: () = flag, "local",
            "The message stays on its machine: its arguments and its reply need not travel. For handlers of a `remote` actor.";
        "inline" => inline: () = flag, "inline",
            "If the actor is idle, an ask runs the handler in its own first poll and wakes no task. For handlers that return immediately; not for an `async fn`. Meanwhile everything else in the asker's task waits, for example timeouts, and asks that are joined with this one.";
        "transient" => transient: () = stored_flag, "transient",
            "A durable mailbox does not store the message: it needs no serde, and is lost with the process.";
        "stored_as" => stored_as: LitStr = stored_name, "stored_as = \"refund\"",
            "What a durable mailbox calls the message. Default: the handler's name.";
        "also" => also: Vec<LitStr> = stored_names, "also = [\"pay_back\"]",
            "What a durable mailbox called the message before, in earlier releases.";
    }

    /// The arguments of `#[child(..)]` behind the closure.
    ChildArguments, "setting of `#[child]`", child_arguments {
        "restart" => restart: RestartType = word, "restart = ..",
            "What restarts the child. Default: `transient`.", restart_types_list;
        "stop_timeout" => stop_timeout: Duration = duration, "stop_timeout = \"2s\"",
            "How long the child may take to stop. Default: the setting of the child's own type.";
        "significant" => significant: () = flag, "significant",
            "The end of the child can end the parent, as the strategy's `auto_shutdown` says.";
        "name" => name: LitStr = child_name, "name = \"reader-1\"",
            "The child's name. Default: the field's name.";
        "idle" => idle: Value<Duration> = length, "idle = \"5m\"",
            "For keyed children: how long a child may handle no message before it is passivated. Default: without limit.";
        "limit" => limit: Value<usize> = limit, "limit = 10_000",
            "For keyed children: how many there may be at a time. Set it if the keys come from outside the program. Default: any number.";
    }

    /// The arguments of `backoff(..)`.
    ExponentialArguments, "setting of a backoff", exponential_arguments {
        "min" => min: Value<Duration> = length, "min = \"100ms\"",
            "The first delay. Required.";
        "max" => max: Value<Duration> = length, "max = \"10s\"",
            "The longest delay, before jitter. Required.";
        "jitter" => jitter: Value<f64> = jitter, "jitter = 0.2",
            "A random share of up to this much on top of each delay, from 0.0 to 1.0. Default: 0.0.";
        "reset_after" => reset_after: Reset = reset_after, "reset_after = \"1m\"",
            "After a restarted child has run this long without a failure, its next delay is `min` again. With `manual`, time alone does not reset the delay. Default: the value of `max`.";
        "give_up_after" => give_up_after: Value<Duration> = length, "give_up_after = \"10m\"",
            "How long a child may go on failing. After that, its next failure is as at a limit: `on_limit` says what follows. Longer than `max` and `reset_after`. Default: for ever.";
    }

    /// The arguments of `linear_backoff(..)`.
    LinearArguments, "setting of `linear_backoff`", linear_arguments {
        "window" => window: Value<Duration> = length, "window = \"10s\"",
            "After a child has run this long without a failure, its next delay is `initial` again. Required.";
        "initial" => initial: Value<Duration> = length, "initial = \"100ms\"",
            "The first delay, and by how much each further one is longer. Required.";
    }

    /// The arguments of `Restart(..)`.
    RestartArguments, "setting of `Restart`", restart_arguments {
        "backoff" | "linear_backoff" | "exponential_backoff" => backoff: Backoff = backoff, "backoff(..)",
            "How long to wait before this restart.", backoffs_list;
        "max_retries" => max_retries: Value<u32> = max_retries, "max_retries = 5",
            "How many restarts this rule grants, in addition to the strategy's limit. Default: any number.";
        "within" => within: Value<Duration> = length, "within = \"1m\"",
            "The window in which the restarts of this rule count. Default: the child's whole life.";
        "window" => window: Window = word, "window = ..",
            "How that window moves. Default: `tumbling`.", windows_list;
    }
}

#[cfg(feature = "protocol")]
arguments! {
    /// The arguments of `#[protocol(..)]`.
    ProtocolArguments, "setting of `#[protocol]`", protocol_arguments {
        "crate" => krate: Path = module, "crate = path::to::supervise",
            "The path of this crate, if it was renamed. Default: `::supervise`.";
    }
}

macro_rules! strategy_table {
    ($($rows:tt)*) => {
        arguments! {
            /// The arguments of a strategy. Each is a method of `supervise::Strategy`.
            StrategyArguments, "setting of a strategy", strategy_arguments { $($rows)* }
        }
        calls! { StrategyArguments { $($rows)* } }
    };
}

strategy_table! {
    "max_retries" => max_retries: Value<u32> = max_retries, "max_retries = 10",
        "How many restarts the strategy grants. Default: any number.";
    "within" => within: Value<Duration> = length, "within = \"60s\"",
        "The window in which restarts count. Default: the child's whole life.";
    "window" => window: Window = word, "window = ..",
        "How the window moves. Default: `tumbling`.", windows_list;
    "on_limit" => on_limit: OnLimit = word, "on_limit = ..",
        "What happens when the strategy refuses a restart. Default: `Stop`.", on_limit_list;
    "count" => count: Count = word, "count = ..",
        "Whose restarts count towards `max_retries`. Default: `child`.", counts_list;
    "auto_shutdown" => auto_shutdown: AutoShutdown = word, "auto_shutdown = ..",
        "Which ends of significant children end their parent. Default: none.", shutdowns_list;
    "backoff" | "linear_backoff" | "exponential_backoff" => backoff: Backoff = backoff, "backoff(..)",
        "How long every plain `Restart` waits. Default: not at all.", backoffs_list;
    "log" => log: Log = log, "log = ..",
        "How decisions are logged. Default: `Restart` and `Stop` as errors, `Resume` as a warning, `Escalate` not at all. `by_attempt(3)`: the first three failures in a row as warnings, the others as errors.", log_levels_list;
}
