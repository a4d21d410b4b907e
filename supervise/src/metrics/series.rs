//! The metrics. Help texts, tests and documentation follow from this one table.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// A metric: all its series have the same name and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Series {
    /// Its name, as Prometheus has it.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its labels, beside `system`, which all have.
    pub labels: &'static [&'static str],
    /// What it says, in one sentence.
    pub help: &'static str,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down, and is 0 when the system has ended.
    Gauge,
    /// It has many values.
    Histogram,
    /// A histogram as Prometheus stores it, in counters: `_bucket`, with the label `le`, and `_count`. The buckets are the same in all
    /// programs.
    Buckets,
}

const fn series(name: &'static str, kind: Kind, labels: &'static [&'static str], help: &'static str) -> Series {
    Series { name, kind, labels, help }
}

use Kind::{Buckets, Counter, Gauge, Histogram};

pub(super) const ACTORS: Series =
    series("supervise_actors", Gauge, &["actor", "state"], "Actors that have not ended, by state.");
pub(super) const STARTED: Series = series(
    "supervise_actors_started_total",
    Counter,
    &["actor"],
    "Actors that became ready for their first message.",
);
pub(super) const ENDED: Series =
    series("supervise_actors_ended_total", Counter, &["actor", "reason"], "Actors that ended, by the reason.");
pub(super) const RESTARTS: Series =
    series("supervise_restarts_total", Counter, &["actor"], "New instances that replaced a failed one.");
pub(super) const ABORTED: Series = series(
    "supervise_aborted_total",
    Counter,
    &["actor"],
    "Handlers and hooks that outlived the stop timeout and were dropped at an await point.",
);
pub(super) const MESSAGES: Series =
    series("supervise_messages_total", Counter, &["actor"], "Messages that actors took from their mailboxes.");
pub(super) const MAILBOX: Series =
    series("supervise_mailbox_messages", Gauge, &["actor"], "Messages that wait in all mailboxes of the type.");
pub(super) const MAILBOX_MAX: Series =
    series("supervise_mailbox_messages_max", Gauge, &["actor"], "Messages that wait in the fullest mailbox.");
pub(super) const STASH: Series =
    series("supervise_stash_messages", Gauge, &["actor"], "Messages that wait in all stashes of the type.");
pub(super) const OLDEST: Series = series(
    "supervise_mailbox_oldest_seconds",
    Gauge,
    &["actor"],
    "About how long the oldest waiting message has waited.",
);
pub(super) const HANDLING: Series = series(
    "supervise_handling_oldest_seconds",
    Gauge,
    &["actor"],
    "The longest time that an actor has been in its current message, at least.",
);
pub(super) const WAITED: Series = series(
    "supervise_mailbox_seconds",
    Buckets,
    &["actor"],
    "How long messages waited in the mailbox, estimated from a sample.",
);
pub(super) const WAITED_BUCKET: Series =
    series("supervise_mailbox_seconds_bucket", Counter, &["actor", "le"], WAITED.help);
pub(super) const WAITED_COUNT: Series =
    series("supervise_mailbox_seconds_count", Counter, WAITED.labels, WAITED.help);
pub(super) const HANDLED: Series = series(
    "supervise_handling_seconds",
    Buckets,
    &["actor", "handler"],
    "How long handlers took, awaits included, estimated from a sample.",
);
pub(super) const HANDLED_BUCKET: Series =
    series("supervise_handling_seconds_bucket", Counter, &["actor", "handler", "le"], HANDLED.help);
pub(super) const HANDLED_COUNT: Series =
    series("supervise_handling_seconds_count", Counter, HANDLED.labels, HANDLED.help);
pub(super) const BUSY: Series = series(
    "supervise_handling_actors",
    Gauge,
    &["actor"],
    "Actors that were handling a message at the moment of the look.",
);
pub(super) const STUCK: Series = series(
    "supervise_stuck_actors",
    Gauge,
    &["actor"],
    "Actors that have been in one message for 5 s while another one waits.",
);
pub(super) const BLOCKING: Series = series(
    "supervise_blocking_actors",
    Gauge,
    &["actor"],
    "Actors that have been in one message for 1 s, never at an await point.",
);
pub(super) const BUDGET: Series = series(
    "supervise_restart_budget_used_ratio",
    Gauge,
    &["actor"],
    "How much of its restart limit is used, for the actor that has used most of it. At 1, the next restart is refused.",
);
pub(super) const FAILURES: Series = series(
    "supervise_failures_total",
    Counter,
    &["actor", "failure", "during", "outcome"],
    "Failures about which a supervisor decided, by the type that failed.",
);
pub(super) const RULES: Series = series(
    "supervise_rule_matches_total",
    Counter,
    &["actor", "rule"],
    "Failures that a rule decided, by the type of the supervisor.",
);
pub(super) const BACKOFF: Series =
    series("supervise_backoff_seconds", Histogram, &["actor"], "How long restarts are delayed.");
pub(super) const DEAD_LETTERS: Series = series(
    "supervise_dead_letters_total",
    Counter,
    &["actor", "reason"],
    "Messages that no actor handled, by the recipient's type.",
);
pub(super) const MISSED: Series = series(
    "supervise_events_missed_total",
    Counter,
    &[],
    "Events that came faster than they were counted: failures and dead letters may be missing.",
);
pub(super) const LOOK: Series =
    series("supervise_look_seconds", Gauge, &[], "How long the last look at all actors took.");
pub(super) const PATH_MESSAGES: Series =
    series("supervise_path_messages_total", Counter, &["path"], "Messages that the actor has taken up.");
pub(super) const PATH_FAILURES: Series =
    series("supervise_path_failures_total", Counter, &["path"], "Failures of the actor.");
pub(super) const PATH_RESTARTS: Series =
    series("supervise_path_restarts_total", Counter, &["path"], "Restarts that the actor was told to do.");
pub(super) const PATH_MAILBOX: Series =
    series("supervise_path_mailbox_messages", Gauge, &["path"], "Messages that wait in the actor's mailbox.");

/// All metrics of this crate.
pub const SERIES: &[Series] = &[
    ACTORS,
    STARTED,
    ENDED,
    RESTARTS,
    ABORTED,
    MESSAGES,
    MAILBOX,
    MAILBOX_MAX,
    STASH,
    OLDEST,
    HANDLING,
    WAITED,
    HANDLED,
    BUSY,
    STUCK,
    BLOCKING,
    BUDGET,
    FAILURES,
    RULES,
    BACKOFF,
    DEAD_LETTERS,
    MISSED,
    LOOK,
    PATH_MESSAGES,
    PATH_FAILURES,
    PATH_RESTARTS,
    PATH_MAILBOX,
];

/// Tells the recorder the help texts.
pub(super) fn describe() {
    let buckets = [WAITED_BUCKET, WAITED_COUNT, HANDLED_BUCKET, HANDLED_COUNT];
    for &Series { name, kind, help, .. } in SERIES.iter().chain(&buckets) {
        let unit = if name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count };
        match kind {
            Counter => describe_counter!(name, unit, help),
            Gauge => describe_gauge!(name, unit, help),
            Histogram => describe_histogram!(name, unit, help),
            Buckets => {}
        }
    }
}
