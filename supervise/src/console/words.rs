//! Numbers, durations and type names as people read them.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use supervise_core::{DeadLetterReason, Outcome};

use super::sight::Decision;

/// A duration: `40 ms`, `2.5 s`, `2 min 14 s`, `3 h 5 min`, `3 d 4 h`.
pub(super) struct Span(pub(super) Duration);

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let tenth = self.0.subsec_millis() / 100;
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..10 if tenth > 0 => write!(f, "{seconds}.{tenth} s"),
            1..60 => write!(f, "{seconds} s"),
            60..3600 if !seconds.is_multiple_of(60) => write!(f, "{minutes} min {} s", seconds % 60),
            60..3600 => write!(f, "{minutes} min"),
            3600..86_400 if !minutes.is_multiple_of(60) => write!(f, "{hours} h {} min", minutes % 60),
            3600..86_400 => write!(f, "{hours} h"),
            _ => write!(f, "{days} d {} h", hours % 24),
        }
    }
}

/// A time of day, in UTC: `03:12:05`.
pub(super) struct Clock(pub(super) SystemTime);

impl Display for Clock {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seconds = seconds_since_epoch(self.0) % 86_400;
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// A date and a time of day, in UTC: `2026-11-23 03:12:05 UTC`.
pub(super) struct Utc(pub(super) SystemTime);

impl Display for Utc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut days = seconds_since_epoch(self.0) / 86_400;
        let is_leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let mut year = 1970;
        while days >= 365 + u64::from(is_leap(year)) {
            days -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let mut month = 1;
        for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if days < length {
                break;
            }
            days -= length;
            month += 1;
        }
        write!(f, "{year}-{month:02}-{:02} {} UTC", days + 1, Clock(self.0))
    }
}

fn seconds_since_epoch(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A number with separated thousands: `18 402`.
pub(super) struct Count(pub(super) u64);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(" ")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

pub(super) fn count(number: usize) -> Count {
    Count(number as u64)
}

/// A number of actors of which there may be more: `64`, `at least 64`.
pub(super) fn at_least(number: usize, may_have_more: bool) -> String {
    let least = if may_have_more { "at least " } else { "" };
    format!("{least}{}", count(number))
}

/// `1st`, `2nd`, `11th`.
pub(super) struct Ordinal(pub(super) u32);

impl Display for Ordinal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let end = match self.0 % 10 {
            1 if self.0 % 100 != 11 => "st",
            2 if self.0 % 100 != 12 => "nd",
            3 if self.0 % 100 != 13 => "rd",
            _ => "th",
        };
        write!(f, "{}{end}", self.0)
    }
}

/// A noun with its number: `1 message`, `3 messages`.
pub(super) fn so_many(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", Count(number), if number == 1 { "" } else { "s" })
}

/// The first `most` of `all` names: `a, b and 3 more`.
pub(super) fn some_of<'a>(names: impl Iterator<Item = &'a str>, most: usize, all: usize) -> String {
    some_of_at_least(names, most, all, false)
}

/// The same, if there may be more than `all`: `a, b and at least 3 more`.
pub(super) fn some_of_at_least<'a>(
    names: impl Iterator<Item = &'a str>,
    most: usize,
    all: usize,
    may_have_more: bool,
) -> String {
    let first: Vec<&str> = names.take(most).collect();
    let more = all.saturating_sub(first.len());
    let listed = first.join(", ");
    if more > 0 { format!("{listed} and {} more", at_least(more, may_have_more)) } else { listed }
}

/// A rate per second: `0`, `0.4`, `48`, `46 100`.
pub(super) struct Rate(pub(super) f64);

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate is small and not negative"
        )]
        let whole = self.0.round() as u64;
        if self.0 > 0.0 && self.0 < 9.95 && (self.0.fract() > 0.05) {
            write!(f, "{:.1}", self.0)
        } else {
            Count(whole).fmt(f)
        }
    }
}

/// A type's name without its modules: `Pool<Connection>` for `db::Pool<db::Connection>`.
pub(super) fn short_type(name: &str) -> String {
    let mut short = String::new();
    let mut word = 0;
    for letter in name.chars() {
        short.push(letter);
        if letter == ':' {
            short.truncate(word);
        } else if !(letter.is_alphanumeric() || letter == '_') {
            word = short.len();
        }
    }
    short
}

/// What followed a failure.
pub(super) fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Resumed => "goes on".to_owned(),
        Outcome::Restarting { delay: Some(delay), children } => {
            format!("restart after {}{}", Span(delay), and_others(children))
        }
        Outcome::Restarting { delay: None, children } => format!("restart at once{}", and_others(children)),
        Outcome::Stopped { children } => format!("stopped{}", and_others(children)),
        Outcome::LimitReached { children } => format!("stopped at its limit{}", and_others(children)),
        Outcome::AlreadyAnswered => "an earlier decision answers it".to_owned(),
        Outcome::Escalated => "escalated".to_owned(),
        Outcome::LimitEscalated => "escalated at its limit".to_owned(),
        _ => "decided".to_owned(),
    }
}

/// What followed from a failure: `restart at once`, `stopped, to be replaced after 40 s`.
pub(super) fn follows(decision: &Decision) -> String {
    let replaced = decision.replaced.map(|delay| format!(", to be replaced after {}", Span(delay)));
    outcome(decision.outcome) + &replaced.unwrap_or_default()
}

/// The handler or hook in which an actor failed. If the failure was escalated, it is that of another actor: `` `stamp` of /user/desk/clerk ``.
pub(super) fn code(decision: &Decision) -> Option<String> {
    let of = decision.origin.as_ref().map_or_else(String::new, |origin| format!(" of {origin}"));
    decision.during.map(|during| format!("`{during}`{of}"))
}

/// The siblings that a decision takes along, the child itself not counted: `, with 2 siblings`.
pub(super) fn and_others(children: usize) -> String {
    match children {
        0 | 1 => String::new(),
        more => format!(", with {}", so_many(more as u64 - 1, "sibling")),
    }
}

/// Why a message was lost.
pub(super) fn reason(reason: DeadLetterReason) -> &'static str {
    match reason {
        DeadLetterReason::Stopped => "the recipient has ended",
        DeadLetterReason::NoChild => "its child is to be replaced after a delay",
        DeadLetterReason::MailboxFull => "the mailbox is full",
        DeadLetterReason::TooManyChildren => "there are as many keyed children as their limit allows",
        DeadLetterReason::StashFull => "the stash is full",
        DeadLetterReason::Quarantined => "it failed and is not delivered again",
        DeadLetterReason::Abandoned => "its asker had given up",
        DeadLetterReason::NotFound => "there is no actor at that path",
        DeadLetterReason::CircuitOpen => "a circuit breaker is open",
        DeadLetterReason::Unreachable => "the recipient's node was given up",
        DeadLetterReason::TooLarge => "it is too large for another node",
        DeadLetterReason::Unsendable => "it cannot travel to another node",
        DeadLetterReason::UnknownMessage => "the recipient's node does not know it",
        DeadLetterReason::Untrusted => "the recipient's node does not take it",
        DeadLetterReason::Undecodable => "it could not be read",
        #[cfg(feature = "durable")]
        DeadLetterReason::NotAccepted => "the durable mailbox could not store it",
        #[cfg(feature = "durable")]
        DeadLetterReason::Damaged => "its checksum did not match, and it is in quarantine",
        #[cfg(feature = "durable")]
        DeadLetterReason::CrashedTheProcess => {
            "the process died each time it was handled, and it is in quarantine"
        }
        _ => "it was not handled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::REASONS;

    #[test]
    fn durations_have_two_units_at_most() {
        let span = |ms| Span(Duration::from_millis(ms)).to_string();
        assert_eq!(
            [40, 2_500, 9_000, 59_999, 60_000, 134_000, 3_600_000, 11_100_000, 273_600_000].map(span),
            ["40 ms", "2.5 s", "9 s", "59 s", "1 min", "2 min 14 s", "1 h", "3 h 5 min", "3 d 4 h"]
        );
    }

    #[test]
    fn a_time_of_day_is_that_of_utc() {
        let utc = |seconds| Utc(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
        assert_eq!(
            [0, 951_782_399, 951_782_400, 1_735_689_599, 1_795_411_679].map(utc),
            [
                "1970-01-01 00:00:00 UTC",
                "2000-02-28 23:59:59 UTC",
                "2000-02-29 00:00:00 UTC",
                "2024-12-31 23:59:59 UTC",
                "2026-11-23 05:27:59 UTC"
            ]
        );
        assert_eq!(Clock(UNIX_EPOCH + Duration::from_secs(90_061)).to_string(), "01:01:01");
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!(
            [0, 999, 1_000, 18_402, 1_234_567].map(|n| Count(n).to_string()),
            ["0", "999", "1 000", "18 402", "1 234 567"]
        );
        assert_eq!(
            [0.0, 0.4, 4.0, 48.2, 46_100.0].map(|n| Rate(n).to_string()),
            ["0", "0.4", "4", "48", "46 100"]
        );
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 102, 111].map(|n| Ordinal(n).to_string()),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "102nd", "111th"]
        );
        assert_eq!((so_many(1, "message"), so_many(0, "message")), ("1 message".into(), "0 messages".into()));
    }

    #[test]
    fn every_reason_of_a_dead_letter_has_words_of_its_own() {
        let words: std::collections::BTreeSet<_> = REASONS.iter().map(|&why| reason(why)).collect();
        assert!(words.len() == REASONS.len() && !words.contains("it was not handled"), "{words:?}");
    }

    #[test]
    fn a_type_is_shown_without_its_modules() {
        assert_eq!(
            short_type("shop::db::Pool<shop::db::Connection, core::option::Option<u8>>"),
            "Pool<Connection, Option<u8>>"
        );
        assert_eq!(short_type("Plain"), "Plain");
        assert_eq!(short_type("(a::B, &c::D)"), "(B, &D)");
    }
}
