//! Listens on an address or a unix socket, and serves each connection.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::Service;
use super::io::{Clock, Io};

/// How many connections are served at a time. More wait.
const CONNECTIONS: usize = 64;
/// How long the head of a request may take to arrive, and how long a connection is kept for the next one.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest head of a request.
const HEAD: usize = 16 * 1_024;
/// How long to wait when the process has no file descriptor left for a connection.
const OUT_OF_FILES: Duration = Duration::from_millis(200);

/// Where a console listens.
#[derive(Debug)]
pub(in super::super) enum Listener {
    None,
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener),
}

type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Listener {
    pub(in super::super) fn tcp(address: impl ToSocketAddrs, anywhere: bool) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        if let Some(open) = addresses.iter().find(|address| !anywhere && !address.ip().is_loopback()) {
            let text = format!(
                "the console would be open to other machines at {open}; listen on 127.0.0.1, or call `bind_anywhere`"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let listener = TcpListener::bind(&*addresses)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    #[cfg(unix)]
    pub(in super::super) fn unix(path: &std::path::Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        use std::os::unix::net::{UnixListener, UnixStream};

        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        // A socket on which somebody still listens stays.
        if is_socket && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener))
    }

    pub(in super::super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            _ => None,
        }
    }

    /// Serves until the result is dropped. `None` if the console listens nowhere. Must be called within a
    /// runtime.
    pub(in super::super) fn serve(self, service: Service) -> Option<Serving> {
        match self {
            Self::None => None,
            Self::Tcp(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener).ok()?;
                Some(Box::pin(serve(service, async move || Ok(listener.accept().await?.0))))
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                let listener = tokio::net::UnixListener::from_std(listener).ok()?;
                Some(Box::pin(serve(service, async move || Ok(listener.accept().await?.0))))
            }
        }
    }
}

async fn serve<S>(service: Service, accept: impl AsyncFn() -> io::Result<S>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let Ok(socket) = accept().await else {
            tokio::time::sleep(OUT_OF_FILES).await;
            continue;
        };
        let connection = connection(socket, service.clone());
        tokio::spawn(async move {
            // A client that hangs up, or does not speak HTTP, needs no handling.
            let _hung_up = connection.await;
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
async fn connection<S>(socket: S, service: Service) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    http1::Builder::new()
        .timer(Clock)
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD)
        .serve_connection(Io::new(socket), service)
        .await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, sleep, timeout};

    use super::super::super::Console;
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// The client's end of a connection, and how long it lasted.
    fn connected(room: usize) -> (DuplexStream, impl Future<Output = Duration>) {
        let system = supervise_core::ActorSystem::new("shop");
        let service = Console::of(&system).service();
        let (theirs, ours) = duplex(room);
        let lasted = async move {
            let began = Instant::now();
            let ended = timeout(Duration::from_secs(600), connection(ours, service)).await;
            assert!(ended.is_ok(), "the connection lasts for ever");
            system.terminate().await;
            began.elapsed()
        };
        (theirs, lasted)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_closed() {
        let (mut client, lasted) = connected(1_024);
        client.write_all(GET).await.expect("there is room");
        assert_eq!(lasted.await.as_secs(), 10);
    }

    /// Slow is not silent: each byte that is taken gives it more time.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_slow_gets_its_answer() {
        let (mut client, lasted) = connected(1_024);
        let reading = async move {
            client.write_all(GET).await.expect("there is room");
            let mut page = Vec::new();
            while !page.ends_with(b"</html>\n") {
                sleep(Duration::from_secs(8)).await;
                assert_ne!(client.read_buf(&mut page).await.expect("it is open"), 0);
            }
        };
        let ((), lasted) = tokio::join!(reading, lasted);
        assert!(lasted > Duration::from_secs(100), "{lasted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_head_does_not_end_is_closed() {
        let (mut client, lasted) = connected(1_024);
        let dripping = async move {
            for byte in GET.iter().cycle().filter(|byte| byte.is_ascii_alphabetic()) {
                if client.write_all(&[*byte]).await.is_err() {
                    return;
                }
                sleep(Duration::from_secs(1)).await;
            }
        };
        let ((), lasted) = tokio::join!(dripping, lasted);
        assert_eq!(lasted.as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_asks_no_more_is_closed() {
        let (mut client, lasted) = connected(1_024 * 1_024);
        client.write_all(GET).await.expect("there is room");
        assert_eq!(lasted.await.as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_is_too_large_is_refused() {
        let (mut client, lasted) = connected(1_024 * 1_024);
        client.write_all(b"GET / HTTP/1.1\r\nX: ").await.expect("there is room");
        client.write_all(&b"x".repeat(100_000)).await.expect("there is room");
        assert_eq!(lasted.await, Duration::ZERO);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("text");
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}
