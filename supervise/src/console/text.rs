//! The cards as text: 80 columns, the worst one first.

use std::fmt::Write;
use std::time::Duration;

use super::cards::{Card, Kind};
use super::collector::{Mention, View};
use super::sight::{Decision, Intervened, Time};
use super::words::{Clock, Count, Rate, Span, Utc, at_least, code, count, follows, so_many, some_of_at_least};

mod actor;

pub(super) use self::actor::actor;

pub(super) const COLUMNS: usize = 80;
/// How many failures are listed.
const FAILURES: usize = 10;

/// The text gives the age of the look if it is greater than this.
const FRESH: Duration = Duration::from_secs(1);

/// The cards, then the last failures, as a look found them that began `age` ago.
pub(super) fn text(system: &str, view: &View, age: Duration) -> String {
    let mut out = Lines::default();
    head(&mut out, system, view, age);
    for card in &view.cards {
        out.blank();
        let which = if matches!(card.kind, Kind::BranchDown | Kind::MessagesLost) { "last" } else { "worst" };
        let who = match card.several() {
            None => format!("{}  {}", card.path, card.actor_type),
            Some(several) => format!("{several} × {}, the {which} is {}", card.actor_type, card.path),
        };
        out.fill("", "    ", &format!("{}: {}", card.title(), who.trim_end()));
        out.fill("    ", "    ", &card.tell(view.now));
        since_and_why(&mut out, view, card);
    }
    if view.more_cards > 0 {
        out.blank();
        out.fill("", "", &format!("And {} more.", count(view.more_cards)));
    }
    advice(&mut out, &view.cards);
    if !view.mentioned.is_empty() {
        out.blank();
        let title = "In one message for long, with an empty mailbox. The stuck actors may be waiting for these:";
        out.fill("", "", title);
    }
    for Mention { path, handler, since } in &view.mentioned {
        let handler = handler.map_or_else(|| "a handler".to_owned(), |name| format!("`{name}`"));
        out.fill("  ", "      ", &format!("{path} in {handler} for {}", Span(view.now.saturating_sub(*since))));
    }
    if !view.backlogs.is_empty() {
        out.blank();
        out.fill("", "", "Mailboxes that fall behind, the one with the oldest message first:");
    }
    for backlog in &view.backlogs {
        out.fill("  ", "      ", &format!("{}: {}", backlog.path, backlog.tell(view.now)));
    }
    failures(&mut out, LAST, view, &view.failures, None);
    if let Some(more) = unlisted(&view.failures, view.more_failures) {
        out.fill(
            "  ",
            "",
            &format!("And {more} more in the last 15 minutes. The text of an actor lists its own failures."),
        );
    }
    failures(&mut out, ENDED, view, &view.ends, None);
    if let Some(more) = unlisted(&view.ends, view.more_ends) {
        out.fill("  ", "", &format!("And {more} more."));
    }
    if !view.interventions.is_empty() {
        out.blank();
        out.fill("", "", "By hand:");
    }
    for (at, Intervened { actor, what, by }) in view.interventions.iter().rev().take(FAILURES) {
        out.fill("  ", "      ", &format!("{} {actor}: {what}, by {by}", when(view, *at)));
    }
    if view.missed > 0 || view.unfollowed > 0 {
        out.blank();
    }
    if view.missed > 0 {
        let missed = so_many(view.missed, "event");
        out.fill("", "", &format!("Since it started, the console has missed {missed}."));
    }
    if view.unfollowed > 0 {
        let line =
            format!("Too many actors are busy to follow them all: {} are not checked.", count(view.unfollowed));
        out.fill("", "", &line);
    }
    out.0
}

const LAST: &str = "Last failures:";
const ENDED: &str = "Ended by a failure in the last hour:";

/// How many failures there are beyond those that are listed, of these and so many more.
fn unlisted(failures: &[(Time, Decision)], more: u64) -> Option<Count> {
    (failures.len() as u64 + more).checked_sub(FAILURES as u64).filter(|more| *more > 0).map(Count)
}

/// The failures of all actors or of one, the newest one first.
fn failures(out: &mut Lines, title: &str, view: &View, failures: &[(Time, Decision)], of: Option<&str>) {
    let is_meant = |decision: &Decision| of.is_none_or(|path| decision.child == path);
    let mut meant = failures.iter().rev().filter(|(_, decision)| is_meant(decision)).take(FAILURES).peekable();
    if meant.peek().is_some() {
        out.blank();
        out.fill("", "", title);
    }
    for (at, decision) in meant {
        let who = if of.is_none() { &*decision.child } else { "" };
        let during = code(decision).map_or_else(String::new, |code| format!(" in {code}"));
        let rule = decision.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let text = if decision.text.is_empty() { String::new() } else { format!(": {}", decision.text) };
        let used = decision.used.map_or_else(String::new, |(used, of)| format!(", {used} of {of} used"));
        let (when, end) = (when(view, *at), follows(decision));
        let line = format!("{when} {who} failed{during}{text}; {end}{rule} of {}{used}", decision.supervisor);
        out.fill("  ", "      ", &line);
    }
}

/// What to do about these cards, and where to read more.
fn advice<'a>(out: &mut Lines, cards: impl IntoIterator<Item = &'a Card>) {
    let mut kinds: Vec<Kind> = cards.into_iter().map(|card| card.kind).collect();
    kinds.dedup();
    if !kinds.is_empty() {
        out.blank();
        out.fill("", "", "What to do:");
    }
    for kind in kinds {
        out.fill("  ", "    ", &format!("{}: {}", kind.title().to_lowercase(), kind.advice()));
        out.fill("  ", "", &kind.link());
    }
}

/// Since when a card has been there, and the text of the failure.
fn since_and_why(out: &mut Lines, view: &View, card: &Card) {
    if let Some(since) = card.since {
        out.fill("    ", "    ", &lasts(view, since));
    }
    if let Some(cause) = &card.cause {
        out.fill("    ", "    ", &format!("Why: {cause}"));
    }
}

/// The lines above the cards: the system, how old this look is, and who is not well, unless the system has ended.
fn head(out: &mut Lines, system: &str, view: &View, age: Duration) {
    let facts = format!(
        "{}: {}, {} messages/s handled, up {}",
        system_at(system, view),
        so_many(view.actors as u64, "actor"),
        Rate(view.per_second),
        Span(view.now)
    );
    out.fill("", "  ", &facts);
    seen(out, view, age);
    if view.ended.is_some() {
        return;
    }
    out.fill("", "  ", &lede(view));
    if view.ill > 0 {
        let who = some_of_at_least(
            view.unwell.iter().map(String::as_str),
            view.unwell.len(),
            view.ill,
            view.may_have_more_ill(),
        );
        out.fill("", "  ", &format!("Not well: {who}."));
    }
}

/// The system, and the time of the look.
fn system_at(system: &str, view: &View) -> String {
    view.clock.map_or_else(|| system.to_owned(), |clock| format!("{system}, {}", Utc(clock)))
}

/// How old the look is, and how the system ended.
fn seen(out: &mut Lines, view: &View, age: Duration) {
    if age >= FRESH && view.ended.is_none() {
        let seen =
            format!("This look is {} old, and all times are as of then. Ask again for a newer one.", Span(age));
        out.fill("", "  ", &seen);
    }
    if let Some(how) = &view.ended {
        out.fill("", "  ", how);
    }
}

/// When something happened: `03:12:05, 20 s ago`.
fn when(view: &View, at: Time) -> String {
    let ago = Span(view.now.saturating_sub(at));
    match view.clock_at(at) {
        Some(clock) => format!("{}, {ago} ago", Clock(clock)),
        None => format!("{ago} ago"),
    }
}

/// Since when something has lasted: `Since 03:12:05 UTC, for 20 s.`
fn lasts(view: &View, since: Time) -> String {
    let long = Span(view.now.saturating_sub(since));
    match view.clock_at(since) {
        Some(clock) => format!("Since {} UTC, for {long}.", Clock(clock)),
        None => format!("For {long}."),
    }
}

/// The sentence above the cards.
pub(super) fn lede(view: &View) -> String {
    let things = view.cards.len() + view.more_cards;
    let doubts = doubts(view);
    if things == 0 && doubts.is_empty() {
        let well = match view.longest {
            _ if view.unfollowed > 0 => {
                let others = count(view.unfollowed);
                format!("All is well with the actors that are followed. {others} others are busy.")
            }
            Some(longest) => format!("All is well. No message has waited longer than {}.", Span(longest)),
            None => "All is well. No message waits.".to_owned(),
        };
        return match view.failures.len() as u64 + view.more_failures {
            0 => well,
            failures => format!("{well} {} in the last 15 minutes.", so_many(failures, "failure")),
        };
    }
    let things = match things {
        0 => "Nothing known needs attention".to_owned(),
        1 => "One thing needs attention".to_owned(),
        things => format!("{things} things need attention"),
    };
    let mut and = if view.ill == 0 { "but" } else { "and" };
    let mut said = format!("{things}; {}", who_is_ill(view));
    for doubt in doubts {
        _ = write!(said, ", {and} {doubt}");
        and = "and";
    }
    said + "."
}

/// How many of the actors are well, or are not.
fn who_is_ill(view: &View) -> String {
    let running = if view.down > 0 || view.may_have_more_down { "running " } else { "" };
    let followed = if view.unfollowed > 0 { " that are followed" } else { "" };
    let all = count(view.actors.saturating_sub(view.unfollowed));
    match view.ill {
        0 => format!("all {all} {running}actors{followed} are well"),
        1 if !view.may_have_more_ill() => format!("1 of {all} actors{followed} is not well"),
        ill => format!("{} of {all} actors{followed} are not well", at_least(ill, view.may_have_more_ill())),
    }
}

/// Which branches are down, and what may be wrong without the console knowing it.
fn doubts(view: &View) -> Vec<String> {
    let mut doubts = Vec::new();
    match view.down {
        0 if view.may_have_more_down => doubts.push("branches that are not remembered may be down".to_owned()),
        0 => {}
        1 => doubts.push(format!("{} branch is down", at_least(1, view.may_have_more_down))),
        down => doubts.push(format!("{} branches are down", at_least(down, view.may_have_more_down))),
    }
    if view.ill == 0 && view.may_have_more_ill() {
        doubts.push("more actors failed than are remembered".to_owned());
    }
    if view.may_have_missed {
        doubts.push("events were missed".to_owned());
    }
    doubts
}

/// Whether a terminal does not show this character, but obeys it: a control character, or one that changes the direction of writing.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Lines of at most [`COLUMNS`] characters.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A fact, in a column beside its name.
    fn fact(&mut self, name: &str, fact: &str) {
        self.fill(&format!("  {name:10}"), "            ", fact);
    }

    /// A paragraph. A word that is longer than a line is cut into several. Control characters become `?`, so that a name or an error
    /// cannot steer a terminal.
    fn fill(&mut self, first: &str, rest: &str, text: &str) {
        let mut line = first.to_owned();
        let mut empty = true;
        for word in text.split_whitespace() {
            let mut word: Vec<char> =
                word.chars().map(|letter| if steers(letter) { '?' } else { letter }).collect();
            if !empty && line.chars().count() + 1 + word.len() > COLUMNS {
                self.end(&mut line, rest);
                empty = true;
            }
            while line.chars().count() + usize::from(!empty) + word.len() > COLUMNS {
                let room = COLUMNS - line.chars().count() - usize::from(!empty);
                let more = word.split_off(room);
                line.extend(word);
                self.end(&mut line, rest);
                word = more;
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.extend(word);
            empty = false;
        }
        self.end(&mut line, rest);
    }

    fn end(&mut self, line: &mut String, rest: &str) {
        _ = writeln!(self.0, "{}", line.trim_end());
        line.clear();
        line.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use supervise_core::Intervention;

    use super::*;

    #[test]
    fn con_27_no_line_is_longer_than_80_columns_and_nothing_is_left_out() {
        let mut lines = Lines::default();
        let long = "x".repeat(200);
        lines.fill("  ", "    ", &format!("short words before {long} and after \u{1b}[31m\u{202e}"));
        assert!(lines.0.lines().all(|line| line.chars().count() <= COLUMNS), "{}", lines.0);
        let words: String = lines.0.split_whitespace().collect();
        assert_eq!(words, format!("shortwordsbefore{long}andafter?[31m?"));
    }

    #[test]
    fn a_system_without_a_card_is_well() {
        let view = View { actors: 3, ..View::default() };
        assert!(text("shop", &view, Duration::ZERO).contains("All is well"));
    }

    /// The reader of a countdown must know when it began.
    #[test]
    fn a_look_that_is_not_fresh_says_how_old_it_is() {
        let view = View { actors: 3, ..View::default() };
        assert!(!text("shop", &view, Duration::from_millis(900)).contains("ago"));
        assert!(
            text("shop", &view, Duration::from_secs(39))
                .contains("This look is 39 s old, and all times are as of then.")
        );
    }

    /// The page does not judge the actors of a system that has ended, and neither does the text.
    #[test]
    fn con_26_nothing_is_well_in_a_system_that_has_ended() {
        let how = "The system has ended with a failure of /user/clerk: NoInk.";
        let view = View { actors: 3, ended: Some(how.to_owned()), ..View::default() };
        let text = text("shop", &view, Duration::ZERO);
        assert!(text.contains(how) && !text.contains("well") && !text.contains("attention"), "{text}");
    }

    /// An operator compares with the log, whose lines have a time of day.
    #[test]
    fn times_are_those_of_the_clock_too() {
        let secs = Duration::from_secs;
        let by_hand =
            Intervened { actor: "/user/clerk".to_owned(), what: Intervention::Restart, by: "night".to_owned() };
        let (now, clock) = (secs(100), Some(UNIX_EPOCH + secs(86_400 + 100)));
        let view = View { now, clock, actors: 3, interventions: vec![(secs(80), by_hand)], ..View::default() };
        let text = text("shop", &view, Duration::ZERO);
        assert!(text.starts_with("shop, 1970-01-02 00:01:40 UTC: 3 actors, "), "{text}");
        assert!(text.contains("  00:01:20, 20 s ago /user/clerk: restart, by night"), "{text}");
    }

    #[test]
    fn the_sentence_counts_things_and_actors_apart() {
        let said = |more_cards, ill| lede(&View { more_cards, ill, actors: 100_013, ..View::default() });
        assert_eq!(said(6, 5), "6 things need attention; 5 of 100 013 actors are not well.");
        assert_eq!(said(1, 1), "One thing needs attention; 1 of 100 013 actors is not well.");
        assert_eq!(said(1, 0), "One thing needs attention; all 100 013 actors are well.");
        let fell = |ill, down| lede(&View { more_cards: 3, ill, down, actors: 9, ..View::default() });
        assert_eq!(fell(2, 1), "3 things need attention; 2 of 9 actors are not well, and 1 branch is down.");
        assert_eq!(fell(0, 2), "3 things need attention; all 9 running actors are well, but 2 branches are down.");
    }

    /// What the console could not look at may be wrong.
    #[test]
    fn con_18_who_is_not_followed_is_not_called_well() {
        let view = View { unfollowed: 3_616, actors: 20_003, ..View::default() };
        assert_eq!(lede(&view), "All is well with the actors that are followed. 3 616 others are busy.");
        let said = |ill| lede(&View { ill, more_cards: 1, ..view.clone() });
        assert_eq!(said(0), "One thing needs attention; all 16 387 actors that are followed are well.");
        assert_eq!(said(2), "One thing needs attention; 2 of 16 387 actors that are followed are not well.");
    }
}
