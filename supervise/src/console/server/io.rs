//! Adapts tokio's sockets and timers to hyper, without `unsafe` and without a further crate.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read at a time. Requests to the console are small.
const READ: usize = 4_096;

/// A socket.
#[derive(Debug)]
pub(super) struct Io<S>(pub(super) S);

impl<S: AsyncRead + Unpin> Read for Io<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut room = [0; READ];
        let room = &mut room[..into.remaining().min(READ)];
        let mut read = ReadBuf::new(room);
        ready!(Pin::new(&mut self.get_mut().0).poll_read(cx, &mut read))?;
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Write for Io<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
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
