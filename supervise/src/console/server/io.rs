//! Adapts tokio's sockets and timers to hyper, without `unsafe` and without a further crate. Closes a connection whose peer
//! takes nothing.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read at a time. Requests to the console are small.
const READ: usize = 4_096;

/// How long a peer may take nothing of what is written to it.
const STALLED: Duration = Duration::from_secs(10);

/// A socket. If its peer takes nothing for [`STALLED`], writing fails.
#[derive(Debug)]
pub(super) struct Io<S> {
    socket: S,
    /// Ends when the peer has taken nothing for too long. `None` if the last write succeeded.
    stalled: Option<Pin<Box<tokio::time::Sleep>>>,
    moved: LastMoved,
}

impl<S> Io<S> {
    pub(super) fn new(socket: S) -> Self {
        Self { socket, stalled: None, moved: LastMoved::default() }
    }

    pub(super) fn last_moved(&self) -> LastMoved {
        self.moved.clone()
    }
}

/// When a connection last carried a byte, or began.
#[derive(Debug, Clone)]
pub(super) struct LastMoved(Arc<Mutex<tokio::time::Instant>>);

impl Default for LastMoved {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(tokio::time::Instant::now())))
    }
}

impl LastMoved {
    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tokio::time::Instant::now();
    }

    pub(super) fn at(&self) -> tokio::time::Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + Unpin> Read for Io<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut room = [0; READ];
        let room = &mut room[..into.remaining().min(READ)];
        let mut read = ReadBuf::new(room);
        let Self { socket, moved, .. } = self.get_mut();
        ready!(Pin::new(socket).poll_read(cx, &mut read))?;
        moved.now();
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Write for Io<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { socket, stalled, moved } = self.get_mut();
        let written = Pin::new(socket).poll_write(cx, bytes);
        if written.is_ready() {
            *stalled = None;
            moved.now();
            return written;
        }
        let deadline = stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALLED)));
        deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

/// tokio's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock;

struct Asleep(Pin<Box<tokio::time::Sleep>>);

impl Future for Asleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.as_mut().poll(cx)
    }
}

impl Sleep for Asleep {}

impl Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Asleep(Box::pin(tokio::time::sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Asleep(Box::pin(tokio::time::sleep_until(deadline.into()))))
    }
}
