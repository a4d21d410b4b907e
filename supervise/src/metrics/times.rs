//! How long messages wait and are handled, estimated from a sample.
//!
//! Rule 24.6.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::SharedString;
use supervise_core::{ActorSystem, TIME_BOUNDS, TimeBuckets};

use super::books::Books;
use super::meter::label;
use super::series::{HANDLED_BUCKET, HANDLED_COUNT, Series, WAITED_BUCKET, WAITED_COUNT};

/// Which messages are timed: [`Metrics::timing`](super::Metrics::timing).
///
/// A clock is read only for these messages: when one is pushed, when it is taken up, and when its handler returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timing {
    /// None.
    Off,
    /// One in this many, chosen at random, and of each actor the first one after each look. `Sampled(0)` times none, `Sampled(1)` all, and
    /// a number above 2³¹ counts as 2³¹.
    Sampled(u32),
    /// Each message.
    All,
}

impl Default for Timing {
    /// One in 64.
    fn default() -> Self {
        Self::Sampled(64)
    }
}

/// Tells the actors which messages to time, and enters what they found.
#[derive(Debug)]
pub(super) struct Times {
    one_in: u32,
    /// The upper bounds of the buckets in seconds, as a label.
    bounds: Vec<SharedString>,
}

impl Times {
    pub(super) fn new(timing: Timing) -> Self {
        let bounds = TIME_BOUNDS.iter().map(|&nanos| Duration::from_nanos(nanos).as_secs_f64().to_string());
        Self {
            one_in: match timing {
                Timing::Off => 0,
                Timing::Sampled(one_in) => one_in,
                Timing::All => 1,
            },
            bounds: bounds.chain(["+Inf".to_owned()]).map(|bound| Arc::<str>::from(bound).into()).collect(),
        }
    }

    pub(super) fn begin(&self, system: &ActorSystem) {
        if self.is_on() {
            system.begin_timing(self.one_in);
        }
    }

    pub(super) fn end(&self, system: &ActorSystem) {
        if self.is_on() {
            system.end_timing();
        }
    }

    /// Whether messages are timed.
    pub(super) fn is_on(&self) -> bool {
        self.one_in > 0
    }

    /// Enters what was found so far.
    pub(super) fn enter(&self, system: &ActorSystem, books: &mut Books) {
        let mut waited: HashMap<_, TimeBuckets> = HashMap::new();
        let mut handled: HashMap<_, TimeBuckets> = HashMap::new();
        for times in system.message_times() {
            let actor = label(times.actor_type);
            add(waited.entry(actor).or_default(), &times.waited);
            if let Some(handler) = times.handler {
                add(handled.entry((actor, handler)).or_default(), &times.handled);
            }
        }
        for (actor, buckets) in waited {
            self.enter_buckets(WAITED_BUCKET, WAITED_COUNT, &[actor], &buckets, books);
        }
        for ((actor, handler), buckets) in handled {
            self.enter_buckets(HANDLED_BUCKET, HANDLED_COUNT, &[actor, handler], &buckets, books);
        }
    }

    fn enter_buckets(
        &self,
        bucket: Series,
        count: Series,
        of: &[&'static str],
        buckets: &TimeBuckets,
        books: &mut Books,
    ) {
        let of = || of.iter().map(|&value| SharedString::from(value));
        let mut so_far = 0;
        for (bound, messages) in self.bounds.iter().zip(buckets) {
            so_far += messages;
            books.total(bucket, of().chain([bound.clone()]).collect(), so_far);
        }
        books.total(count, of().collect(), so_far);
    }
}

fn add(sums: &mut TimeBuckets, more: &TimeBuckets) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
