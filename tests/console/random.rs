//! Random outages and interventions: the card of a backoff supervisor's child always agrees with a model. Rules 13.7 and 22.3.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::pattern::{BackoffSupervisor, BackoffSupervisorRef};
use supervise::testkit::TestSystem;
use supervise::{Backoff, Intervention};

use crate::clerk::Clerk;

const LONGEST: u64 = 2_000;

fn open(system: &TestSystem) -> BackoffSupervisorRef<Clerk> {
    let delays = Backoff::exponential(Duration::from_secs(4), Duration::from_secs(LONGEST)).manual_reset();
    system.spawn_with("office", BackoffSupervisor::on_failure("clerk", || Clerk, delays).props()).unwrap()
}

/// What the backoff supervisor does.
struct Model {
    office: BackoffSupervisorRef<Clerk>,
    restarts: u32,
    in_a_row: u32,
    /// When the next clerk starts, in seconds, if there is none.
    due: Option<u64>,
    trail: Vec<String>,
}

impl Model {
    fn of(office: BackoffSupervisorRef<Clerk>) -> Self {
        Self { office, restarts: 0, in_a_row: 0, due: None, trail: Vec::new() }
    }

    /// The time in seconds.
    fn now(&mut self, system: &TestSystem) -> u64 {
        let now = system.uptime().as_secs();
        self.due = self.due.filter(|&due| due > now);
        now
    }

    /// Does something, and returns whether the console must look before anything else happens, so that it knows when it was.
    async fn act(&mut self, system: &TestSystem, random: &mut fastrand::Rng) -> bool {
        let now = self.now(system);
        let mut note = |what: String| self.trail.push(format!("{now}: {what}"));
        match (random.u32(0..20), self.due) {
            (0..=7, None) => {
                self.office.stamp().tell().unwrap();
                let delay = LONGEST.min(4 << self.in_a_row.min(20));
                self.in_a_row += 1;
                self.due = Some(now + delay);
                note(format!("failure {}, the next try in {delay} s", self.in_a_row));
                system.settle().await;
                return true;
            }
            (8, _) => {
                note("restart".to_owned());
                let office = self.office.actor_ref().to_any();
                system.intervene(&office, self.restarts, Intervention::Restart, "night shift").unwrap();
                (self.restarts, self.in_a_row, self.due) = (self.restarts + 1, 0, None);
            }
            (9, _) => {
                note("another office".to_owned());
                self.office.actor_ref().stop();
                system.expect_terminated(self.office.actor_ref()).await;
                self.office = open(system);
                (self.restarts, self.in_a_row, self.due) = (0, 0, None);
            }
            (10, _) => {
                note("reset".to_owned());
                self.office.actor_ref().reset();
                self.in_a_row = 0;
            }
            (11..=13, _) => system.advance(Duration::from_secs(random.u64(1..400))).await,
            (14.., Some(due)) => system.advance(Duration::from_secs(due - now)).await,
            _ => {}
        }
        system.settle().await;
        false
    }

    fn check(&mut self, system: &TestSystem, watch: &Watch) {
        let now = self.now(system);
        let text = watch.text().split_whitespace().collect::<Vec<_>>().join(" ");
        let told = || format!("{:#?}\n{}", self.trail, watch.text());
        let next = text.split_once("The next try comes in ").and_then(|(_, rest)| rest.split_once('.'));
        let next = next.map(|(span, _)| seconds(span));
        let is_loop = text.contains("Restart loop");
        match self.due {
            None => assert_eq!(next, None, "{}", told()),
            Some(due) if is_loop => assert_eq!(next, Some(due - now), "{}", told()),
            Some(_) => assert!(self.in_a_row < 3, "{}", told()),
        }
    }
}

/// The seconds of `2 min 4 s`.
fn seconds(span: &str) -> u64 {
    let words: Vec<&str> = span.split(' ').collect();
    let part = |part: &[&str]| {
        let unit = match part[1] {
            "min" => 60,
            "s" => 1,
            other => panic!("{other} in {span}"),
        };
        part[0].parse::<u64>().unwrap() * unit
    };
    words.chunks(2).map(part).sum()
}

#[supervise::test]
async fn con_13_the_card_agrees_with_the_backoff_supervisor_whatever_an_operator_does(system: &TestSystem) {
    system.allow_failures();
    for seed in 0..5 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut model = Model::of(open(system));
        let mut watch = Console::of(system).by_hand();
        for _ in 0..200 {
            system.advance(Duration::from_secs(1)).await;
            if model.act(system, &mut random).await || random.bool() {
                watch.look();
                model.check(system, &watch);
            }
        }
        model.office.actor_ref().stop();
        system.expect_terminated(model.office.actor_ref()).await;
    }
}
