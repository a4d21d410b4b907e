//! Each word of the table's grammar at least once.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query { line: usize },
    Io(std::io::Error),
}

#[actor(mailbox = unbounded, stop_timeout = "1m 30s",)]
#[supervise(
    all_for_one(
        max_retries = 10,
        within = 1.5s,
        window = sliding,
        on_limit = Escalate,
        count = supervisor,
        auto_shutdown = any_significant,
        backoff(min = 100ms, max = "10s", jitter = 1, reset_after = manual),
        log = warn,
    ),
    on(InitializationFailed) = Stop,
    on(DbError::Timeout | DbError::Query { line: 1..=9 }) = Resume,
    on(DbError::Query { .. }) = Restart(linear_backoff(window = "10s", initial = "100ms")),
    on(DbError::Io(error) if |error| matches!(error, DbError::Io(_))) = Restart(backoff(min = 1s, max = 2s, reset_after = "1m")),
    on(DbError) = Default,
    on(Panic | Killed) = Restart,
    on(DeathPact) = Escalate,
    on(Box<dyn std::error::Error + Send + Sync>) = Escalate,
)]
struct Everything {
    #[child(|_| || Variants, significant)]
    variants: Child<Variants>,
}

#[actor]
impl Everything {
    #[handler]
    fn variants(&self) -> VariantsRef {
        self.variants.actor()
    }
}

#[actor]
#[supervise(one_for_one(log = by_attempt(3), on_limit = Escalate, backoff(min = 1s, max = 2s, give_up_after = "1h")), on(DbError::Timeout) = Stop, on(DbError::Query { .. } | DbError::Io(_)) = Stop, on(Panic) = Restart, on(_) = Resume)]
struct Variants;

#[actor]
impl Variants {}

#[actor]
#[supervise(on(DbError::Timeout) = Stop, on(DbError::Query { .. } | DbError::Io(_)) = Restart)]
struct AllVariants;

#[actor]
impl AllVariants {}

fn judge(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
    if child.restarts > 3 { Err(failure.clone()) } else { Ok(Directive::Restart) }
}

#[actor]
#[supervise(rest_for_one, decider = judge)]
struct ByHand;

#[actor]
impl ByHand {}

#[derive(Debug, thiserror::Error)]
#[error("x")]
struct IoError;

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"), on(IoError) = Restart, on(_) = Escalate)]
struct AsInTheReadme;

#[actor]
impl AsInTheReadme {}

pub(super) fn main() {}
