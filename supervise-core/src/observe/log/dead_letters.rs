//! The lines about dead letters, and about messages that failed at their last delivery.
//!
//! Rules 10.1 and 10.4.

use std::fmt::{self, Display, Formatter};

use tracing::{debug, info, warn};

use super::{Chain, InWords};
use crate::base::TARGET;
use crate::observe::dead_letter::{DeadLetter, GivenUp};
use crate::observe::thinned::{MOST_LINES, MissedLetters, OF_DEAD_LETTERS};

/// How many recipients a line names.
const NAMED: usize = 3;

pub(in crate::observe) fn dead_letter(letter: &DeadLetter) {
    let DeadLetter { recipient, sender, message: letter, reason, .. } = letter;
    let sender = sender.as_ref().map(tracing::field::display);
    let to = recipient.local();
    info!(target: TARGET, %recipient, letter, ?reason, sender, "a message became a dead letter: `{letter}` to {to}");
}

pub(in crate::observe) fn quiet_dead_letter(letter: &DeadLetter) {
    let DeadLetter { recipient, sender, message: letter, reason, .. } = letter;
    let sender = sender.as_ref().map(tracing::field::display);
    let to = recipient.local();
    debug!(target: TARGET, %recipient, letter, ?reason, sender, "a message became a dead letter: `{letter}` to {to}");
}

pub(in crate::observe) fn dead_letters_pause() {
    info!(
        target: TARGET,
        "{MOST_LINES} dead letters within {}: further ones in this time are counted and logged at debug level only",
        InWords(OF_DEAD_LETTERS)
    );
}

pub(in crate::observe) fn dead_letters_missed(missed: &MissedLetters) {
    let all = missed.all;
    let (letters, were) = if all == 1 { ("letter", "was") } else { ("letters", "were") };
    info!(target: TARGET, missed = all, "{all} dead {letters} {were} logged at debug level only{}", ToWhom(missed));
}

/// The recipients of most dead letters: `: 1000 to /user/office/reports, 12 to others`.
struct ToWhom<'a>(&'a MissedLetters);

impl Display for ToWhom<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(MissedLetters { all, recipients }) = self;
        let mut before = ": ";
        let mut others = *all;
        for (recipient, letters) in recipients.iter().take(NAMED) {
            write!(f, "{before}{letters} to {}", recipient.local())?;
            others = others.saturating_sub(*letters);
            before = ", ";
        }
        if others > 0 && others < *all { write!(f, "{before}{others} to others") } else { Ok(()) }
    }
}

pub(in crate::observe) fn quarantined(letter: &DeadLetter, given_up: GivenUp) {
    let DeadLetter { recipient, message: letter, reason, failures, deliveries, permitted, .. } = letter;
    match failures.last() {
        None => {
            warn!(target: TARGET, %recipient, letter, ?reason, deliveries, permitted, "a message was delivered but never handled");
        }
        Some(last) => warn!(
            target: TARGET, %recipient, letter, ?reason, deliveries, permitted,
            "a message failed at {}: {}", Deliveries { made: *deliveries, permitted: *permitted, given_up }, Chain(last)
        ),
    }
}

/// How many deliveries of a message have failed, and why no other follows.
struct Deliveries {
    made: u32,
    permitted: u32,
    given_up: GivenUp,
}

impl Display for Deliveries {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { made, permitted, given_up } = *self;
        let why = match given_up {
            #[cfg(feature = "durable")]
            GivenUp::InQuarantine => return f.write_str("its last delivery, and is in quarantine"),
            _ if made >= permitted => return f.write_str("every delivery"),
            GivenUp::Stopped => "its actor stopped before the next",
            GivenUp::NoRoom => "its actor had no room to keep it for the next",
        };
        let deliveries = if made == 1 { "delivery" } else { "deliveries" };
        write!(f, "{made} {deliveries} of {permitted}, and {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_that_were_not_made_are_explained() {
        let written = [(3, 3, GivenUp::Stopped), (1, 6, GivenUp::Stopped), (2, 6, GivenUp::NoRoom)]
            .map(|(made, permitted, given_up)| Deliveries { made, permitted, given_up }.to_string());
        let expected = [
            "every delivery",
            "1 delivery of 6, and its actor stopped before the next",
            "2 deliveries of 6, and its actor had no room to keep it for the next",
        ];
        assert_eq!(written, expected);
    }
}
