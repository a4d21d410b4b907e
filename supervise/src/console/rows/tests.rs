use super::super::top::PAGE;
use super::*;

fn actor<'a>(depth: usize, name: &'a str, key: u64, actor_type: &'static str) -> Sight<'a> {
    Sight {
        key,
        depth,
        name,
        actor_type,
        state: NodeState::Running,
        handling: false,
        parked: false,
        handler: None,
        pushed: 0,
        waiting: 0,
        capacity: None,
        stashed: 0,
        waits_for: Vec::new(),
        restarts: 0,
        attempt: 0,
        budget: None,
        endless: None,
        due: None,
        may_repeat: false,
    }
}

/// `/user` with 1 000 sessions, each with a cart below it, and a desk. Message counts grow with the number.
fn shop(query: &str) -> Listing {
    let mut listing = Listing::of(Wish::of(query));
    listing.begin();
    let shown = Shown::default();
    listing.see(&actor(0, "", 1, "Guardian"), "/", &shown);
    listing.see(&actor(1, "user", 2, "Guardian"), "/user", &shown);
    for number in 0..1_000_u64 {
        let name = format!("s{number}");
        let waiting = usize::try_from(number).expect("it is small");
        let session = Sight { waiting, ..actor(2, &name, 10 + number, "shop::Session") };
        listing.see(&session, &format!("/user/{name}"), &shown);
        listing.see(&actor(3, "cart", 2_000 + number, "shop::Cart"), &format!("/user/{name}/cart"), &shown);
    }
    listing.see(&actor(2, "desk", 5_000, "shop::Desk"), "/user/desk", &shown);
    listing.end(Time::ZERO, true);
    listing
}

fn names(listing: &Listing) -> Vec<String> {
    listing
        .lines
        .iter()
        .map(|row| if row.is_group { format!("{} {}", row.actors, row.actor_type) } else { row.path.clone() })
        .collect()
}

/// CON-25.
#[test]
fn con_25_a_group_is_opened_by_pages_the_worst_first() {
    assert_eq!(names(&shop("")), ["/", "/user", "1000 Session", "/user/desk"]);
    for page in [0, 3, 9] {
        let listing = shop(&format!("open=/user//Session%23{page}"));
        let names = names(&listing);
        assert_eq!(names.len(), 4 + PAGE);
        assert_eq!(
            (names[3].as_str(), listing.lines[2].page),
            (&*format!("/user/s{}", 999 - page * PAGE), Some((page, 10)))
        );
        assert_eq!(names[102], format!("/user/s{}", 900 - page * PAGE));
    }
    assert_eq!(shop("open=/user//Session%2310").lines.len(), 4, "there is no such page");
}

#[test]
fn one_of_many_is_shown_with_those_below_it_if_it_is_opened_or_chosen() {
    for query in ["open=/user/s500", "focus=/user/s500/cart"] {
        let names = names(&shop(query));
        assert_eq!(
            names,
            ["/", "/user", "1000 Session", "/user/s500", "/user/s500/cart", "/user/desk"],
            "{query}"
        );
    }
    let shut = shop("shut=/user");
    assert_eq!((names(&shut), shut.lines[1].hidden), (vec!["/".to_owned(), "/user".to_owned()], 2_001));
}

/// CON-25: by name, type and path, however many there are.
#[test]
fn con_25_a_search_finds_what_is_folded_away() {
    let found = shop("search=S77/CART");
    assert_eq!((names(&found), found.found), (vec!["/user/s77/cart".to_owned()], Some(1)));
    let found = shop("search=S7");
    assert_eq!((found.found, &*found.lines[0].path), (Some(222), "/user/s7"), "the very name comes first");
    let found = shop("search=shop%3A%3Asess");
    assert_eq!((found.lines.len(), found.found, &*found.lines[0].path), (PAGE, Some(1_000), "/user/s999"));
    assert_eq!(shop("search=nobody").found, Some(0));
}

#[test]
fn by_type_there_is_a_line_for_each_type() {
    let by_type = shop("by=type");
    assert_eq!(names(&by_type), ["1000 Session", "1000 Cart", "2 Guardian", "1 Desk"]);
    let opened = shop("by=type&open=//Cart%231");
    assert_eq!((opened.lines.len(), opened.lines[1].page), (4 + PAGE, Some((1, 10))));
    assert_eq!(opened.lines[2].path, "/user/s100/cart");
}
