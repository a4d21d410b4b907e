//! Shutting down when the process is told to.

use std::future::Future;
use std::io;

use crate::actor::{ActorSystem, dispatch};
use crate::shutdown_plan::ShutdownReason;

impl ActorSystem {
    /// From now on the [coordinated shutdown](Self::coordinated_shutdown) runs when the process gets Ctrl-C, on Unix also
    /// `SIGTERM`. By default that ends the system; the process ends when `main` does:
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
    /// The signals do not end the process by themselves any more, now or later.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to tell us.
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
                // Why it was aborted was said when it was.
                let _how = system.coordinated_shutdown().run(ShutdownReason::Signal(signal)).await;
            }
        });
        Ok(())
    }
}

/// What `wanted` gives, unless `end` comes before it.
async fn first<T>(wanted: impl Future<Output = T>, end: impl Future) -> Option<T> {
    let (mut wanted, mut end) = (std::pin::pin!(wanted), std::pin::pin!(end));
    std::future::poll_fn(|cx| match wanted.as_mut().poll(cx) {
        std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
        std::task::Poll::Pending => end.as_mut().poll(cx).map(|_| None),
    })
    .await
}

/// Registers at once; gives the name of the first signal that comes.
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

/// Registers at once; gives the name of the first signal that comes.
#[cfg(windows)]
fn next_signal() -> io::Result<impl Future<Output = &'static str> + Send> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
        "Ctrl-C"
    })
}
