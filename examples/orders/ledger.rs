//! What became of the orders.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use supervise::durable::Quarantined;

use crate::{Result, intake};

pub(crate) struct Ledger {
    accepted: usize,
    handled: usize,
    handled_twice: usize,
    quarantined: usize,
    lost: usize,
}

impl Ledger {
    /// Orders from 1 to `accepted` were accepted.
    pub(crate) fn read(folder: &Path, accepted: u32, quarantined: Vec<Quarantined>) -> Result<Self> {
        let mut times = BTreeMap::<u32, usize>::new();
        for line in std::fs::read_to_string(intake::database(folder))?.lines() {
            *times.entry(line.parse()?).or_default() += 1;
        }
        // The text of a failure contains the number of its order.
        let confined = |number: u32| {
            let text = format!("order {number} ");
            quarantined.iter().any(|one| one.message.failures.iter().any(|failure| failure.contains(&text)))
        };
        let lost = (1..=accepted).filter(|number| !times.contains_key(number) && !confined(*number));
        Ok(Self {
            accepted: accepted as usize,
            handled: times.len(),
            handled_twice: times.values().filter(|times| **times > 1).count(),
            quarantined: quarantined.len(),
            lost: lost.count(),
        })
    }

    /// Nothing is lost, and at most one order for each kill was handled twice: the one that was under way.
    pub(crate) fn is_even(&self, kills: u32) -> bool {
        let all = self.handled + self.quarantined == self.accepted;
        all && self.lost == 0 && self.handled_twice <= kills as usize
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} orders accepted: {} handled, {} of them twice, {} in quarantine, {} lost",
            self.accepted, self.handled, self.handled_twice, self.quarantined, self.lost
        )
    }
}
