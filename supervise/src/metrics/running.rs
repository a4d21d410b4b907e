//! The thread that measures.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use supervise_core::Event;
use tokio::runtime;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::Metrics;
use super::meter::Meter;

/// Looks take at most one of this many parts of the time.
const PARTS: u32 = 200;
/// The longest interval. A much longer one would be beyond the range of the clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How many events the thread takes in before it checks for other work.
const EVENTS_AT_ONCE: usize = 1_024;

/// Metrics that are measured. Dropping it changes nothing: they are measured until their system ends or [`stop`](Self::stop) is called.
#[derive(Clone)]
pub struct Running {
    stop: Arc<Notify>,
    /// Whether the recorder has the last values.
    ended: watch::Receiver<bool>,
}

impl Running {
    /// Stops measuring soon. The system continues to run, and the series keep their last values.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the recorder has the last values, after the end of the system or [`stop`](Self::stop).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn ended(&self) {
        // An error means that the thread has ended too.
        let mut ended = self.ended.clone();
        let _ended = ended.wait_for(|ended| *ended).await;
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("ended", &*self.ended.borrow()).finish_non_exhaustive()
    }
}

/// Looks for the first time, and starts the thread.
pub(super) fn start(metrics: Metrics) -> io::Result<Running> {
    let interval = metrics.interval;
    let mut meter = metrics.by_hand();
    meter.look();
    let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
    let (told, ended) = watch::channel(false);
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop);
    thread::Builder::new().name("supervise-metrics".to_owned()).spawn(move || {
        runtime.block_on(keep_measuring(&mut meter, interval, &stopped));
        told.send_replace(true);
    })?;
    Ok(Running { stop, ended })
}

enum Next {
    Event(Option<Box<Event>>),
    Look,
    Stopped,
}

/// Measures until the system ends or the measuring is stopped.
async fn keep_measuring(meter: &mut Meter, interval: Duration, stopped: &Notify) {
    let mut looked = Instant::now();
    loop {
        let wait = interval.max(meter.took().saturating_mul(PARTS)).min(LONGEST);
        match next(meter, stopped, looked + wait).await {
            Next::Event(Some(event)) => {
                meter.happened(&event);
                for _ in 0..EVENTS_AT_ONCE {
                    let Some(event) = meter.events().try_recv() else { break };
                    meter.happened(&event);
                }
            }
            Next::Event(None) => return meter.look(),
            Next::Stopped => return,
            Next::Look => {
                meter.look();
                looked = Instant::now();
            }
        }
    }
}

async fn next(meter: &mut Meter, stopped: &Notify, look_at: Instant) -> Next {
    let mut event = pin!(meter.events().recv());
    let mut stopped = pin!(stopped.notified());
    let mut look = pin!(sleep_until(look_at));
    poll_fn(|cx| {
        if look.as_mut().poll(cx).is_ready() {
            Poll::Ready(Next::Look)
        } else if stopped.as_mut().poll(cx).is_ready() {
            Poll::Ready(Next::Stopped)
        } else {
            event.as_mut().poll(cx).map(|event| Next::Event(event.map(Box::new)))
        }
    })
    .await
}
