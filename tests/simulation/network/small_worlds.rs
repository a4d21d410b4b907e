//! The small worlds.

use std::time::Duration;

use supervise_core::remote::association::{Frame, Settings};

use super::explore::explore;
use super::world::Deed::{Ask, End, Leave, Put, Tell, Unwatch, Watch};
use super::world::{Faults, World, idler, reader};

/// One heartbeat for each state that time can reach.
fn slow() -> Settings {
    Settings { heartbeat: Duration::from_secs(5), greet_every: Duration::from_secs(5), ..Settings::DEFAULT }
}

fn world(deeds: &[&[super::world::Deed]], faults: Faults) -> World {
    World::new(deeds).with_settings(slow()).with_faults(faults)
}

/// A world whose nodes have greeted each other.
fn up(deeds: &[&[super::world::Deed]], faults: Faults) -> World {
    World::new(deeds).with_settings(slow()).greeted().with_faults(faults)
}

#[test]
fn network_greetings_with_faults() {
    let faults = Faults { drops: 1, repeats: 1, reorders: 1, ticks: 1, ..Faults::default() };
    explore("greetings", world(&[&[Tell(1, 1)], &[Tell(11, 0)]], faults));
}

#[test]
fn network_greetings_and_a_restart() {
    let faults = Faults { reorders: 1, restarts: 1, ..Faults::default() };
    explore("greetings and a restart", world(&[&[Tell(1, 1)], &[Watch(1, 11)]], faults));
}

/// The welcome of the incarnation before arrives last.
#[test]
fn network_greetings_and_a_late_welcome() {
    let faults = Faults { drops: 1, reorders: 2, restarts: 1, ..Faults::default() };
    explore("a late welcome", world(&[&[], &[Tell(11, 0)]], faults));
}

#[test]
fn network_messages_with_faults() {
    let faults = Faults { drops: 1, repeats: 1, reorders: 1, ticks: 1, ..Faults::default() };
    explore("messages", up(&[&[Tell(1, 1), Tell(2, 1)], &[Tell(11, 0)]], faults));
}

#[test]
fn network_watches_and_ends() {
    let faults = Faults { reorders: 1, freezes: 1, ticks: 1, ..Faults::default() };
    let watcher = [Watch(11, 1), Unwatch(11, 1), Watch(11, 1)];
    explore("watches", up(&[&watcher, &[Tell(11, 0), End(11)]], faults));
}

/// The nodes have different limits, so the peer refuses what the watching node allows. Ends make room again.
#[test]
fn network_watches_beyond_the_limit() {
    let watcher = [Watch(11, 1), Watch(12, 1), Unwatch(12, 1), Watch(12, 1)];
    for limits in [[9, 1], [1, 9]] {
        let start = World::new(&[&watcher, &[End(11)]]).with_settings(slow()).with_watches(&limits).greeted();
        explore("watches beyond the limit", start);
    }
}

#[test]
fn network_watches_and_a_killed_node() {
    let faults = Faults { drops: 1, kills: 1, ticks: 1, ..Faults::default() };
    explore("watches and a kill", up(&[&[Watch(11, 1), Watch(12, 1)], &[Watch(1, 11), End(12)]], faults));
}

#[test]
fn network_mutual_watches_and_a_node_that_leaves() {
    let faults = Faults { drops: 1, reorders: 1, ..Faults::default() };
    explore("leaving", up(&[&[Watch(11, 1), End(1)], &[Watch(1, 11), End(11), Leave]], faults));
}

#[test]
fn network_asks_with_faults() {
    let faults = Faults { drops: 1, repeats: 1, freezes: 1, ..Faults::default() };
    explore("asks", up(&[&[Ask(1), Ask(1)], &[Ask(0)]], faults));
}

#[test]
fn network_asks_and_a_restart() {
    let faults = Faults { drops: 1, restarts: 1, ticks: 1, ..Faults::default() };
    explore("asks and a restart", up(&[&[Ask(1), Ask(1)], &[Ask(0)]], faults));
}

#[test]
fn network_a_small_window() {
    let settings = Settings { window: 2 * (Frame::HEAD + 2), packet: Frame::HEAD + 2, ..slow() };
    let deeds: &[&[_]] = &[&[Tell(1, 1), Ask(1), Tell(1, 1), Tell(1, 1)], &[Tell(11, 0)]];
    let faults = Faults { ticks: 2, ..Faults::default() };
    let mut start = World::new(deeds).with_settings(settings).greeted().with_faults(faults);
    start.works_later = true;
    explore("a small window", start);
}

#[test]
fn network_three_nodes() {
    let faults = Faults { drops: 1, kills: 1, ..Faults::default() };
    let deeds: &[&[_]] = &[&[Watch(11, 1), Watch(21, 1)], &[Tell(11, 0), End(11)], &[Watch(11, 21)]];
    explore("three nodes", up(deeds, faults));
}

#[test]
fn network_a_full_actor_and_one_that_reads() {
    let settings = Settings { window: 3 * (Frame::HEAD + 2), packet: Frame::HEAD + 2, ..slow() };
    let settings = Settings { held: settings.window, ..settings };
    let (full, other) = (idler(11), reader(12));
    let deeds: &[&[_]] =
        &[&[Put(1, full), Put(1, full), Put(1, full), Put(1, other), Put(1, other)], &[Tell(11, 0)]];
    let faults = Faults { ticks: 1, ..Faults::default() };
    let mut start = World::new(deeds).with_settings(settings).greeted().with_faults(faults);
    start.works_later = true;
    explore("a full actor", start);
}

#[test]
fn network_full_actors_with_faults() {
    let other = reader(11);
    let deeds: &[&[_]] = &[&[Put(1, other), Put(2, other), Put(1, other), Put(1, other)], &[Put(11, reader(1))]];
    let faults = Faults { drops: 1, reorders: 1, ..Faults::default() };
    explore("full actors with faults", up(deeds, faults));
    let faults = Faults { freezes: 1, restarts: 1, ..Faults::default() };
    explore("full actors and a restart", up(deeds, faults));
}

/// What waits for room closes the window at once.
#[test]
fn network_a_full_actor_and_no_room_to_hold() {
    let settings = Settings { window: 2 * (Frame::HEAD + 2), packet: Frame::HEAD + 2, held: 0, ..slow() };
    let other = reader(11);
    let deeds: &[&[_]] = &[&[Put(1, other); 5], &[Put(11, reader(1))]];
    let faults = Faults { ticks: 1, ..Faults::default() };
    let mut start = World::new(deeds).with_settings(settings).greeted().with_faults(faults);
    start.works_later = true;
    explore("no room to hold", start);
}

/// An actor that never reads closes the window of one direction. In the other direction, refs are resumed all the same.
#[test]
fn network_a_resume_passes_a_closed_window() {
    let settings = Settings { window: 2 * (Frame::HEAD + 2), packet: Frame::HEAD + 2, held: 0, ..slow() };
    let (full, other) = (idler(11), reader(1));
    let deeds: &[&[_]] = &[&[Put(1, full); 4], &[Put(11, other); 3]];
    let faults = Faults { ticks: 1, ..Faults::default() };
    let mut start = World::new(deeds).with_settings(settings).greeted().with_faults(faults);
    start.works_later = true;
    explore("a resume and a closed window", start);
}
