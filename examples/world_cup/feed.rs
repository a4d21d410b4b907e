//! The child that takes the risks: it does one remote read per message. Its only state is a connection, and a restart replaces that
//! connection.

use std::net::SocketAddr;

use serde::de::DeserializeOwned;
use supervise::prelude::*;

use crate::connection::{Connection, FeedError};
use crate::protocol::Question;
use crate::tournament::{Match, MatchId};

/// Reads from the feed server.
#[actor]
#[derive(Debug)]
pub(crate) struct Feed {
    server: SocketAddr,
    /// The first question opens it.
    connection: Option<Connection>,
}

#[actor]
impl Feed {
    pub(crate) fn new(server: SocketAddr) -> Self {
        Self { server, connection: None }
    }

    /// Returns the ids of all matches. `attempt` counts from 1 how often the asker has tried with this feed.
    #[handler]
    async fn index(&mut self, attempt: u32) -> Result<Vec<MatchId>, FeedError> {
        self.ask(Question::Index).await.map_err(|error| error.at_attempt(attempt))
    }

    /// Returns one match. `attempt` counts from 1 how often the asker has tried with this feed.
    #[handler]
    async fn fetch(&mut self, id: MatchId, attempt: u32) -> Result<Match, FeedError> {
        self.read(id).await.map_err(|error| error.at_attempt(attempt))
    }

    async fn read(&mut self, id: MatchId) -> Result<Match, FeedError> {
        let question = Question::Get(id);
        let game: Match = self.ask(question).await?;
        if game.id == id { Ok(game) } else { Err(FeedError::OutOfStep { question }) }
    }

    async fn ask<T: DeserializeOwned>(&mut self, question: Question) -> Result<T, FeedError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::open(self.server).await?),
        };
        connection.ask(question).await
    }
}
