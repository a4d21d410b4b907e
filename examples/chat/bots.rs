//! Bots that talk.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Barrier, watch};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::server::Line;

/// How long a bot waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);

type Socket = WebSocketStream<TcpStream>;

/// What a steady bot saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) room: usize,
    pub(crate) said: Vec<(u64, String, String)>,
    /// The connection ended before the bot wanted it.
    pub(crate) lost: bool,
}

async fn enter(server: SocketAddr, room: usize, name: &str) -> Result<Socket, Error> {
    enter_by(TcpStream::connect(server).await?, server, room, name).await
}

async fn enter_by(stream: TcpStream, server: SocketAddr, room: usize, name: &str) -> Result<Socket, Error> {
    let (socket, _) =
        tokio_tungstenite::client_async(format!("ws://{server}/rooms/room{room}/{name}"), stream).await?;
    Ok(socket)
}

fn line(message: Option<Result<Message, Error>>) -> Option<Line> {
    match message? {
        Ok(Message::Text(text)) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

/// What a steady bot says.
pub(crate) fn text(name: &str, number: usize) -> String {
    // Long enough to fill the buffers of somebody who does not read.
    format!("{name} says its text {number}: {}", "darn ".repeat(200))
}

/// Enters, waits for the others, talks, and listens until the end.
pub(crate) async fn steady(
    server: SocketAddr,
    room: usize,
    name: String,
    texts: usize,
    here: &Barrier,
    mut end: watch::Receiver<bool>,
) -> Seen {
    let mut seen = Seen { room, ..Seen::default() };
    let socket = enter(server, room, &name).await;
    here.wait().await;
    let Ok(socket) = socket else { return Seen { lost: true, ..seen } };
    let (mut writing, mut reading) = socket.split();
    let talk = async {
        for number in 1..=texts {
            if writing.send(Message::text(text(&name, number))).await.is_err() {
                break;
            }
            sleep(Duration::from_millis(fastrand::u64(5..100))).await;
        }
        let _ended = end.wait_for(|end| *end).await;
    };
    let listen = async {
        while let Some(line) = line(reading.next().await) {
            if let Line::Said { number, from, text } = line {
                seen.said.push((number, from, text));
            }
        }
        seen.lost = true;
    };
    tokio::select! {
        () = talk => {}
        () = listen => {}
    }
    let _closed = writing.close().await;
    // Closing the socket at once would cut off what the server still sends.
    let _answered = timeout(PATIENCE, async { while let Some(Ok(_)) = reading.next().await {} }).await;
    seen
}

/// Says a text that makes the room's filter panic. Returns how often the text was refused.
pub(crate) async fn poisoner(server: SocketAddr, room: usize, times: usize) -> usize {
    let Ok(mut socket) = enter(server, room, "poisoner").await else { return 0 };
    let mut refused = 0;
    for _ in 0..times {
        if socket.send(Message::text("poison")).await.is_err() {
            break;
        }
        let answer = timeout(PATIENCE, async {
            while let Some(line) = line(socket.next().await) {
                if let Line::Refused { .. } = line {
                    return true;
                }
            }
            false
        });
        refused += usize::from(answer.await.unwrap_or(false));
        sleep(Duration::from_millis(100)).await;
    }
    let _closed = socket.close(None).await;
    let _answered = timeout(PATIENCE, async { while let Some(Ok(_)) = socket.next().await {} }).await;
    refused
}

/// Makes its own member panic, and comes back. Returns how often its connection ended.
pub(crate) async fn clumsy(server: SocketAddr, room: usize, times: usize) -> usize {
    let mut ended = 0;
    for _ in 0..times {
        let Ok(mut socket) = enter(server, room, "clumsy").await else { continue };
        if socket.send(Message::text("bug")).await.is_ok() {
            let end = timeout(PATIENCE, async { while line(socket.next().await).is_some() {} });
            ended += usize::from(end.await.is_ok());
        }
        sleep(Duration::from_millis(100)).await;
    }
    ended
}

/// Breaks off in the middle of a frame, with a reset. Returns how often.
pub(crate) async fn cutter(server: SocketAddr, room: usize, times: usize) -> usize {
    let mut cut = 0;
    for _ in 0..times {
        let Ok(mut socket) = enter(server, room, "cutter").await else { continue };
        let stream = socket.get_mut();
        // A text of 100 bytes, of which two come.
        let half = stream.write_all(&[0x81, 0xe4, 1, 2, 3, 4, b'h' ^ 1, b'i' ^ 2]).await;
        sleep(Duration::from_millis(100)).await;
        cut += usize::from(half.is_ok() && stream.set_zero_linger().is_ok());
    }
    cut
}

/// Enters and reads nothing until the end.
pub(crate) async fn deaf(server: SocketAddr, room: usize, mut end: watch::Receiver<bool>) -> Result<(), Error> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let _unread = enter_by(socket.connect(server).await?, server, room, "deaf").await?;
    let _ended = end.wait_for(|end| *end).await;
    Ok(())
}
