//! NAM: names, paths and incarnations.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Event, InvalidName, InvalidPath, Strategy};

use crate::fixture::{PingPong, child, keeper, names_of_children, within};

#[actor]
struct Nobody;

#[actor]
impl Nobody {}

/// Rule 5.4.
#[test]
fn nam_01_one_of_many_concurrent_creations_of_a_name_wins() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let system = runtime.block_on(async { ActorSystem::new("names") });
    for round in 0..100 {
        let name = format!("name-{round}");
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| system.spawn(&name, || Nobody))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let (won, lost): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 3));
        for refused in lost {
            assert!(matches!(refused, Err(SpawnError::NameTaken { name: taken, .. }) if taken == name));
        }
    }
    runtime.block_on(system.terminate());
}

/// Makes two children of one name.
#[actor]
struct Careless;

#[actor]
impl Careless {
    #[handler]
    fn twice(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("duplicate", || Nobody)?;
        ctx.spawn("duplicate", || Nobody)?;
        Ok(())
    }
}

/// Rule 5.4.
#[supervise::test]
async fn nam_02_the_same_name_twice_in_one_handler_fails_it(system: &TestSystem) {
    let log = crate::log::Log::open();
    let careless = system.spawn("careless", || Careless).unwrap();
    assert!(matches!(careless.twice().await, Err(AskError::Failed(failure))
        if matches!(failure.downcast_ref(), Some(SpawnError::NameTaken { .. }))));
    system.settle().await;
    assert_eq!(log.errors().len(), 1, "{:?}", log.errors());
    system.expect_restarts(&careless, 1).await;
}

/// The name is free when the parent has been told of the end, not when the stop is requested.
/// Rule 5.4.
#[supervise::test]
async fn nam_02_the_name_of_a_child_that_is_ending_is_taken(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    child(&keeper, "name", PingPong::factory(&probe.handle())).await;
    let again = within(&keeper, |ctx| {
        let child = ctx.child("name").expect("it was made");
        child.stop();
        ctx.spawn("name", || Nobody).map(drop)
    });
    assert!(matches!(again.await, Err(SpawnError::NameTaken { .. })));
    system.settle().await;
    assert_eq!(names_of_children(&keeper).await.len(), 0);
    child(&keeper, "name", || Nobody).await;
}

/// Rule 16.1.
#[supervise::test]
async fn nam_04_an_encoded_name_is_a_name(system: &TestSystem) {
    let name = "akka%3A%2F%2FClusterSystem%40127.0.0.1%3A2552";
    let keeper = keeper(system, Strategy::one_for_one());
    let made = child(&keeper, name, || Nobody).await;
    let found = within(&keeper, move |ctx| ctx.child(name)).await.unwrap();
    assert_eq!(found, made.actor_ref().to_any());
    let path = made.actor_ref().path();
    assert_eq!(path.name(), name);
    assert_eq!(path.to_string().parse::<ActorPath>().unwrap(), path);
    let refused = system.spawn("half%4", || Nobody).unwrap_err();
    assert!(matches!(refused, SpawnError::InvalidName { reason: InvalidName::Character { .. }, .. }));
}

/// Rules 2.6, 16.1.
#[supervise::test]
async fn nam_05_incarnations_share_a_path_and_differ_as_refs(system: &TestSystem) {
    let probe = system.probe();
    let first = system.spawn("abcdefg", PingPong::factory(&probe.handle())).unwrap();
    system.stop(&first);
    system.expect_terminated(&first).await;
    let second = system.spawn("abcdefg", PingPong::factory(&probe.handle())).unwrap();
    let (first, second) = (first.actor_ref(), second.actor_ref());
    assert_eq!(first.path(), second.path());
    assert_eq!(first.path().to_string(), second.path().to_string());
    assert_ne!(first, second);
    assert_ne!(first.uid(), second.uid());
    assert_ne!(first.to_string(), second.to_string());
    assert_ne!(first.to_any(), second.to_any());
    assert!(first.has_ended() && !second.has_ended(), "the old ref does not reach the new actor");
}

/// Rule 16.1.
#[test]
fn nam_12_a_text_that_is_not_a_path_is_refused() {
    for text in ["", "user/a", "/user/a", "http://s/user", "supervise:/s/user", "akka://s/user/a"] {
        assert!(matches!(text.parse::<ActorPath>(), Err(InvalidPath::Scheme(_))), "{text}");
    }
    for text in
        ["supervise://", "supervise:///user", "supervise://-s/user", "supervise://s s/user", "supervise://s@h/a"]
    {
        assert!(matches!(text.parse::<ActorPath>(), Err(InvalidPath::System { .. })), "{text}");
    }
    for text in ["supervise://s@/a", "supervise://s@:1/a", "supervise://s@h:x/a", "supervise://s@h:70000/a"] {
        assert!(matches!(text.parse::<ActorPath>(), Err(InvalidPath::System { .. })), "{text}");
    }
    assert!("supervise://s@h:1/a".parse::<ActorPath>().is_ok(), "the address of another node");
    for text in
        ["supervise://s//a", "supervise://s/user//b", "supervise://s/a/", "supervise://s/ü", "supervise://s/a#1"]
    {
        assert!(matches!(text.parse::<ActorPath>(), Err(InvalidPath::Element { .. })), "{text}");
    }
    let root: ActorPath = "supervise://s".parse().unwrap();
    assert_eq!((root.local(), root.name(), root.elements().count()), ("/", "", 0));
    assert_eq!(root.parent(), root);
    assert_eq!(root.child(""), Err(InvalidName::Empty));
    assert!(matches!(root.child("a/b"), Err(InvalidName::Character { found: '/', at: 1, .. })));
}

const NAME: &str = "[a-zA-Z0-9._*+:@&=,!~';-]([a-zA-Z0-9$._*+:@&=,!~';-]|%[0-9a-fA-F]{2}){0,12}";

proptest! {
    /// Rule 16.1.
    #[test]
    fn nam_12_a_path_survives_printing_and_parsing(
        system in "[a-zA-Z0-9][a-zA-Z0-9_-]{0,10}",
        names in prop::collection::vec(NAME.prop_filter("the parent", |name| name != ".."), 0..6),
    ) {
        let root: ActorPath = format!("supervise://{system}").parse().unwrap();
        let path = names.iter().fold(root.clone(), |path, name| path.child(name).unwrap());
        prop_assert_eq!(&path.to_string().parse::<ActorPath>().unwrap(), &path);
        prop_assert_eq!(path.elements().collect::<Vec<_>>(), names.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(path.name(), names.last().map_or("", String::as_str));
        prop_assert_eq!(path.system(), system);
        let up = (0..names.len()).fold(path, |path, _| path.parent());
        prop_assert_eq!(up, root);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rule 16.1.
    #[test]
    fn nam_13_a_child_s_path_is_its_parent_s_and_its_name(name in prop_oneof![NAME, ".{0,8}"]) {
        testkit::run(async |system: &TestSystem| {
            let keeper = keeper(system, Strategy::one_for_one());
            let wanted = name.clone();
            let made = within(&keeper, move |ctx| ctx.spawn(wanted, || Nobody)).await;
            match made {
                Ok(made) => {
                    let made = made.actor_ref();
                    assert_eq!(made.path().to_string(), format!("{}/{name}", keeper.actor_ref().path()));
                    assert_eq!(names_of_children(&keeper).await, [name]);
                }
                Err(SpawnError::InvalidName { parent, reason }) => {
                    assert_eq!(parent, keeper.actor_ref().path());
                    assert!(matches!(parent.child(&name), Err(again) if again == reason) || name.starts_with('$'));
                    assert!(names_of_children(&keeper).await.is_empty());
                }
                Err(other) => panic!("{other}"),
            }
        });
    }
}

/// A made-up name is like any other name wherever it is read: in paths, and in events about its actor.
/// Rule 16.1.
#[supervise::test]
async fn nam_12_a_made_up_name_is_part_of_a_path(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn_anonymous(PingPong::factory(&probe.handle())).unwrap();
    let path = actor.actor_ref().path();
    assert!(path.name().starts_with('$'));
    assert_eq!(path.to_string().parse::<ActorPath>().unwrap(), path);
    actor.die("boom").tell().unwrap();
    let decided = system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == path)).await;
    assert_eq!(decided.len(), 1);
}
