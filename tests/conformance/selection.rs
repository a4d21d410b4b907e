//! Finding actors by path and selection (NAM), and messages to a selection that matches no actor (DLT-10).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{AnyActorRef, DeadLetter, DeadLetterReason, Event, InvalidName, InvalidSelection};
use tokio::sync::mpsc;

/// Holds other folders.
#[actor]
struct Folder;

#[actor]
impl Folder {
    #[handler]
    fn make(&mut self, name: String, ctx: &mut Context<Self>) -> Reply<Result<FolderRef, SpawnError>> {
        Reply(ctx.spawn(&name, || Folder))
    }

    #[handler]
    fn look_up(&mut self, path: String, ctx: &mut Context<Self>) -> Option<AnyActorRef> {
        ctx.find(path)
    }

    #[handler]
    fn look_around(
        &mut self,
        pattern: String,
        ctx: &mut Context<Self>,
    ) -> Reply<Result<Vec<AnyActorRef>, InvalidSelection>> {
        Reply(ctx.select(pattern).map(|selection| selection.identify()))
    }

    #[handler]
    fn touch(&mut self) {}
}

/// Counts.
#[actor]
struct Counter {
    count: Arc<AtomicUsize>,
}

#[actor]
impl Counter {
    #[handler]
    fn add(&mut self, n: usize) {
        self.count.fetch_add(n, Ordering::Relaxed);
    }
}

fn any<R: TypedRef>(actor: &R) -> AnyActorRef {
    actor.actor_ref().to_any()
}

async fn folder(parent: &FolderRef, name: &str) -> FolderRef {
    parent.make(name.to_owned()).await.unwrap().unwrap()
}

/// `/user/a` with `b1`, `b2`, `b2/c`, `b2/c/d`: the tree in which the reference's table searches.
async fn tree(system: &TestSystem) -> [FolderRef; 5] {
    let a = system.spawn("a", || Folder).unwrap();
    let b1 = folder(&a, "b1").await;
    let b2 = folder(&a, "b2").await;
    let c = folder(&b2, "c").await;
    let d = folder(&c, "d").await;
    [a, b1, b2, c, d]
}

fn identify(system: &ActorSystem, pattern: &str) -> Vec<AnyActorRef> {
    system.select(pattern).unwrap().identify()
}

/// Rule 16.1.
#[supervise::test]
async fn nam_04_a_name_with_encoded_characters_is_found(system: &TestSystem) {
    let parent = system.spawn("parent", || Folder).unwrap();
    let child = folder(&parent, "a%20b%2Fc").await;
    assert_eq!(system.find("/user/parent/a%20b%2Fc"), Some(any(&child)));
    assert_eq!(system.find(child.actor_ref().path()), Some(any(&child)));
    assert_eq!(identify(system, "/user/parent/a%20*"), [any(&child)]);
    for illegal in ["a%2", "a%2x", "a b"] {
        assert!(matches!(
            parent.make(illegal.to_owned()).await.unwrap(),
            Err(SpawnError::InvalidName { reason: InvalidName::Character { .. }, .. })
        ));
    }
}

/// Rules 2.6, 16.1.
#[supervise::test]
async fn nam_05_incarnations_share_the_path_and_nothing_else(system: &TestSystem) {
    let first = system.spawn("abcdefg", || Folder).unwrap();
    let (first_path, first_text) = (first.actor_ref().path(), first.actor_ref().to_string());
    assert_eq!(system.find(&first_text), Some(any(&first)));
    system.stop(&first);
    system.expect_terminated(&first).await;
    assert_eq!(system.find(&first_path), None);

    let second = system.spawn("abcdefg", || Folder).unwrap();
    let (path, text) = (second.actor_ref().path(), second.actor_ref().to_string());
    assert_eq!(path, first_path);
    assert_eq!(path.to_string(), first_path.to_string());
    assert_ne!(any(&second), any(&first));
    assert_ne!(text, first_text);
    assert_eq!(system.find(&path), Some(any(&second)));
    assert_eq!(system.find(&text), Some(any(&second)));
    assert_eq!(system.find(&first_text), None);
    assert_eq!(identify(system, &first_text), []);
    assert_eq!(identify(system, &text), [any(&second)]);
}

/// Rule 16.1.
#[supervise::test]
async fn nam_07_actors_are_found_by_path_text_and_from_where_one_stands(system: &TestSystem) {
    let [a, b1, b2, c, _] = tree(system).await;
    for target in [&a, &b1, &b2, &c] {
        let path = target.actor_ref().path();
        for text in [path.to_string(), path.local().to_owned(), format!("{}/", path.local())] {
            assert_eq!(system.find(&text), Some(any(target)), "{text}");
            assert_eq!(identify(system, &text), [any(target)], "{text}");
            assert_eq!(c.look_up(text.clone()).await.unwrap(), Some(any(target)), "{text}");
        }
        assert_eq!(system.find(&path), Some(any(target)));
    }
    for (text, target) in
        [("", &b2), ("c", &c), ("c/", &c), ("..", &a), ("../b1", &b1), ("c/../../b1/", &b1), ("/user/a", &a)]
    {
        assert_eq!(b2.look_up(text.to_owned()).await.unwrap(), Some(any(target)), "{text}");
        assert_eq!(b2.look_around(text.to_owned()).await.unwrap().unwrap(), [any(target)], "{text}");
    }
    assert_eq!(b2.look_around("../*".to_owned()).await.unwrap().unwrap(), [any(&b1), any(&b2)]);
    assert_eq!(identify(system, "/user/a/*/.."), [any(&a)], "each actor once");
}

/// Rule 16.1.
#[supervise::test]
async fn nam_08_the_systems_own_actors_are_found(system: &TestSystem) {
    let (user, runtime) = (system.user_guardian(), system.system_guardian());
    let root = system.find("/").unwrap();
    assert_eq!(root.path().to_string(), "supervise://test/");
    for text in ["/", "", "..", "../..", "/..", "supervise://test", "supervise://test/", "user/..", "/user/../"] {
        assert_eq!(system.find(text), Some(root.clone()), "{text}");
        assert_eq!(identify(system, text), std::slice::from_ref(&root), "{text}");
    }
    for text in ["/user", "/user/", "user", "user/", "../user", "supervise://test/user/"] {
        assert_eq!(system.find(text), Some(user.clone()), "{text}");
    }
    for text in ["/system", "/system/", "system"] {
        assert_eq!(system.find(text), Some(runtime.clone()), "{text}");
    }
    assert_eq!(identify(system, "/*"), [user, runtime]);
    let unnamed = system.spawn_anonymous(|| Folder).unwrap();
    assert_eq!(system.find(unnamed.actor_ref().path()), Some(any(&unnamed)));
}

/// Rule 16.1.
#[supervise::test]
async fn nam_09_what_does_not_exist_is_not_found(system: &TestSystem) {
    let [_, _, b2, _, _] = tree(system).await;
    for text in [
        "/user/nobody",
        "/user/a/b1/c",
        "/deadLetters",
        "supervise://elsewhere/user/a",
        "elsewhere://test/user/a",
        "/user//a",
        "/user/a#",
        "/user/a#17",
        "/user/a#x",
        "/user/ä",
    ] {
        assert_eq!(system.find(text), None, "{text}");
        assert_eq!(b2.look_up(text.to_owned()).await.unwrap(), None, "{text}");
    }
    assert_eq!(identify(system, "supervise://elsewhere/user/*"), []);
}

/// Rule 16.1.
#[supervise::test]
async fn nam_10_wildcards_select_by_element(system: &TestSystem) {
    let [a, b1, b2, c, d] = &tree(system).await.map(|folder| any(&folder));
    for (pattern, expected) in [
        ("/user/a", vec![a]),
        ("/user/a/b1", vec![b1]),
        ("/user/a/*", vec![b1, b2]),
        ("/user/a/b1/*", vec![]),
        ("/user/a/*/c", vec![c]),
        ("/user/a/b2/*/d", vec![d]),
        ("/user/a/*/*/d", vec![d]),
        ("/user/a/*/c/*", vec![d]),
        ("/user/a/b2/c/d/e", vec![]),
        ("/user/a/*/c/d/e", vec![]),
        ("/user/a/b?", vec![b1, b2]),
        ("/user/?/*2/c", vec![c]),
        ("/*/a", vec![a]),
        ("/user/b*", vec![]),
    ] {
        assert_eq!(identify(system, pattern).iter().collect::<Vec<_>>(), expected, "{pattern}");
    }
}

/// Rule 16.1.
#[supervise::test]
async fn nam_10_a_selection_tells_the_actors_of_one_type(system: &TestSystem) {
    let count = Arc::new(AtomicUsize::new(0));
    for name in ["counter-1", "counter-2"] {
        let count = Arc::clone(&count);
        system.spawn(name, move || Counter { count: Arc::clone(&count) }).unwrap();
    }
    system.spawn("counter-shop", || Folder).unwrap();
    let selected = system.select("/user/counter-*").unwrap();
    assert_eq!(selected.identify().len(), 3);
    let counters = selected.of::<Counter>();
    assert_eq!(counters.identify().len(), 2);
    assert_eq!(counters.tell(|counter| counter.add(5)), 2);
    system.settle().await;
    assert_eq!(count.load(Ordering::Relaxed), 10);

    let late = Arc::clone(&count);
    system.spawn("counter-3", move || Counter { count: Arc::clone(&late) }).unwrap();
    assert_eq!(counters.tell(|counter| counter.add(1)), 3, "a selection is looked up whenever it is used");
}

/// Rule 10.1.
#[supervise::test]
async fn dlt_10_what_is_sent_to_nobody_names_the_selected_path(system: &TestSystem) {
    let [_, _, b2, ..] = tree(system).await;
    let letter = async || {
        system
            .expect("a dead letter", |event| match event {
                Event::DeadLetter(letter) => Some(letter.clone()),
                _ => None,
            })
            .await
    };
    for (missing, path) in [
        ("/user/a/b9", "supervise://test/user/a/b9"),
        ("user/a/../nobody/", "supervise://test/user/nobody"),
        ("/user/a/b1/*", "supervise://test/user/a/b1/*"),
        ("/user/a/b1/?c", "supervise://test/user/a/b1/?c"),
        ("/user/a/b2#1", "supervise://test/user/a/b2"),
        ("supervise://elsewhere/user/a", "supervise://elsewhere/user/a"),
    ] {
        assert_eq!(system.select(missing).unwrap().of::<Folder>().tell(FolderRef::touch), 0);
        let DeadLetter { recipient, message, reason, .. } = letter().await;
        assert_eq!((recipient.to_string().as_str(), message, reason), (path, "Touch", DeadLetterReason::NotFound));
    }
    assert_eq!(system.select("/user/a").unwrap().of::<Counter>().tell(|counter| counter.add(1)), 0);
    assert_eq!(letter().await.message, "Add", "an actor of another type is not the one that was meant");

    for silent in ["/user/a/*/nobody", "/user/a/*/c/d/e", "/*/*/*/*/*/*/*"] {
        assert_eq!(system.select(silent).unwrap().of::<Folder>().tell(FolderRef::touch), 0);
    }
    drop(b2);
}

/// Rule 16.1.
#[supervise::test]
async fn nam_12_a_wrong_selection_is_refused_at_its_place(system: &TestSystem) {
    for (text, place) in [("/user//a", "byte 6"), ("/user/a b", "byte 7"), ("/user/a#seven", "byte 7")] {
        let error = system.select(text).unwrap_err().to_string();
        assert!(error.contains(place), "{error}");
    }
}

proptest! {
    // Each case starts a system.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rule 16.1.
    #[test]
    fn nam_12_no_text_breaks_a_search(text in "[/#.*?a-z$:%]{0,12}|\\PC{0,12}") {
        testkit::run(async |system| {
            let _found = system.find(&text);
            let _selected = system.select(&text).map(|selection| selection.identify());
        });
    }

    /// Rule 16.1.
    #[test]
    fn nam_13_a_child_is_found_whatever_its_name(
        name in "[a-zA-Z0-9_.*+:@&=,!~';-][a-zA-Z0-9$_.*+:@&=,!~';-]{0,12}",
    ) {
        prop_assume!(name != "..");
        testkit::run(async |system| {
            let parent = system.spawn("parent", || Folder).unwrap();
            let child = folder(&parent, &name).await;
            let path = format!("{}/{name}", parent.actor_ref().path());
            assert_eq!(system.find(path), Some(any(&child)));
        });
    }
}

/// A chain of actors, each the only child of the one before.
#[actor]
struct Link {
    below: u32,
    grown: mpsc::UnboundedSender<LinkRef>,
}

#[actor]
impl Link {
    #[pre_start]
    fn grow(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let grown = self.grown.clone();
        match self.below.checked_sub(1) {
            Some(below) => drop(ctx.spawn("l", move || Link { below, grown: grown.clone() })?),
            None => drop(grown.send(ctx.me())),
        }
        Ok(())
    }
}

/// A system of its own, with the actor at its bottom: the testkit's would hold each path in its log.
async fn deep(levels: u32) -> (ActorSystem, LinkRef) {
    let system = ActorSystem::new("deep");
    let (grown, mut bottom) = mpsc::unbounded_channel();
    system.spawn("l", move || Link { below: levels - 1, grown: grown.clone() }).unwrap();
    (system, bottom.recv().await.unwrap())
}

const DEEP: u32 = 20_000;

#[tokio::test(start_paused = true)]
async fn a_deep_tree_is_searched_level_by_level() {
    let (system, bottom) = deep(DEEP).await;
    let path = bottom.actor_ref().path();
    assert_eq!(path.elements().count(), DEEP as usize + 1);
    assert_eq!(system.find(&path), Some(any(&bottom)));
    let wild = format!("/*{}", "/?".repeat(DEEP as usize));
    assert_eq!(identify(&system, &wild), [any(&bottom)]);
    let up = format!("{path}{}", "/..".repeat(DEEP as usize + 1));
    assert_eq!(system.find(up), system.find("/"));
    system.terminate().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_ref_into_a_deep_tree_can_be_dropped() {
    let (system, bottom) = deep(DEEP).await;
    system.terminate().await;
    drop(system);
    // All tasks have ended, so only this ref holds the chain of parents.
    tokio::task::yield_now().await;
    assert!(bottom.actor_ref().has_ended());
    drop(bottom);
}

/// Rule 6.6.
#[test]
fn a_runtime_that_ends_under_a_deep_tree_lets_it_go() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bottom = runtime.block_on(async {
        let (_, bottom) = deep(DEEP).await;
        bottom
    });
    drop(runtime);
    assert!(bottom.actor_ref().has_ended());
    drop(bottom);
}

/// Rule 6.6.
#[test]
fn a_runtime_that_ends_under_actors_leaks_no_system() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut events = runtime.block_on(async {
        let (system, _) = deep(3).await;
        system.events().subscribe()
    });
    drop(runtime);
    let another = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    another.block_on(async {
        let gone = async { while events.recv().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(1), gone).await.expect("the system is gone with its runtime");
    });
}
