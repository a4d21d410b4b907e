//! Maps of the tree, from types and from a running system.

use std::io::Error as IoError;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{DeciderTable, NodeState, Props, RestartType, Rule, Strategy, Tree, TreeNode};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn next_line(&mut self) -> Result<u32, IoError> {
        Err(IoError::other("the disk is gone"))
    }

    #[handler]
    fn next_page(&mut self) -> Result<u32, Broken> {
        Err(Broken)
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 10, within = "60s"),
    on(Broken) = Restart(backoff(min = "1s", max = "10s")),
    on(IoError) = Restart,
    on(_) = Escalate
)]
struct Library;

#[actor]
impl Library {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<ReaderRef, SpawnError> {
        ctx.spawn("reader", || Reader)
    }
}

#[actor]
struct Town {
    #[child(|_| || Library, restart = permanent)]
    library: Child<Library>,
    #[child(|_| || Suburb { library: Child::default(), town: Child::default() }, restart = temporary)]
    suburb: Child<Suburb>,
}

/// Declares a `Town`, which itself declares a `Suburb`.
#[actor]
struct Suburb {
    #[child(|_| || Library)]
    library: Child<Library>,
    #[child(|_| || Town { library: Child::default(), suburb: Child::default() })]
    town: Child<Town>,
}

#[actor]
impl Town {
    #[handler]
    fn places(&self) -> (LibraryRef, SuburbRef) {
        (self.library.actor(), self.suburb.actor())
    }
}

#[actor]
impl Suburb {
    #[handler]
    fn places(&self) -> (LibraryRef, TownRef) {
        (self.library.actor(), self.town.actor())
    }
}

#[test]
fn types_declare_a_tree_before_anything_runs() {
    let tree = Tree::declared::<Town>();
    let seen: Vec<_> = tree.nodes().map(|node| (node.path(), node.state())).collect();
    let seen: Vec<_> = seen.iter().map(|(path, state)| (path.as_str(), *state)).collect();
    assert_eq!(
        seen,
        [
            ("/", NodeState::Declared),
            ("/library", NodeState::Declared),
            ("/suburb", NodeState::Declared),
            ("/suburb/library", NodeState::Declared),
            ("/suburb/town", NodeState::Recursive),
        ]
    );
    let library = tree.find("/library").unwrap();
    assert_eq!(library.spec().unwrap().restart, RestartType::Permanent);
    assert_eq!(library.strategy(), Strategy::one_for_one().max_retries(10).within(Duration::from_secs(60)));
    assert_eq!(library.actor_type(), std::any::type_name::<Library>());
    let DeciderTable::Rules([broken, io, rest]) = library.table() else {
        panic!("unexpected {:?}", library.table());
    };
    assert_eq!(broken.pattern, "Broken");
    assert_eq!(*io, Rule::new("IoError", Directive::Restart));
    assert_eq!(*rest, Rule::new("_", Directive::Escalate));
}

#[supervise::test]
async fn a_running_tree_shows_who_is_there_and_how_they_are(system: &TestSystem) {
    let library = system.spawn("library", || Library).unwrap();
    let reader = library.open().await.unwrap();
    assert_eq!(state(system, "/user/library/reader"), Some(NodeState::Running));

    reader.next_line().await.unwrap_err();
    system.expect_restarts(&reader, 1).await;
    assert_eq!(system.tree().find("/user/library/reader").unwrap().restarts(), 1);

    reader.next_page().await.unwrap_err();
    reader.next_line().tell().unwrap();
    system.settle().await;
    assert_eq!(state(system, "/user/library/reader"), Some(NodeState::Failed), "it waits for its backoff");
    assert_eq!(
        system.tree().find("/user").unwrap().to_string(),
        "\
user: Guardian, one_for_one
│    killed, death pact → Stop
│    anything else → Restart
└─ library: Library, one_for_one(max_retries = 10, within = 60s)
   │    Broken → Restart(backoff(min = 1s, max = 10s))
   │    IoError → Restart
   │    anything else → Escalate
   └─ reader: Reader, failed, 2 restarts, 1 message waits
"
    );
    assert_eq!(system.tree().find("/user/library/reader").unwrap().waiting(), 1);
    system.advance(Duration::from_secs(1)).await;
    // The second is for the line that waited.
    system.expect_restarts(&reader, 2).await;
    assert_eq!(state(system, "/user/library/reader"), Some(NodeState::Running));

    system.stop(&library);
    system.expect_terminated(&library).await;
    assert_eq!(state(system, "/user/library"), None);
}

fn state(system: &ActorSystem, path: &str) -> Option<NodeState> {
    system.tree().find(path).map(TreeNode::state)
}

/// The tree of the README's first program.
mod readme {
    use super::*;

    #[actor]
    #[supervise(one_for_one(max_retries = 10, within = "60s"), on(IoError) = Restart, on(_) = Escalate)]
    struct Library {
        #[child(|_| || Reader)]
        reader: Child<Reader>,
    }

    #[actor]
    impl Library {}

    /// The example is the program.
    #[test]
    fn it_is_the_quickstart() {
        let (_its_comment, program) = include_str!("../../examples/quickstart.rs").split_once("\n\n").unwrap();
        assert!(include_str!("../../README.md").contains(&format!("```rust\n{program}```\n")));
    }

    #[supervise::test]
    async fn its_map_is_what_is_drawn(system: &TestSystem) {
        system.spawn("library", || Library { reader: Child::default() }).unwrap();
        system.settle().await;
        let map = system.tree().find("/user/library").unwrap().to_mermaid();
        assert!(include_str!("../../README.md").contains(&format!("```mermaid\n{map}```\n")), "{map}");
    }
}

#[supervise::test]
async fn what_was_said_at_run_time_stands_on_the_map(system: &TestSystem) {
    let strategy = Strategy::all_for_one().max_retries(1);
    let props = Props::new(|| Library).supervision_unchecked(strategy, |_, _| Ok(Directive::Stop));
    let library = system.spawn_with("library", props).unwrap();
    system.settle().await;
    let tree = system.tree();
    let node = tree.find(library.actor_ref().path()).unwrap();
    assert_eq!(node.strategy(), strategy);
    assert_eq!(node.table(), DeciderTable::AtRunTime);
    assert_eq!(
        node.to_string(),
        "library: Library, all_for_one(max_retries = 1)\n     decided by a function given at run time\n"
    );
}

#[supervise::test]
async fn children_of_fields_are_shown_as_they_are_declared(system: &TestSystem) {
    let hall = system.spawn("hall", || Hall { library: Child::default() }).unwrap();
    hall.library().await.unwrap();
    let tree = system.tree();
    let node = tree.find("/user/hall/library").unwrap();
    assert_eq!(node.spec().map(|spec| (spec.restart, spec.significant)), Some((RestartType::Transient, true)));
    assert_eq!(tree.find("/user/hall").unwrap().spec(), None);
}

#[actor]
#[supervise(one_for_one(auto_shutdown = any_significant), on(_) = Stop)]
struct Hall {
    #[child(|_| || Library, significant)]
    library: Child<Library>,
}

#[actor]
impl Hall {
    #[handler]
    fn library(&self) -> LibraryRef {
        self.library.actor()
    }
}

#[supervise::test]
async fn a_stopping_actor_is_on_the_map_until_it_has_ended(system: &TestSystem) {
    let (release, wait) = tokio::sync::oneshot::channel();
    let slow = system.spawn("slow", || Slow).unwrap();
    let finishing = slow.finish(wait);
    finishing.tell().unwrap();
    system.settle().await;
    system.stop(&slow);
    system.settle().await;
    assert_eq!(state(system, "/user/slow"), Some(NodeState::Stopping));
    release.send(()).unwrap();
    system.expect_terminated(&slow).await;
    assert_eq!(state(system, "/user/slow"), None);
}

#[actor]
struct Slow;

#[actor]
impl Slow {
    #[handler]
    async fn finish(&mut self, wait: tokio::sync::oneshot::Receiver<()>) {
        let _ = wait.await;
    }
}

#[tokio::test]
async fn the_tree_of_a_system_that_has_terminated_is_empty() {
    let system = ActorSystem::new("done");
    // No actor has had its first turn.
    assert!(system.tree().to_string().starts_with("supervise://done/: Guardian, starting, one_for_one\n"));
    system.terminate().await;
    let tree = system.tree();
    assert_eq!(tree.nodes().len(), 0);
    assert_eq!((tree.to_string().as_str(), tree.to_mermaid().as_str()), ("", "flowchart TD\n"));
}

/// Each actor spawns the next one.
#[actor]
struct Link;

#[actor]
impl Link {
    #[handler]
    fn extend(&mut self, ctx: &mut Context<Self>) -> Result<LinkRef, SpawnError> {
        ctx.spawn("a", || Link)
    }

    #[handler]
    fn widen(&mut self, by: usize, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        (0..by).try_for_each(|_| ctx.spawn_anonymous(|| Link).map(drop))
    }
}

#[tokio::test]
async fn a_tree_may_be_deep() {
    const DEPTH: usize = 10_000;
    let system = ActorSystem::new("deep");
    let mut last = system.spawn("a", || Link).unwrap();
    for _ in 1..DEPTH {
        last = last.extend().await.unwrap();
    }
    let tree = system.tree();
    assert_eq!(tree.nodes().map(TreeNode::depth).max(), Some(DEPTH + 1));
    assert_eq!(tree.to_mermaid().lines().count(), 2 * (DEPTH + 3));
    assert!(tree.find(last.actor_ref().path()).is_some());
    system.terminate().await;
}

#[tokio::test]
async fn a_tree_may_be_wide() {
    const WIDTH: usize = 100_000;
    let system = ActorSystem::new("wide");
    let link = system.spawn("a", || Link).unwrap();
    link.widen(WIDTH).await.unwrap();
    let tree = system.tree();
    assert_eq!(tree.find("/user/a").unwrap().children().count(), WIDTH);
    drop(tree);
    system.terminate().await;
}
