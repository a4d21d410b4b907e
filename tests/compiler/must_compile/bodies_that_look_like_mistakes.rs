//! Bodies that a check for mistakes must leave alone.
#![deny(warnings)]

use std::sync::Arc;

use supervise::prelude::*;

/// An enum whose name begins like that of the messages.
#[derive(Debug)]
pub enum FeedMessageKind {
    Short,
}

/// Enums under the name of the messages, elsewhere.
mod hardware {
    #[derive(Debug, PartialEq)]
    pub enum FeedMessage {
        Jammed,
    }
}

/// A rule can look into a struct, by a path.
#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
pub struct Status(u16);

#[actor]
#[supervise(on(self::Status(500..)) = Restart, on(self::Status) = Stop)]
pub struct Client;

#[actor]
impl Client {}

struct Holder {
    ctx: u32,
}

#[actor]
pub struct Feed {
    topic: String,
    shared: Arc<u32>,
    last: Option<FeedMessageKind>,
}

#[actor]
#[supervise(on(_) = Stop)]
pub struct Office {
    names: Vec<String>,
}

#[actor]
impl Feed {
    #[handler]
    fn binds_its_own(&mut self) -> u32 {
        let held = Holder { ctx: 1 };
        let Holder { ctx } = held;
        ctx.saturating_add(1)
    }

    #[handler]
    fn in_a_pattern(&mut self, value: Option<u32>) -> u32 {
        if let Some(ctx) = value { ctx.saturating_add(1) } else { 0 }
    }

    #[handler]
    fn in_a_closure(&mut self) -> bool {
        let stop = |ctx: &mut Context<Self>| ctx.stop_self();
        let _ = stop;
        [1_u32].iter().map(|ctx| ctx.saturating_add(1)).sum::<u32>() == 2
    }

    #[handler]
    fn a_field(&self) -> u32 {
        let held = Holder { ctx: 1 };
        held.ctx.saturating_add(1)
    }

    #[handler]
    fn before_a_task(&self) {
        drop(tokio::spawn(waits(Arc::clone(&self.shared))));
        let shared = Arc::clone(&self.shared);
        drop(tokio::spawn(async move { drop(shared) }));
    }

    #[handler]
    fn piped(&mut self, ctx: &mut Context<Self>) {
        ctx.pipe(waits(Arc::clone(&self.shared)), |me, ()| me.named());
    }

    #[handler]
    fn named(&mut self) {
        self.last = Some(FeedMessageKind::Short);
        assert_eq!(hardware::FeedMessage::Jammed, {
            use hardware::FeedMessage;
            FeedMessage::Jammed
        });
        assert!(!matches!(FeedMessage::named_like_a_variant(), FeedMessage::Piped));
    }
}

impl FeedMessage {
    fn named_like_a_variant() -> Self {
        Self::Named
    }
}

#[actor]
impl Office {
    #[handler]
    fn open(&mut self, context: &mut Context<Self>) -> Result<FeedRef, SpawnError> {
        let topic = self.names.concat();
        let feed = context.spawn(self.names.concat(), move || Feed {
            topic: topic.clone(),
            shared: Arc::new(1),
            last: None,
        })?;
        context.stop(&feed);
        Ok(feed)
    }
}

async fn waits(shared: Arc<u32>) {
    drop(shared);
}

pub(super) fn main() {
    assert!(Status(1).to_string().contains('1'));
    let _ = Client;
    let feed = Feed { topic: String::new(), shared: Arc::new(1), last: None };
    assert!(feed.topic.is_empty());
}
