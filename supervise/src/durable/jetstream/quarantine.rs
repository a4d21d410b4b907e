//! Messages in quarantine.

use std::collections::BTreeSet;
use std::time::SystemTime;

use async_nats::jetstream::stream;
use supervise_core::durable::{Fate, MessageId, Quarantined, Seq, StoreError, StoreErrorKind, Stored};

use super::open::Open;
use super::read::{last_messages, last_number};
use super::{Result, broken, record};

impl Open {
    pub(super) async fn confine(&mut self, id: MessageId, fate: Fate, failures: Vec<String>) -> Result<()> {
        if let Some(message) = self.waiting(id).await? {
            let message = Stored { failures, ..message };
            let payload = record::encode_confined(&message, fate, SystemTime::now());
            self.put(&of_quarantine(id), payload).await?;
            self.remove(id.queue, BTreeSet::from([id.seq.0])).await?;
        }
        Ok(())
    }

    pub(super) async fn confined(&self, id: MessageId) -> Result<Option<Stored>> {
        let subject = self.subject(&of_quarantine(id));
        match self.quarantine.get_last_raw_message_by_subject(&subject).await {
            Ok(found) => Ok(Some(record::decode_confined(id.seq.0, &found.payload).0)),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    pub(super) async fn quarantined(&mut self, name: &str) -> Result<Vec<Quarantined>> {
        let Some(queue) = self.by_name(name) else {
            let text = format!("the message store on NATS: there is no queue {name}");
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        };
        let mut found =
            last_messages(&self.quarantine, self.subject(&format!("quarantine.{}.*", queue.0))).await?;
        found.sort_by_key(|(.., revision)| *revision);
        let quarantined = found.into_iter().filter_map(|(subject, payload, _)| {
            let seq = last_number(&subject)?;
            let (message, fate, since) = record::decode_confined(seq, &payload);
            Some(Quarantined { id: MessageId { queue, seq: Seq(seq) }, fate, since, message })
        });
        Ok(quarantined.collect())
    }
}

pub(super) fn of_quarantine(id: MessageId) -> String {
    format!("quarantine.{}.{}", id.queue.0, id.seq.0)
}
