//! One connection. Whatever goes wrong with it ends this actor and nothing else.

use std::time::Duration;

use supervise::prelude::*;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Encoder as _, FramedRead};

use crate::protocol::{Codec, Frame};
use crate::registry::{DeviceRef, RegistryRef};

/// A device that has been silent for this long counts as gone, although nobody closed the connection.
pub(crate) const SILENCE: Duration = Duration::from_secs(8);
/// A device that has not read for this long counts as gone too.
const DEAF: Duration = Duration::from_secs(2);
/// The value that triggers a bug of this server.
pub(crate) const POISON: i32 = i32::MIN;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("silent for {SILENCE:?}")]
    Silent,
    #[error("does not read for {DEAF:?}")]
    Deaf,
    #[error("unexpected: {0:?}")]
    Unexpected(Frame),
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
    #[error("the device does not answer: {0}")]
    Device(#[from] AskError),
    #[error("the device is refused: {0}")]
    Refused(#[from] SpawnError),
}

#[actor]
pub(crate) struct Session {
    registry: RegistryRef,
    reading: Option<OwnedReadHalf>,
    writing: OwnedWriteHalf,
    /// Known after the first frame.
    device: Option<DeviceRef>,
}

impl Session {
    pub(crate) fn new(socket: TcpStream, registry: RegistryRef) -> Self {
        let (reading, writing) = socket.into_split();
        Self { registry, reading: Some(reading), writing, device: None }
    }

    async fn write(&mut self, frame: Frame) -> Result<(), SessionError> {
        let mut bytes = BytesMut::new();
        Codec.encode(frame, &mut bytes)?;
        timeout(DEAF, self.writing.write_all(&bytes)).await.map_err(|_| SessionError::Deaf)??;
        Ok(())
    }
}

#[actor]
impl Session {
    /// Bytes that are not a frame fail the session, because `try_attach` makes a failure of a stream's error.
    #[pre_start]
    fn read(&mut self, ctx: &mut Context<Self>) {
        if let Some(reading) = self.reading.take() {
            let frames = ctx.try_attach(FramedRead::new(reading, Codec), SessionRef::frame);
            ctx.at_end(frames, SessionRef::closed);
            ctx.set_receive_timeout(SILENCE, || SessionMessage::Silent);
        }
    }

    #[handler]
    async fn frame(&mut self, frame: Frame, ctx: &mut Context<Self>) -> Result<(), SessionError> {
        match (frame, &self.device) {
            (Frame::Hello { device }, None) => {
                let device = self.registry.device(device).await??;
                let last = device.connected(ctx.me()).await?;
                self.device = Some(device);
                self.write(Frame::Welcome { last }).await
            }
            (Frame::Reading { number, value }, Some(device)) => {
                assert!(value != POISON, "a bug that one value brings to light");
                if !device.read(number, value).await? {
                    return Err(SessionError::Unexpected(frame));
                }
                self.write(Frame::Counted { number }).await
            }
            (Frame::Heartbeat, Some(_)) => Ok(()),
            _ => Err(SessionError::Unexpected(frame)),
        }
    }

    #[handler]
    fn silent(&mut self) -> Result<(), SessionError> {
        Err(SessionError::Silent)
    }

    /// The device has closed its end.
    #[handler]
    fn closed(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    /// The device has a newer connection.
    #[handler]
    fn replaced(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}
