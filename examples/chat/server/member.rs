//! One connection of a user. Whatever goes wrong with it ends this actor and nothing else.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::SinkExt as _;
use futures_util::StreamExt as _;
use futures_util::stream::{SplitSink, SplitStream};
use supervise::prelude::*;

use super::room::RoomRef;

/// After this long without a message, the server checks whether the user's end is still there.
const QUIET: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub(crate) enum MemberError {
    #[error("the room does not answer: {0}")]
    Room(#[from] AskError),
    #[error("the connection broke: {0}")]
    Broken(#[from] axum::Error),
}

/// Lines wait in the member's mailbox while the user does not read. The room removes a member whose mailbox is full.
#[actor(mailbox = bounded(256), stop_timeout = "500ms")]
pub(crate) struct Member {
    name: String,
    room: RoomRef,
    reading: Option<SplitStream<WebSocket>>,
    writing: SplitSink<WebSocket, Message>,
}

impl Member {
    pub(crate) fn new(name: String, room: RoomRef, socket: WebSocket) -> Self {
        let (writing, reading) = socket.split();
        Self { name, room, reading: Some(reading), writing }
    }

    async fn write(&mut self, line: &str) -> Result<(), MemberError> {
        Ok(self.writing.send(Message::text(line)).await?)
    }
}

#[actor]
impl Member {
    #[pre_start]
    async fn join(&mut self, ctx: &mut Context<Self>) -> Result<(), MemberError> {
        for line in self.room.join(self.name.clone(), ctx.me()).await? {
            self.write(&line).await?;
        }
        if let Some(reading) = self.reading.take() {
            let messages = ctx.try_attach(reading, MemberRef::received);
            ctx.at_end(messages, MemberRef::closed);
            ctx.set_receive_timeout(QUIET, || MemberMessage::Quiet);
        }
        Ok(())
    }

    #[handler]
    async fn received(&mut self, message: Message, ctx: &mut Context<Self>) -> Result<(), MemberError> {
        match message {
            Message::Text(text) => {
                assert!(text.as_str() != "bug", "a bug that one user brings to light");
                self.room.say(self.name.clone(), text.to_string(), ctx.me()).await?;
            }
            Message::Close(_) => ctx.stop_self(),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
        }
        Ok(())
    }

    #[handler]
    async fn show(&mut self, line: Arc<str>) -> Result<(), MemberError> {
        self.write(&line).await
    }

    #[handler]
    async fn quiet(&mut self) -> Result<(), MemberError> {
        Ok(self.writing.send(Message::Ping(Vec::new().into())).await?)
    }

    #[handler]
    fn closed(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}
