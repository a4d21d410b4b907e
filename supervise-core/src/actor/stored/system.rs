//! The store of a system.

use std::sync::{Arc, Weak};

use crate::actor::dispatch;
use crate::actor::system::SystemCore;
use crate::durable::{self, Fate, Inbox, Listener, MessageId, MessageStore, News};
use crate::observe::{self, DeadLetterReason, Event, GivenUp, Lost};

/// Starts the writer of a system's store.
pub(in crate::actor) fn start(system: &Arc<SystemCore>, store: Box<dyn MessageStore>) -> Arc<Inbox> {
    let reporter = Arc::new(Reporter(Arc::downgrade(system)));
    let (inbox, writer) = durable::writer(store, system.name(), reporter);
    let task = dispatch::start(system, writer);
    #[cfg(feature = "testkit")]
    system.dies(task);
    #[cfg(not(feature = "testkit"))]
    drop(task);
    inbox
}

/// Reports the news of a store as events and dead letters.
struct Reporter(Weak<SystemCore>);

impl Listener for Reporter {
    fn hear(&self, news: News) {
        let Some(system) = self.0.upgrade() else { return };
        let events = system.observer().events();
        match news {
            News::Kept { owner, queue, messages } => {
                events.publish(Event::Kept { actor: owner, queue, messages });
            }
            News::Quarantined { owner, queue, id, fate, kind, name, failures } => {
                let name = name.unwrap_or("a message of another release");
                let deliveries = u32::try_from(failures.len()).unwrap_or(u32::MAX);
                let lost = Lost::new(name, reason(fate), false);
                let given_up = GivenUp::InQuarantine;
                let lost =
                    Lost { deliveries, permitted: deliveries, given_up, failures: failures.clone(), ..lost };
                system.dead_letter(|| (owner.clone(), None), lost);
                events.publish(Event::Quarantined { actor: owner, queue, id, kind, fate, failures });
            }
            News::Unowned { queue, messages } => {
                observe::queue_unowned(&queue, messages);
                events.publish(Event::QueueUnowned { queue, messages });
            }
            News::Missing(messages) => {
                let messages = messages.into_iter().map(|(queue, seq)| MessageId { queue, seq }).collect();
                events.publish(Event::MessagesMissing { messages });
            }
            News::Failed(error) => {
                observe::store_failed(&error);
                events.publish(Event::StoreFailed { error: error.into() });
            }
            News::Opened => events.publish(Event::StoreOpened),
        }
    }
}

fn reason(fate: Fate) -> DeadLetterReason {
    match fate {
        Fate::Failed => DeadLetterReason::Quarantined,
        Fate::Undecodable => DeadLetterReason::Undecodable,
        Fate::Damaged => DeadLetterReason::Damaged,
        Fate::CrashedTheProcess => DeadLetterReason::CrashedTheProcess,
    }
}
