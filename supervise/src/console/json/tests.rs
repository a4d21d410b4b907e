use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use supervise_core::{Intervention, NodeState, Outcome};

use super::super::cards::{Kind, MOST_CARDS};
use super::super::detail::Above;
use super::super::rows::MOST;
use super::*;

#[test]
fn a_text_is_one_string_of_one_line() {
    let mut out = Writer::default();
    out.open('{');
    out.texts("a", "\"\\\n\u{2028}<b>\u{1}");
    out.numbers("b", 1);
    out.key("c");
    out.open('[');
    out.open('[');
    out.close(']');
    out.number(2);
    out.close(']');
    out.close('}');
    assert_eq!(out.out, r#"{"a":"\"\\\u000a\u2028<b>\u0001","b":1,"c":[[],2]}"#);
}

#[test]
fn what_has_no_place_in_a_list_is_counted() {
    let list = |end| {
        let mut out = Writer::default();
        out.open('{');
        let left_out = out.list("a", end, ["one", "two", "three"], Writer::text);
        out.close('}');
        (out.out, left_out)
    };
    assert_eq!(list(100), (r#"{"a":["one","two","three"]}"#.to_owned(), 0));
    assert_eq!(list(20), (r#"{"a":["one","two"]}"#.to_owned(), 1));
    assert_eq!(list(0), (r#"{"a":[]}"#.to_owned(), 3));
}

const NOW: Time = Duration::from_secs(1_000_000);

fn line(text: &str) -> Row {
    Row {
        depth: 3,
        path: text.to_owned(),
        actor_type: text.to_owned(),
        is_group: false,
        actors: 1,
        ill: 1,
        kind: Some(Kind::Stuck),
        state: NodeState::Running,
        handler: Some("serve"),
        since: Some(NOW),
        waits_for: Some(Arc::from(text)),
        held: 1,
        waiting: 1,
        stashed: 1,
        oldest: Some(NOW),
        per_second: Some(1.0),
        restarts: 1,
        attempt: 1,
        budget: None,
        due: Some(NOW),
        hidden: 0,
        page: None,
    }
}

fn card_with(text: &str, path: &str) -> Card {
    Card {
        kind: Kind::Stuck,
        actors: 1,
        path: path.to_owned(),
        actor_type: text.to_owned(),
        subject: String::new(),
        since: Some(NOW),
        says: text.to_owned(),
        moments: vec![Moment::last(NOW); 2],
        cause: Some(text.to_owned()),
        weight: 1,
        near_limit: false,
        at_least: false,
        goes: None,
    }
}

fn failure_with(text: &str) -> (Time, Decision) {
    let decision = Decision {
        key: 1,
        child: text.to_owned(),
        child_type: "T",
        supervisor: text.to_owned(),
        supervisor_type: "T",
        supervisor_key: 5,
        text: text.to_owned(),
        origin: None,
        during: None,
        rule: None,
        outcome: Outcome::Resumed,
        attempt: 1,
        used: None,
        replaced: None,
    };
    (NOW, decision)
}

/// As much as a view may hold of everything, each text as long as `text`.
fn full(text: &str) -> (View, Listing) {
    let waiting = Waiting { path: Arc::from(text), handler: Some("serve"), since: NOW };
    let policy = || Policy { strategy: text.to_owned(), rules: vec![text.to_owned(); 100] };
    let detail = Detail {
        key: 1,
        row: line(text),
        capacity: Some(1),
        last_handler: Some("serve"),
        above: vec![Above { path: text.to_owned(), decides: policy() }; 12],
        decides: policy(),
        matched: Some(1),
        waits_for: vec![waiting.clone(); 64],
        below: (1, 1),
        askers: vec![(1, waiting); 20],
        all_askers: 41,
    };
    let mark = Mark { slot: 2_000_000, failures: 1_000_000, is_bad: true };
    let marks: VecDeque<Mark> = std::iter::repeat_n(mark, 61).collect();
    let fall = Fall {
        gave_up: false,
        origin: text.to_owned(),
        origin_key: 1,
        last_key: 1,
        decider_key: 5,
        passed: vec![text.to_owned(); 12],
        down_type: "T",
        text: text.to_owned(),
        during: None,
        rule: None,
        end: Some((Outcome::Stopped { children: 1 }, text.to_owned())),
        used: None,
        at: NOW,
    };
    let by_hand = Intervened { actor: text.to_owned(), what: Intervention::Restart, by: text.to_owned() };
    let view = View {
        now: NOW,
        cards: (0..MOST_CARDS).map(|n| card_with(text, &format!("/user/{n}{text}"))).collect(),
        more_cards: 100,
        mentioned: vec![Mention { path: text.to_owned(), handler: Some("serve"), since: NOW }; 5],
        lanes: vec![Lane { marks, held: Some(NOW), ..Lane::new(text) }; 8],
        more_lanes: 3,
        interventions: vec![(NOW, by_hand); 32],
        failures: vec![failure_with(text); 60],
        ends: vec![failure_with(text); 32],
        falls: vec![fall; 64],
        lost_minutes: vec![(16_666, 1_000_000); 16],
        ended: Some(text.to_owned()),
        ..View::default()
    };
    let mut listing = Listing::default();
    (listing.lines, listing.cut, listing.detail) = (vec![line(text); MOST], 5, Some(detail));
    (view, listing)
}

fn number(json: &serde_json::Value, key: &str) -> usize {
    json[key].as_u64().and_then(|number| number.try_into().ok()).unwrap_or_else(|| panic!("{key}: {json}"))
}

fn items(json: &serde_json::Value, key: &str) -> usize {
    json[key].as_array().unwrap_or_else(|| panic!("{key}: {json}")).len()
}

/// CON-25: a view has at most 64 KiB, however long names and texts are and however many problems there are. What has no place is
/// counted. Rule 22.4.
#[test]
fn con_25_a_view_has_at_most_64_kib_whatever_it_shows() {
    for long in [1, 20, 100, 300, 1_000, 3_000] {
        for letter in ["x", "ä", "\u{1}", "\"", "\u{2028}"] {
            let (view, listing) = full(&letter.repeat(long));
            let json = json(&letter.repeat(long), &view, &listing);
            assert!(json.len() <= 64 * 1_024, "{} bytes with texts of {long} times {letter:?}", json.len());
            let json: serde_json::Value = serde_json::from_str(&json).expect("it is whole");
            assert_eq!(items(&json, "cards") + number(&json, "more_cards"), MOST_CARDS + 100);
            assert_eq!(items(&json, "rows") + number(&json, "cut"), MOST + 5);
            assert_eq!(items(&json, "lanes") + number(&json, "more_lanes"), 8 + 3);
            assert_eq!(number(&json["detail"], "all_askers"), 41);
            // The worst, the newest and the nearest are always there.
            for key in ["cards", "rows", "lanes", "failures", "interventions", "lost"] {
                assert!(items(&json, key) > 0, "no {key} with texts of {long} times {letter:?}");
            }
            for key in ["above", "askers", "waits_for"] {
                assert!(items(&json["detail"], key) > 0, "no {key} with texts of {long} times {letter:?}");
            }
            assert!(json["cards"][0]["path"].as_str().is_some_and(|path| path.starts_with("/user/0")));
        }
    }
}

/// What people usually call their actors leaves room for everything that the page shows at once.
#[test]
fn con_25_usual_names_leave_nothing_out_that_the_page_shows() {
    let (view, mut listing) = full("/user/payments/gateway-7");
    listing.lines.truncate(80);
    let json: serde_json::Value = serde_json::from_str(&json("shop", &view, &listing)).expect("it is whole");
    assert_eq!((items(&json, "cards"), items(&json, "lanes"), items(&json, "rows")), (MOST_CARDS, 8, 80));
    assert_eq!((items(&json["detail"], "above"), items(&json["detail"], "askers")), (12, 20));
    assert_eq!(items(&json["detail"]["above"][0], "rules"), RULES);
    assert!(items(&json, "failures") >= 12, "{}", items(&json, "failures"));
}

/// The actors of a system that has ended are not judged, as in the text.
#[test]
fn con_26_nothing_is_well_in_the_view_of_a_system_that_has_ended() {
    let lede = |ended: Option<&str>| {
        let view = View { actors: 3, ended: ended.map(str::to_owned), ..View::default() };
        let json: serde_json::Value =
            serde_json::from_str(&json("shop", &view, &Listing::default())).expect("it is whole");
        json["lede"].as_str().map(str::to_owned)
    };
    assert_eq!(lede(None).as_deref(), Some("All is well. No message waits."));
    assert_eq!(lede(Some("The system has ended with a failure of /user/clerk: NoInk.")), None);
}
