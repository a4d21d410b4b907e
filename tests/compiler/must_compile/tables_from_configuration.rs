//! Limits, windows and backoffs from constants and from settings, in every place.

#![deny(warnings)]

use std::io;
use std::time::Duration;

use supervise::prelude::*;

const MAX: u32 = 3;
const WINDOW: Duration = Duration::from_secs(60);

struct Settings {
    retries: u32,
    window: Duration,
    min: Duration,
    jitter: f64,
}

impl Settings {
    const SHORTEST: Duration = Duration::from_millis(10);

    fn max(&self) -> Duration {
        self.min * 100
    }
}

#[supervise(
    all_for_one(max_retries = MAX * 2, within = WINDOW, backoff(min = Settings::SHORTEST, max = WINDOW, reset_after = WINDOW)),
    on(io::Error) = Restart(max_retries = MAX, within = WINDOW, window = sliding),
    on(_) = Escalate,
)]
pub struct Storage;

#[actor]
#[supervise(table = Storage)]
pub struct Archive;

#[actor]
impl Archive {}

#[actor]
#[supervise(
    one_for_one(
        max_retries = self.settings.retries + 1,
        within = self.settings.window,
        backoff(min = self.settings.min, max = self.settings.max(), jitter = self.settings.jitter, reset_after = self.settings.window),
    ),
    on(io::Error if |e| e.kind() == io::ErrorKind::TimedOut) = Restart(backoff(min = self.settings.min, max = WINDOW)),
    on(io::Error | std::fmt::Error) = Restart(max_retries = self.settings.retries, within = "1m"),
    on(Panic) = Restart(linear_backoff(window = self.settings.window, initial = Settings::SHORTEST)),
    on(_) = Stop,
)]
pub struct Shop<T: Send + 'static> {
    settings: Settings,
    goods: T,
}

#[actor]
impl<T: Send + 'static> Shop<T> {
    #[handler]
    fn look(&self) -> usize {
        std::mem::size_of_val(&self.goods)
    }
}

/// A decider beside a strategy of settings.
#[actor]
#[supervise(rest_for_one(max_retries = self.0), decider = decide)]
pub struct Market(u32);

#[actor]
impl Market {}

fn decide(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
    Ok(Directive::Restart)
}

/// The rules of an actor without a table.
#[actor]
#[supervise(one_for_one(max_retries = self.0, window = sliding, within = WINDOW, on_limit = Escalate, count = supervisor), on(_) = Default)]
pub struct Stall(u32);

#[actor]
impl Stall {}

#[tokio::main(flavor = "current_thread")]
pub(super) async fn main() {
    let system = ActorSystem::new("town");
    let settings = || Settings { retries: 1, window: WINDOW, min: WINDOW, jitter: 0.5 };
    let shop = system.spawn("shop", move || Shop { settings: settings(), goods: 1_u8 }).unwrap();
    assert_eq!(shop.look().await.unwrap(), 1);
    system.terminate().await;
}
