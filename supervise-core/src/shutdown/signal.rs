//! Shutting down when the process gets a signal.

use std::future::Future;
use std::io;

use crate::actor::{ActorSystem, dispatch};
use crate::shutdown_plan::ShutdownReason;

impl ActorSystem {
    /// Makes the [coordinated shutdown](Self::coordinated_shutdown) run when the process gets Ctrl-C or, on Unix,
    /// `SIGTERM`. By default the shutdown ends the system. The process ends when `main` returns:
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
    /// From then on, these signals no longer end the process by themselves, not even after the system has ended.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to register the signal handlers.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or in one without its I/O driver.
    pub fn shutdown_on_signal(&self) -> io::Result<()> {
        let signal = next_signal()?;
        let system = self.clone();
        dispatch::start(self.core(), async move {
            let until_ended = system.clone();
            if let Some(signal) = first(signal, until_ended.when_terminated()).await {
                // The reason for an abort has been logged.
                let _how = system.coordinated_shutdown().run(ShutdownReason::Signal(signal)).await;
            }
        });
        Ok(())
    }
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

/// Registers for the signals at once. The future returns the name of the first signal.
#[cfg(unix)]
fn next_signal() -> io::Result<impl Future<Output = &'static str> + Send> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        match first(interrupt.recv(), terminate.recv()).await {
            Some(_) => "SIGINT",
            None => "SIGTERM",
        }
    })
}

/// Registers for the signals at once. The future returns the name of the first signal.
#[cfg(windows)]
fn next_signal() -> io::Result<impl Future<Output = &'static str> + Send> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
        "Ctrl-C"
    })
}
