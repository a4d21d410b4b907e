//! The clients. A client that gets no answer, or a 503, sends the same order again under the same id.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::tally::Tally;

/// How long a client waits for an answer: longer than the service takes to refuse.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two orders of a client, and before it tries again.
const PAUSE: Duration = Duration::from_millis(2);
const BEFORE_RETRY: Duration = Duration::from_millis(50);
/// How many customers order at a time. Every second a new one begins and the oldest one stops.
const AT_A_TIME: u64 = 20;

/// One of this many orders triggers a bug of the service.
const POISON: u64 = 500;

/// A connection that is kept for further requests.
pub(crate) struct Connection {
    service: SocketAddr,
    stream: Option<BufStream<TcpStream>>,
}

impl Connection {
    pub(crate) fn new(service: SocketAddr) -> Self {
        Self { service, stream: None }
    }

    /// Sends a request. Returns the status and the body, or `None` if the connection broke or nothing came.
    pub(crate) async fn request(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let stream = self.stream.take();
        let (stream, answer) =
            timeout(PATIENCE, exchange(self.service, stream, method, path, body)).await.ok()??;
        self.stream = Some(stream);
        Some(answer)
    }
}

async fn exchange(
    service: SocketAddr,
    stream: Option<BufStream<TcpStream>>,
    method: &str,
    path: &str,
    body: &str,
) -> Option<(BufStream<TcpStream>, (u16, String))> {
    let mut stream = match stream {
        Some(stream) => stream,
        None => BufStream::new(TcpStream::connect(service).await.ok()?),
    };
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {service}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((stream, (status, String::from_utf8(body).ok()?)))
}

/// Sends an order once, and notes the answer. Returns whether the order is done.
async fn send(connection: &mut Connection, tally: &Tally, customer: &str, id: &str, article: &str) -> bool {
    let began = Instant::now();
    tally.counts().sent.insert(id.to_owned());
    let answer = connection.request("PUT", &format!("/customers/{customer}/orders/{id}"), article).await;
    let mut counts = tally.counts();
    let Some((status, body)) = answer else {
        counts.unanswered += 1;
        return false;
    };
    let number = if matches!(status, 200 | 201) { body.parse().ok() } else { None };
    counts.answered(id, status, number, began.elapsed());
    number.is_some() || status == 500
}

/// A client that orders until it is told to end.
pub(crate) async fn order(client: u64, service: SocketAddr, tally: Tally, end: watch::Receiver<bool>) {
    let mut connection = Connection::new(service);
    let mut random = fastrand::Rng::with_seed(client);
    let began = Instant::now();
    for number in 1_u64.. {
        let customer = format!("customer-{}", began.elapsed().as_secs() + random.u64(0..AT_A_TIME));
        let article = if number % POISON == client % POISON { "poison" } else { "tea" };
        let id = format!("{client}-{number}");
        while !send(&mut connection, &tally, &customer, &id, article).await {
            if *end.borrow() {
                return;
            }
            sleep(BEFORE_RETRY).await;
        }
        if *end.borrow() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Sends this many orders for one customer, all at once and each only once. Returns how many were refused faster
/// than `fast`.
pub(crate) async fn rush(orders: usize, service: SocketAddr, tally: &Tally, fast: Duration) -> usize {
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..orders {
        let tally = tally.clone();
        sending.spawn(async move {
            let began = Instant::now();
            let mut connection = Connection::new(service);
            let done = send(&mut connection, &tally, "rush", &format!("rush-{number}"), "tea").await;
            !done && began.elapsed() < fast
        });
    }
    sending.join_all().await.into_iter().filter(|refused_fast| *refused_fast).count()
}
