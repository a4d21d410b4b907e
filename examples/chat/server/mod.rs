//! The chat itself: what the example runs, and what the test in a browser opens.

mod door;
mod member;
mod room;
mod web;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use supervise::Phase;
use supervise::prelude::*;
use tokio::net::TcpSocket;
use tokio::sync::oneshot;

use self::door::Door;
pub(crate) use self::door::{DoorRef, Traffic};
use self::room::Rooms;
pub(crate) use self::web::line::Line;

/// How many bytes the kernel buffers for a user who does not read. The rest waits in the member's mailbox.
const SEND_BUFFER: u32 = 16 * 1024;
const BACKLOG: u32 = 1024;

/// A failure that no table below decides ends the system.
#[supervise(one_for_one(max_retries = 20, within = "1m", on_limit = Escalate), on(_) = Restart)]
struct Top;

/// A chat that serves.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) system: ActorSystem,
    pub(crate) door: DoorRef,
}

/// Serves on a port of 127.0.0.1 until the system is terminated.
pub(crate) fn start(port: u16) -> Result<Server, Box<dyn Error>> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    let bound = socket.bind((Ipv4Addr::LOCALHOST, port).into()).and_then(|()| socket.listen(BACKLOG));
    let listener = bound.map_err(|error| format!("cannot listen on 127.0.0.1:{port}: {error}"))?;
    let address = listener.local_addr()?;

    let system = ActorSystem::builder("chat").supervised_by::<Top>().start()?;
    let (close, closed) = oneshot::channel::<()>();
    system.coordinated_shutdown().add_task(Phase::SERVICE_UNBIND, "close the listener", async move {
        let _closed_already = close.send(());
    })?;
    let rooms = system.spawn("rooms", Rooms::default)?;
    let door = system.spawn("door", move || Door::new(rooms.clone()))?;
    let app = web::router(door.clone());
    tokio::spawn(async move {
        let until = async move { drop(closed.await) };
        axum::serve(listener, app).with_graceful_shutdown(until).await
    });
    Ok(Server { address, system, door })
}
