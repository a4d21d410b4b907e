//! Shuts the system down at the first signal, and ends the process at the second.
//!
//! Rule 16.2.

use std::future::Future;
use std::io;

use crate::actor::{ActorSystem, dispatch};
use crate::observe;
use crate::shutdown_plan::ShutdownReason;

impl ActorSystem {
    /// Makes the [coordinated shutdown](Self::coordinated_shutdown) run when the process gets Ctrl-C or, on Unix,
    /// `SIGTERM`. Needs the feature `signal`. By default the shutdown ends the system. The process ends when `main` returns:
    ///
    /// ```no_run
    /// # use supervise_core::ActorSystem;
    /// #[tokio::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let system = ActorSystem::new("shop");
    ///     system.shutdown_on_signal()?;
    ///     // spawn actors, serve
    ///     Ok(system.when_terminated().await?)
    /// }
    /// ```
    ///
    /// After a signal, this `main` exits with 0. If a failure has ended the system, it prints the failure and exits with 1.
    ///
    /// A second signal ends the process at once, even if handlers block all threads of the runtime. It is logged as an error,
    /// and no hook and no destructor runs. The exit code is 128 plus the signal's number, that is 130 or 143. If the system had
    /// already ended before the first signal, it ignores all signals, and they no longer end the process by themselves.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to register the signal handlers.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or in one without its I/O driver.
    pub fn shutdown_on_signal(&self) -> io::Result<()> {
        let mut signals = Signals::listen()?;
        let system = self.clone();
        dispatch::start(self.core(), async move {
            let until_ended = system.clone();
            if let Some(signal) = first(signals.next(), until_ended.when_terminated()).await {
                exit_at_the_next(signals);
                // The reason for an abort has been logged.
                let _how = system.coordinated_shutdown().run(ShutdownReason::Signal(signal.name)).await;
            }
        });
        Ok(())
    }
}

/// Runs on a thread and a runtime of its own, because the handlers that delay the shutdown may block all
/// others.
fn exit_at_the_next(mut signals: Signals) {
    let wait = async move {
        let again = signals.next().await;
        observe::second_signal(again.name);
        std::process::exit(128 + again.number);
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return drop(tokio::spawn(wait));
    };
    // If the thread cannot be started, the second signal is ignored.
    drop(std::thread::Builder::new().name("supervise-signal".to_owned()).spawn(move || runtime.block_on(wait)));
}

/// The result of `wanted`, or `None` if `end` completes first.
async fn first<T>(wanted: impl Future<Output = T>, end: impl Future) -> Option<T> {
    let (mut wanted, mut end) = (std::pin::pin!(wanted), std::pin::pin!(end));
    std::future::poll_fn(|cx| match wanted.as_mut().poll(cx) {
        std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
        std::task::Poll::Pending => end.as_mut().poll(cx).map(|_| None),
    })
    .await
}

/// A signal that came.
#[derive(Debug, Clone, Copy)]
struct Signal {
    name: &'static str,
    number: i32,
}

const INTERRUPT: i32 = 2;

/// Registered when it is made: no signal is missed from then on.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Signal {
        match first(self.interrupt.recv(), self.terminate.recv()).await {
            Some(_) => Signal { name: "SIGINT", number: INTERRUPT },
            None => Signal { name: "SIGTERM", number: 15 },
        }
    }
}

/// Registered when it is made: no signal is missed from then on.
#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Signal {
        self.0.recv().await;
        Signal { name: "Ctrl-C", number: INTERRUPT }
    }
}
