//! A client that can send requests that no browser sends.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use supervise::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// After this long, a test fails instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn system() -> (Runtime, ActorSystem) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let system = {
        let _inside = runtime.enter();
        ActorSystem::new("shop")
    };
    (runtime, system)
}

/// Everything that the server sends after these bytes, until it closes the connection.
pub(crate) fn said(address: SocketAddr, bytes: &[u8]) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(bytes)?;
    let mut whole = Vec::new();
    // A refusal may come before the server has read everything, and then the connection is reset.
    let read = BufReader::new(socket).read_to_end(&mut whole);
    if whole.is_empty() {
        read?;
    }
    Ok(String::from_utf8(whole).expect("text"))
}

/// The status codes of answers that follow each other.
pub(crate) fn statuses(answers: &str) -> Vec<u16> {
    let lines = answers.split("HTTP/1.1 ").skip(1);
    lines.map(|answer| answer[..3].parse().expect("a status")).collect()
}

/// The status of `POST /act` with these headers and this body.
pub(crate) fn act(address: SocketAddr, headers: &str, body: &str) -> io::Result<u16> {
    let length = body.len();
    let request = format!(
        "POST /act HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let answer = said(address, request.as_bytes())?;
    statuses(&answer).first().copied().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The headers of a request that is allowed.
pub(crate) fn allowed(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\n")
}

pub(crate) fn asked(actor: &supervise::AnyActorRef, restarts: u32, what: &str) -> String {
    let (path, uid) = (actor.path(), u64::from(actor.uid()));
    let path = path.local();
    format!("{{\"path\":\"{path}\",\"uid\":\"{uid}\",\"restarts\":{restarts},\"what\":\"{what}\"}}")
}
