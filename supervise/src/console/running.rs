//! The console's thread. It looks at the system, keeps what it found, and serves the readers.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use supervise_core::{ActorSystem, Event};
use tokio::runtime;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::Console;
use super::actions::Actions;
use super::collector::View;
use super::outlet::{Outlet, Outlets, Readers, Refused};
use super::server::{Listener, Service};
use super::text::text;
use super::watch::Watch;
use super::wish::Wish;

/// The time between two looks, while somebody reads and otherwise.
const WATCHED: Duration = Duration::from_secs(1);
const UNWATCHED: Duration = Duration::from_secs(5);
/// Looks take at most one of this many parts of the time, so that they do not slow a large system down. While somebody reads, writing takes
/// time too, and both together at most two percent.
const PARTS_WATCHED: u32 = 64;
const PARTS_UNWATCHED: u32 = 200;
/// The pause after a glance for new readers, in multiples of the time that the glance took. One more glance may come at once, so that a reader
/// who opens the page and then searches waits for one look and not for five.
const PARTS_OF_GLANCES: u32 = 4;
/// How long after the last request the console counts as being read.
const READING: Duration = Duration::from_secs(10);
/// How many events the thread takes in before it checks for other work.
const EVENTS_AT_ONCE: usize = 1_024;
/// How long the streams have to send the last view.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What the thread and the readers share.
pub(super) struct Shared {
    pub(super) system: String,
    pub(super) hosts: Vec<String>,
    /// `None`: the console changes nothing.
    pub(super) actions: Option<Actions>,
    /// The result of the last look.
    latest: Mutex<Arc<View>>,
    outlets: Outlets,
    pub(super) streams: AtomicUsize,
    /// Whether there was a request since the last look.
    asked: AtomicBool,
    wake: Notify,
    stopped: AtomicBool,
}

impl Shared {
    fn new(console: Console, latest: View) -> Self {
        let Console { system, hosts, tokens, .. } = console;
        Self {
            system: system.name().to_owned(),
            hosts,
            actions: Actions::new(&system, tokens),
            latest: Mutex::new(Arc::new(latest)),
            outlets: Outlets::default(),
            streams: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
            wake: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// A console that never looks.
    #[cfg(test)]
    pub(super) fn idle(system: &ActorSystem) -> Arc<Self> {
        Arc::new(Self::new(Console::of(system), View::default()))
    }

    pub(super) fn latest(&self) -> Arc<View> {
        Arc::clone(&self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the result of the last look. The earlier view is dropped outside the lock.
    fn found(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        let former =
            std::mem::replace(&mut *self.latest.lock().unwrap_or_else(PoisonError::into_inner), Arc::clone(&view));
        drop(former);
        view
    }

    /// The outlet for the readers with this wish. If it is new, its first page comes soon.
    pub(super) fn outlet(&self, wish: Wish) -> Result<Arc<Outlet>, Refused> {
        let outlet = self.outlets.of(wish)?;
        self.asked();
        Ok(outlet)
    }

    /// Notes that somebody reads, so that the thread looks more often.
    pub(super) fn asked(&self) {
        if !self.asked.swap(true, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }
}

/// A console that runs. Dropping it changes nothing: the console runs until its system ends or [`stop`](Self::stop) is called.
#[derive(Clone)]
pub struct Running {
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
}

impl Running {
    /// The problems, the worst first, then the last failures, in lines of at most 80 columns. This is what the last look
    /// found. It needs no server: print it from a signal handler's task or an endpoint of your own
    /// (rule [22.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.4)).
    pub fn text(&self) -> String {
        self.shared.asked();
        let latest = self.shared.latest();
        text(&self.shared.system, &latest, latest.age())
    }

    /// Where it listens, if it does so by TCP.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The address of the page with the first token in its fragment, which a browser does not send. Everybody who
    /// has the address may change the system. `None` if it does not listen by TCP, or if no actions were allowed.
    pub fn operator_url(&self) -> Option<String> {
        let token = self.shared.actions.as_ref()?.first()?;
        Some(format!("http://{}/#token={}", self.address?, token.secret()))
    }

    /// Ends the console's thread soon, and with it its server. The system continues to run.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.shared.wake.notify_one();
    }

    pub(super) fn into_service(self) -> Service {
        Service::new(self.shared)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("system", &self.shared.system).field("address", &self.address).finish()
    }
}

/// Looks for the first time, and starts the thread.
pub(super) fn start(console: Console, listener: Listener) -> io::Result<Running> {
    let watch = Watch::new(&console.system, console.texts);
    let first = View { interval: UNWATCHED, ..watch.view().clone() };
    let shared = Arc::new(Shared::new(console, first));
    let address = listener.address();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let here = Arc::clone(&shared);
    thread::Builder::new().name("supervise-console".to_owned()).spawn(move || {
        runtime.block_on(async {
            let service = Service::new(Arc::clone(&here));
            if let Some(serving) = listener.serve(service) {
                tokio::spawn(serving);
            }
            keep_watching(watch, &here).await;
            here.stopped.store(true, Ordering::Relaxed);
            sleep(LAST_WORDS).await;
        });
    })?;
    Ok(Running { shared, address })
}

enum Next {
    Event(Option<Box<Event>>),
    Look,
    Asked,
}

/// Looks until the system ends or the console is stopped.
async fn keep_watching(mut watch: Watch, shared: &Shared) {
    let mut readers = Readers::default();
    let mut looked = Instant::now();
    let mut asked_at: Option<Instant> = None;
    let mut glances = Glances { rested: looked, credit: Duration::ZERO };
    loop {
        let is_read =
            shared.streams.load(Ordering::Relaxed) > 0 || asked_at.is_some_and(|asked| asked.elapsed() < READING);
        let interval = pause(is_read, watch.view().worked);
        let look_at = looked + interval;
        let wake_at = if readers.has_new() { look_at.min(glances.next_at()) } else { look_at };
        match next(&mut watch, shared, wake_at).await {
            Next::Event(Some(event)) => {
                watch.happened(*event);
                for _ in 0..EVENTS_AT_ONCE {
                    let Some(event) = watch.events().try_recv() else { break };
                    watch.happened(event);
                }
                // This serves readers even while events arrive faster than they are taken in.
                tokio::task::yield_now().await;
            }
            Next::Event(None) => break,
            Next::Asked if shared.stopped.load(Ordering::Relaxed) => return shared.outlets.stop(),
            Next::Asked => {
                shared.asked.store(false, Ordering::Relaxed);
                asked_at = Some(Instant::now());
                readers.update(&shared.outlets);
            }
            Next::Look if Instant::now() < look_at => {
                let began = Instant::now();
                readers.glance(&mut watch, &shared.system, interval);
                glances.took(began, began.elapsed());
            }
            Next::Look => {
                readers.update(&shared.outlets);
                watch.look_for(readers.listings());
                looked = Instant::now();
                let interval = pause(is_read, watch.view().worked);
                let view = shared.found(View { interval, ..watch.view().clone() });
                readers.tell(&shared.system, &view);
            }
        }
    }
    // The last view: all events until the end, and the actors as they were before it.
    readers.update(&shared.outlets);
    watch.look();
    let ended = Some(how_it_ended(watch.system()).await);
    let view = shared.found(View { ended, ..watch.view().clone() });
    readers.tell(&shared.system, &view);
    shared.outlets.end(&shared.system, &view);
}

/// When the next glance may be taken.
#[derive(Debug)]
struct Glances {
    /// When enough time has passed for all of them so far.
    rested: Instant,
    /// How long before that the next one may be taken.
    credit: Duration,
}

impl Glances {
    fn next_at(&self) -> Instant {
        self.rested.checked_sub(self.credit).unwrap_or(self.rested)
    }

    fn took(&mut self, began: Instant, took: Duration) {
        self.credit = took * PARTS_OF_GLANCES;
        self.rested = self.rested.max(began) + took + self.credit;
    }
}

/// The time from one look to the next, if the first one used this much processor time.
fn pause(is_read: bool, worked: Duration) -> Duration {
    if is_read { WATCHED.max(worked * PARTS_WATCHED) } else { UNWATCHED.max(worked * PARTS_UNWATCHED) }
}

async fn next(watch: &mut Watch, shared: &Shared, look_at: Instant) -> Next {
    let mut event = pin!(watch.events().recv());
    let mut asked = pin!(shared.wake.notified());
    let mut look = pin!(sleep_until(look_at));
    poll_fn(|cx| {
        if look.as_mut().poll(cx).is_ready() {
            Poll::Ready(Next::Look)
        } else if asked.as_mut().poll(cx).is_ready() {
            Poll::Ready(Next::Asked)
        } else {
            event.as_mut().poll(cx).map(|event| Next::Event(event.map(Box::new)))
        }
    })
    .await
}

/// Names the type of the failure. Its text would run the user's code.
async fn how_it_ended(system: &ActorSystem) -> String {
    match system.when_terminated().await {
        Ok(()) => "The system has ended, as it was told to.".to_owned(),
        Err(failure) => {
            let origin = failure.origin().map_or_else(String::new, |origin| format!(" of {}", origin.local()));
            format!("The system has ended with a failure{origin}: {}.", failure.type_name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search right after another one, or after the page, does not wait for another look. Many searches take a fifth of the time.
    #[test]
    fn con_25_a_search_waits_for_one_look_and_many_searches_take_a_fifth_of_the_time() {
        let began = Instant::now();
        let took = Duration::from_millis(20);
        let mut glances = Glances { rested: began, credit: Duration::ZERO };
        let mut now = began;
        let mut times = Vec::new();
        for _ in 0..100 {
            now = now.max(glances.next_at());
            times.push(now - began);
            glances.took(now, took);
            now += took;
        }
        assert_eq!(times[..3], [Duration::ZERO, took, took * 6]);
        assert_eq!(times[99], took + took * 5 * 98);
        // After a pause, one glance may come early again, and not more.
        now += Duration::from_secs(60);
        let pause = now;
        let mut after = || {
            now = now.max(glances.next_at());
            let at = now - pause;
            glances.took(now, took);
            now += took;
            at
        };
        assert_eq!([after(), after(), after()], [Duration::ZERO, took, took * 6]);
    }

    #[test]
    fn con_04_looks_take_at_most_two_percent_of_the_time_and_half_a_percent_unread() {
        for millis in [0, 1, 16, 20, 25, 26, 1_000, 60_000] {
            let took = Duration::from_millis(millis);
            assert!(took * 50 <= pause(true, took) && took * 200 <= pause(false, took), "{took:?}");
        }
        assert_eq!(pause(true, Duration::from_millis(15)), Duration::from_secs(1));
        assert_eq!(pause(false, Duration::from_millis(20)), Duration::from_secs(5));
        assert_eq!(pause(true, Duration::from_secs(1)), Duration::from_secs(64));
    }
}
