//! The actors: games, which live on the nodes, and the ledger, which lives at the desk.

use std::collections::HashMap;
use std::time::Duration;

use supervise::prelude::*;
use supervise::sharded::{ShardError, Sharded};

/// How many games are played at the same time.
pub(crate) const GAMES: u32 = 48;

/// One game of the World Cup: an actor on one of the nodes.
#[actor]
pub(crate) struct Game {
    goals: u32,
}

/// A goal that does not count. The game fails, and begins again with 0 goals.
#[derive(Debug, thiserror::Error)]
#[error("goal {0} does not count")]
pub(crate) struct Offside(u64);

#[actor(remote)]
impl Game {
    /// Counts a goal, and answers when the ledger knows of it. Every 50th is offside.
    #[handler]
    async fn goal(&mut self, number: u64, ledger: LedgerRef, reply: ReplyTo<u32>) -> Result<(), Offside> {
        self.goals += 1;
        // A node that has just started may get a goal from another node before it knows the desk. Then the ledger does not learn of the
        // goal, and its asker gets no answer and sends it again.
        if ledger.handled(number).await.is_ok() {
            reply.answer(self.goals);
        }
        if number.is_multiple_of(50) { Err(Offside(number)) } else { Ok(()) }
    }
}

/// Lives at the desk, and hears what was handled.
#[actor]
#[derive(Default)]
pub(crate) struct Ledger {
    /// How often each goal was handled.
    handled: HashMap<u64, u32>,
}

#[actor(remote)]
impl Ledger {
    #[handler]
    fn handled(&mut self, number: u64) {
        *self.handled.entry(number).or_default() += 1;
    }

    /// How many of the goals with these numbers were handled, and how many of them more than once.
    #[handler(local)]
    fn count(&mut self, from: u64, to: u64) -> (usize, usize) {
        let times = self.handled.iter().filter(|(number, _)| (from..to).contains(*number));
        let times: Vec<u32> = times.map(|(_, times)| *times).collect();
        (times.len(), times.iter().filter(|times| **times > 1).count())
    }
}

/// The parent of the games of one node. Its table decides what happens when a goal is offside.
#[actor]
#[supervise(one_for_one, on(Offside) = Restart)]
pub(crate) struct Stadium {
    is_desk: bool,
    games: Option<Sharded<u32, Game>>,
}

impl Stadium {
    /// Where games are played.
    pub(crate) fn node() -> Self {
        Self { is_desk: false, games: None }
    }

    /// Knows the games and plays none.
    pub(crate) fn desk() -> Self {
        Self { is_desk: true, games: None }
    }
}

#[actor]
impl Stadium {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), ShardError> {
        let games = Sharded::of(|_: &u32| Game { goals: 0 }).handover(Duration::from_secs(3));
        let games = if self.is_desk { games.proxy() } else { games };
        self.games = Some(games.spawn(ctx, "games")?);
        Ok(())
    }

    #[handler]
    fn games(&mut self) -> Option<Sharded<u32, Game>> {
        self.games.clone()
    }
}
