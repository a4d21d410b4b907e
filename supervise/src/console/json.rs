//! A view as JSON, for the page and for programs. It contains no line break, so that an event of a stream can hold it.

use std::fmt::{Display, Write};
use std::time::UNIX_EPOCH;

use super::cards::{Card, Kind, Moment, at_limit, used};
use super::collector::{Mention, View};
use super::detail::{Detail, Policy, Waiting};
use super::history::{Fall, Lane, Mark, SLOT};
use super::rows::{Listing, Row};
use super::sight::{Decision, Intervened, Time};
use super::text::lede;
use super::words::{code, follows, outcome, short_type};

/// Writes JSON values in the order of the calls, and adds the commas.
#[derive(Debug, Default)]
struct Writer {
    out: String,
    /// Whether the next value needs a comma before it.
    comma: bool,
}

impl Writer {
    fn open(&mut self, bracket: char) {
        self.separate();
        self.out.push(bracket);
        self.comma = false;
    }

    fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.comma = true;
    }

    fn separate(&mut self) {
        if self.comma {
            self.out.push(',');
        }
    }

    fn key(&mut self, key: &str) {
        self.separate();
        _ = write!(self.out, "\"{key}\":");
        self.comma = false;
    }

    /// The end of a part that may take this many bytes from here.
    fn room(&self, bytes: usize) -> usize {
        (self.out.len() + bytes).min(LARGEST)
    }

    /// Where a part ends that may have one of so many parts of the bytes that are left.
    fn share(&self, parts: usize) -> usize {
        self.room(LARGEST.saturating_sub(self.out.len()) / parts)
    }

    /// Writes a list that ends at `end` at the latest. Returns how many items had no place.
    fn list<T>(
        &mut self,
        key: &str,
        end: usize,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) -> usize {
        self.key(key);
        self.open('[');
        let mut items = items.into_iter();
        let mut left_out = 0;
        for item in items.by_ref() {
            let before = (self.out.len(), self.comma);
            write(self, item);
            if self.out.len() > end {
                self.out.truncate(before.0);
                self.comma = before.1;
                left_out = 1;
                break;
            }
        }
        self.close(']');
        left_out + items.count()
    }

    fn text(&mut self, text: impl Display) {
        self.separate();
        self.out.push('"');
        let end = self.out.len() + LONGEST;
        for letter in text.to_string().chars() {
            if self.out.len() >= end {
                self.out.push('…');
                break;
            }
            match letter {
                '"' | '\\' => self.out.extend(['\\', letter]),
                letter if letter < ' ' || letter == '\u{7f}' || ('\u{2028}'..='\u{2029}').contains(&letter) => {
                    _ = write!(self.out, "\\u{:04x}", u32::from(letter));
                }
                letter => self.out.push(letter),
            }
        }
        self.out.push('"');
        self.comma = true;
    }

    fn number(&mut self, number: impl Display) {
        self.separate();
        _ = write!(self.out, "{number}");
        self.comma = true;
    }

    fn texts(&mut self, key: &str, text: impl Display) {
        self.key(key);
        self.text(text);
    }

    fn numbers(&mut self, key: &str, number: impl Display) {
        self.key(key);
        self.number(number);
    }

    /// Writes a time in milliseconds.
    fn time(&mut self, key: &str, time: Time) {
        self.numbers(key, time.as_millis());
    }
}

/// The largest view, in bytes, without the brackets at its end. Items of lists that do not fit are left out, and those of cards, lanes, lines,
/// failures and ends are counted.
const LARGEST: usize = 64 * 1_024 - 64;
/// How many bytes each list may take. Together they leave room for failures, however long names and texts are.
const CARDS: usize = 16 * 1_024;
const MENTIONED: usize = 3 * 1_024;
const LANES: usize = 11 * 1_024;
const INTERVENTIONS: usize = 4 * 1_024;
const ABOVE: usize = 6 * 1_024;
const WAITING: usize = 3 * 1_024;
const LINES: usize = 36 * 1_024;
/// How many bytes the lines leave to what comes after them.
const AFTER_LINES: usize = 8 * 1_024;
/// How many bytes the rules of one table may take.
const TABLE: usize = 3 * 1_024;
/// How many rules of a table are shown.
const RULES: usize = 40;
/// The longest text, in bytes.
const LONGEST: usize = 1_024;

/// All of a view, with what the reader sees of the actors. Times are milliseconds since the system began.
pub(super) fn json(system: &str, view: &View, listing: &Listing) -> String {
    let mut out = Writer::default();
    out.open('{');
    out.texts("system", system);
    out.texts("version", env!("CARGO_PKG_VERSION"));
    out.time("now", view.now);
    if let Some(clock) = view.clock {
        out.time("clock", clock.duration_since(UNIX_EPOCH).unwrap_or_default());
    }
    out.time("interval", view.interval);
    out.numbers("took_us", view.took.as_micros());
    out.numbers("actors", view.actors);
    out.numbers("ill", view.ill);
    out.numbers("per_second", format_args!("{:.1}", view.per_second));
    out.numbers("missed", view.missed);
    out.numbers("unfollowed", view.unfollowed);
    match &view.ended {
        Some(how) => out.texts("ended", how),
        None => out.texts("lede", lede(view)),
    }
    let end = out.room(CARDS);
    let left_out = out.list("cards", end, &view.cards, card);
    out.numbers("more_cards", view.more_cards + left_out);
    advice(&mut out, &view.cards);
    let end = out.room(MENTIONED);
    out.list("mentioned", end, &view.mentioned, mention);
    timeline(&mut out, view);
    if let Some(detail) = &listing.detail {
        out.key("detail");
        chosen(&mut out, detail);
    }
    if let Some(found) = listing.found {
        out.numbers("found", found);
    }
    let end = out.room(LINES).min(LARGEST - AFTER_LINES);
    let left_out = out.list("rows", end, &listing.lines, row);
    out.numbers("cut", listing.cut + left_out);
    out.list("lost", LARGEST, &view.lost_minutes, |out, (minute, letters)| {
        out.open('[');
        out.number(minute);
        out.number(letters);
        out.close(']');
    });
    // The newest ones first.
    let end = out.share(2);
    let left_out = out.list("failures", end, view.failures.iter().rev(), failure);
    out.numbers("more_failures", view.more_failures + left_out as u64);
    let end = out.share(2);
    let left_out = out.list("ends", end, view.ends.iter().rev(), failure);
    out.numbers("more_ends", view.more_ends + left_out as u64);
    out.list("falls", LARGEST, view.falls.iter().rev(), fallen);
    out.close('}');
    out.out
}

fn mention(out: &mut Writer, Mention { path, handler, since }: &Mention) {
    out.open('{');
    who(out, path, *handler, *since);
    out.close('}');
}

/// An actor, and in which handler it has been since when.
fn who(out: &mut Writer, path: &str, handler: Option<&str>, since: Time) {
    out.texts("path", path);
    if let Some(handler) = handler {
        out.texts("handler", handler);
    }
    out.time("since", since);
}

fn fallen(out: &mut Writer, fall: &Fall) {
    out.open('{');
    out.time("at", fall.at);
    out.texts("origin", &fall.origin);
    out.texts("key", fall.origin_key);
    out.key("passed");
    out.open('[');
    fall.passed.iter().for_each(|supervisor| out.text(supervisor));
    out.close(']');
    out.texts("text", &fall.text);
    if fall.is_harm() {
        out.texts("down", fall.down());
    }
    if let Some((end, by)) = &fall.end {
        out.texts("end", outcome(*end));
        out.texts("by", by);
    }
    out.close('}');
}

/// What to do, once for each kind of card.
fn advice(out: &mut Writer, cards: &[Card]) {
    let mut kinds: Vec<Kind> = cards.iter().map(|card| card.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    out.key("advice");
    out.open('{');
    for kind in kinds {
        out.key(kind.word());
        out.open('{');
        out.texts("says", kind.advice());
        out.texts("link", kind.link());
        out.close('}');
    }
    out.close('}');
}

fn card(out: &mut Writer, card: &Card) {
    out.open('{');
    out.texts("kind", card.kind.word());
    out.texts("title", card.title());
    out.numbers("actors", card.actors);
    if card.at_least {
        out.numbers("at_least", true);
    }
    out.texts("path", &card.path);
    out.texts("type", &card.actor_type);
    out.texts("says", &card.says);
    if let Some(since) = card.since {
        out.time("since", since);
    }
    if let Some(cause) = &card.cause {
        out.texts("cause", cause);
    }
    if !card.moments.is_empty() {
        out.key("moments");
        out.open('[');
        card.moments.iter().for_each(|moment| tell(out, *moment));
        out.close(']');
    }
    out.close('}');
}

fn tell(out: &mut Writer, Moment { what, at, is_past }: Moment) {
    out.open('{');
    out.texts("what", what);
    out.time("at", at);
    if is_past {
        out.numbers("is_past", true);
    }
    out.close('}');
}

/// What the timeline shows besides failures and dead letters.
fn timeline(out: &mut Writer, view: &View) {
    out.time("slot", SLOT);
    let end = out.room(LANES);
    let left_out = out.list("lanes", end, &view.lanes, |out, Lane { path, marks, held }| {
        out.open('{');
        out.texts("path", path);
        if let Some(since) = held {
            out.time("since", *since);
        }
        out.key("marks");
        out.open('[');
        for Mark { slot, failures, is_bad } in marks {
            out.open('[');
            out.number(slot);
            out.number(failures);
            out.number(u8::from(*is_bad));
            out.close(']');
        }
        out.close(']');
        out.close('}');
    });
    out.numbers("more_lanes", view.more_lanes + left_out);
    let end = out.room(INTERVENTIONS);
    out.list(
        "interventions",
        end,
        view.interventions.iter().rev(),
        |out, (at, Intervened { actor, what, by })| {
            out.open('{');
            out.time("at", *at);
            out.texts("path", actor);
            out.texts("what", what);
            out.texts("by", by);
            out.close('}');
        },
    );
}

/// The chosen actor.
fn chosen(out: &mut Writer, detail: &Detail) {
    out.open('{');
    out.key("row");
    row(out, &detail.row);
    if let Some(capacity) = detail.capacity {
        out.numbers("capacity", capacity);
    }
    // As a text, because a number in JavaScript has only 53 bits.
    out.texts("uid", detail.key);
    if let (Some(budget), Some(supervisor)) = (detail.row.budget, detail.above.first()) {
        out.texts("limit", used(budget, &supervisor.path));
        out.texts("at_limit", at_limit(budget));
        if let Some(moment) = Moment::of(budget) {
            out.key("anew");
            tell(out, moment);
        }
    }
    out.numbers("below", detail.below.0);
    out.numbers("below_waiting", detail.below.1);
    if let Some(handler) = detail.last_handler {
        out.texts("last_handler", handler);
    }
    let end = out.room(ABOVE);
    out.list("above", end, detail.above.iter().enumerate(), |out, (at, above)| {
        out.open('{');
        out.texts("path", &above.path);
        if at == 0 {
            policy(out, &above.decides);
        } else {
            policy_of(out, &above.decides, above.decides.brief());
        }
        out.close('}');
    });
    out.key("decides");
    out.open('{');
    policy(out, &detail.decides);
    out.close('}');
    if let Some(matched) = detail.matched {
        out.numbers("matched", matched);
    }
    let end = out.room(WAITING);
    out.list("waits_for", end, &detail.waits_for, |out, waiting| waits(out, 0, waiting));
    let end = out.room(WAITING);
    out.list("askers", end, &detail.askers, |out, (away, waiting)| waits(out, *away, waiting));
    out.numbers("all_askers", detail.all_askers);
    out.close('}');
}

/// How an actor supervises.
fn policy(out: &mut Writer, policy: &Policy) {
    policy_of(out, policy, policy.rules.iter().take(RULES));
}

fn policy_of<T: Display>(out: &mut Writer, policy: &Policy, rules: impl IntoIterator<Item = T>) {
    out.texts("strategy", &policy.strategy);
    let end = out.room(TABLE);
    out.list("rules", end, rules, Writer::text);
}

fn waits(out: &mut Writer, away: usize, Waiting { path, handler, since }: &Waiting) {
    out.open('{');
    out.numbers("away", away);
    who(out, path, *handler, *since);
    out.close('}');
}

fn row(out: &mut Writer, row: &Row) {
    out.open('{');
    out.numbers("depth", row.depth);
    out.texts("path", &row.path);
    out.texts("type", short_type(&row.actor_type));
    out.texts("state", row.state);
    if row.is_group {
        out.numbers("actors", row.actors);
    }
    if let Some((page, pages)) = row.page {
        out.numbers("page", page);
        out.numbers("pages", pages);
    }
    if row.stashed > 0 {
        out.numbers("stashed", row.stashed);
    }
    if let Some(waits_for) = &row.waits_for {
        out.texts("waits_for", waits_for);
    }
    if row.ill > 0 {
        out.numbers("ill", row.ill);
    }
    if row.held > 0 {
        out.numbers("held", row.held);
    }
    if let Some(kind) = row.kind {
        out.texts("kind", kind.word());
    }
    if let Some(handler) = row.handler {
        out.texts("handler", handler);
    }
    if let Some(since) = row.since {
        out.time("since", since);
    }
    out.numbers("waiting", row.waiting);
    if let Some(oldest) = row.oldest {
        out.time("oldest", oldest);
    }
    if let Some(per_second) = row.per_second {
        out.numbers("per_second", format_args!("{per_second:.1}"));
    }
    out.numbers("restarts", row.restarts);
    if row.attempt > 0 {
        out.numbers("attempt", row.attempt);
    }
    if let Some(budget) = row.budget {
        out.numbers("used", budget.used);
        out.numbers("of", budget.of);
    }
    if let Some(due) = row.due {
        out.time("due", due);
    }
    if row.hidden > 0 {
        out.numbers("hidden", row.hidden);
    }
    out.close('}');
}

fn failure(out: &mut Writer, (at, decision): &(Time, Decision)) {
    out.open('{');
    out.time("at", *at);
    out.texts("path", &decision.child);
    out.texts("supervisor", &decision.supervisor);
    out.texts("text", &decision.text);
    if let Some(code) = code(decision) {
        out.texts("during", code.replace('`', ""));
    }
    if let Some(rule) = decision.rule {
        out.texts("rule", rule);
    }
    out.texts("outcome", follows(decision));
    out.numbers("attempt", decision.attempt);
    if let Some((used, of)) = decision.used {
        out.numbers("used", used);
        out.numbers("of", of);
    }
    out.close('}');
}

#[cfg(test)]
mod tests;
