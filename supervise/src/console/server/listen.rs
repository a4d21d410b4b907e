//! Listens on an address or a unix socket, and serves each connection.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::Pin;
use std::time::Duration;

use http::{Method, Request, StatusCode};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;

use super::io::{Clock, Io, LastMoved};
use super::{Service, plain};

/// How many connections are served at a time. For one more, the one that has been silent longest is closed.
const CONNECTIONS: usize = 64;
/// How long the head of a request, and then its body, may take to arrive, and how long a connection is kept for the next one.
const PATIENCE: Duration = Duration::from_secs(5);
/// If a look takes longer than that.
const LOOKS_LONG: &str =
    "Looking takes longer than 5 s now: the system is large or the machine is busy. Ask again.\n";
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
        let listener = TcpListener::bind(&*addresses).map_err(|error| {
            let text = format!("the console cannot listen on {addresses:?}: {error}");
            io::Error::new(error.kind(), text)
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    #[cfg(unix)]
    pub(in super::super) fn unix(path: &std::path::Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        use std::os::unix::net::{UnixDatagram, UnixListener};

        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        // Only a socket without an owner is replaced, and not one to which a connection is forbidden. A stream would wait for an owner that
        // accepts no connection. A datagram socket is refused at once, and the error says whether there is an owner.
        let is_left = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket && UnixDatagram::unbound()?.connect(path).is_err_and(is_left) {
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
    // In the order in which they came.
    let mut places: Vec<(LastMoved, AbortHandle)> = Vec::new();
    loop {
        let Ok(socket) = accept().await else {
            tokio::time::sleep(OUT_OF_FILES).await;
            continue;
        };
        places.retain(|(_, task)| !task.is_finished());
        if places.len() >= CONNECTIONS {
            let longest = places.iter().enumerate().min_by_key(|(_, (moved, _))| moved.at());
            if let Some((at, _)) = longest {
                let (_, task) = places.remove(at);
                task.abort();
            }
        }
        let io = Io::new(socket);
        let moved = io.last_moved();
        let connection = connection(io, service.clone());
        let task = tokio::spawn(async move {
            // A client that hangs up, or does not speak HTTP, needs no handling.
            let _hung_up = connection.await;
        });
        places.push((moved, task.abort_handle()));
        // The connection gets a chance to read before its silence is compared with that of others.
        yield_now().await;
    }
}

/// Answers the requests of one connection.
async fn connection<S>(socket: Io<S>, service: Service) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // An action waits for the body of its request, and a text for a look.
    let answer = service_fn(async |request: Request<_>| {
        let (status, late) = match *request.method() {
            Method::POST => (StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.\n"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, LOOKS_LONG),
        };
        timeout(PATIENCE, service.call(request)).await.unwrap_or_else(|_| Ok(plain(status, late)))
    });
    http1::Builder::new()
        .timer(Clock)
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD)
        .serve_connection(socket, answer)
        .await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, sleep, timeout};

    use super::super::super::{Console, Token};
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// The client's end of a connection, and how long it lasted.
    fn connected(room: usize) -> (DuplexStream, impl Future<Output = Duration>) {
        let system = supervise_core::ActorSystem::new("shop");
        let service = Console::of(&system).service();
        let (theirs, ours) = duplex(room);
        let lasted = async move {
            let began = Instant::now();
            let ended = timeout(Duration::from_secs(600), connection(Io::new(ours), service)).await;
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

    /// A slow client is not a silent one: each byte that it takes gives it more time.
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

    /// The server reads the body only from a client with the token.
    #[tokio::test(start_paused = true)]
    async fn a_client_whose_body_does_not_end_is_answered_and_closed() {
        let system = supervise_core::ActorSystem::new("shop");
        let token = Token::random();
        let service = Console::of(&system).allow_actions(token.clone()).service();
        let (mut client, ours) = duplex(64 * 1_024);
        let head = format!(
            "POST /act HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {}\r\nContent-Length: 4000\r\n\r\n{{",
            token.secret()
        );
        client.write_all(head.as_bytes()).await.expect("there is room");
        let began = Instant::now();
        let dripping = async {
            loop {
                sleep(Duration::from_secs(1)).await;
                if client.write_all(b" ").await.is_err() {
                    break;
                }
            }
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.expect("text");
            answer
        };
        let serving = async {
            let ended = timeout(Duration::from_secs(600), connection(Io::new(ours), service)).await;
            assert!(ended.is_ok(), "the connection lasts for ever");
            began.elapsed()
        };
        let (answer, lasted) = tokio::join!(dripping, serving);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(lasted.as_secs() <= 6, "{lasted:?}");
        system.terminate().await;
    }

    /// Connections that say nothing do not keep out those that do.
    #[tokio::test(start_paused = true)]
    async fn ten_thousand_silent_clients_keep_nobody_out() {
        let system = supervise_core::ActorSystem::new("shop");
        let service = Console::of(&system).service();
        let (dial, dialled) = tokio::sync::mpsc::unbounded_channel();
        let dialled = tokio::sync::Mutex::new(dialled);
        let serving =
            serve(service, async || Ok(dialled.lock().await.recv().await.expect("there is always one more")));
        let mut silent = Vec::new();
        for _ in 0..10_000 {
            let (theirs, ours) = duplex(64);
            dial.send(ours).expect("it listens");
            silent.push(theirs);
        }
        let (mut client, ours) = duplex(64 * 1_024);
        dial.send(ours).expect("it listens");
        let began = Instant::now();
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.expect("room");
        let mut answer = String::new();
        tokio::select! {
            read = client.read_to_string(&mut answer) => { read.expect("text"); }
            () = serving => unreachable!("it serves for ever"),
        }
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(began.elapsed(), Duration::ZERO, "it waited until the others were given up");
        system.terminate().await;
    }

    /// A text waits for a look, and no body is missing then.
    #[tokio::test(start_paused = true)]
    async fn a_text_that_takes_long_is_refused_with_the_reason() {
        let system = supervise_core::ActorSystem::new("shop");
        let service = Service::new(super::super::super::running::Shared::idle(&system));
        let (mut client, ours) = duplex(4 * 1_024);
        let asking = async move {
            client
                .write_all(b"GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .await
                .expect("room");
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.expect("text");
            answer
        };
        let (ended, answer) = tokio::join!(connection(Io::new(ours), service), asking);
        ended.expect("it is answered");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with(LOOKS_LONG), "{answer}");
        system.terminate().await;
    }

    /// A process that hangs, or is stopped by a signal, keeps its socket but accepts no connection.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_whose_owner_accepts_no_connection_is_refused_at_once() {
        use std::os::unix::net::UnixStream;

        let system = supervise_core::ActorSystem::new("shop");
        let path = std::env::temp_dir().join(format!("supervise-console-{}.sock", std::process::id()));
        let socket = tokio::net::UnixSocket::new_stream().expect("a socket");
        socket.bind(&path).expect("a free path");
        let owner = socket.listen(0).expect("it listens");
        let _first = UnixStream::connect(&path).expect("there is room for one");
        let (done, ended) = std::sync::mpsc::channel();
        let (console, at) = (Console::of(&system), path.clone());
        std::thread::spawn(move || done.send(console.unix(at).map(drop)));
        let ended = ended.recv_timeout(Duration::from_secs(10)).expect("it does not wait for the owner");
        assert_eq!(ended.expect_err("it is in use").kind(), io::ErrorKind::AddrInUse);
        drop(owner);
        Console::of(&system).unix(&path).expect("nobody listens there any more");
        std::fs::remove_file(&path).expect("it is there");
        system.terminate().await;
    }

    /// The connections that have been silent longest are closed.
    #[tokio::test(start_paused = true)]
    async fn who_speaks_is_not_closed_for_another() {
        const ASK: &[u8] = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let system = supervise_core::ActorSystem::new("shop");
        let service = Console::of(&system).service();
        let (dial, dialled) = tokio::sync::mpsc::unbounded_channel();
        let dialled = tokio::sync::Mutex::new(dialled);
        let serving =
            serve(service, async || Ok(dialled.lock().await.recv().await.expect("there is always one more")));
        let mut silent = Vec::new();
        let mut silence = |clients: usize| {
            for _ in 0..clients {
                let (theirs, ours) = duplex(64);
                dial.send(ours).expect("it listens");
                silent.push(theirs);
            }
        };
        let (mut client, ours) = duplex(64 * 1_024);
        dial.send(ours).expect("it listens");
        let speaking = async {
            silence(CONNECTIONS - 1);
            for _ in 0..3 {
                sleep(Duration::from_secs(1)).await;
                client.write_all(ASK).await.expect("it is open");
                let mut answer = Vec::new();
                while !answer.ends_with(b"Try / or /text.\n") {
                    assert_ne!(client.read_buf(&mut answer).await.expect("it is open"), 0, "it was closed");
                }
                silence(CONNECTIONS - 1);
            }
        };
        tokio::select! {
            () = speaking => {}
            () = serving => unreachable!("it serves for ever"),
        }
        system.terminate().await;
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
