//! A map of the tree: the place of each actor and how it supervises its children, from a running system
//! or from the types alone, before any actor runs.
//!
//! `tree/render` draws a map, and `actor/description` holds what a type declares. Nothing here changes the tree or
//! waits for an actor.
//!
//! ```text
//!   index   0       1        2        3          4          preorder: a node comes before its subtree
//!   node    /    ─► user  ─► a     ─► b       ─► system
//!   size    5       3        1        1          1          of the subtree, the node included
//!   up      0       1        1        2          4          where the parent is
//! ```
//!
//! 1. The subtrees of a node's children follow the node directly, one after another.
//! 2. A subtree is a slice of the same form as a whole tree, because nodes refer to each other by their distance.
//! 3. Nothing recurses, so a tree may have any depth.

mod render;
#[cfg(test)]
mod tests;

use std::fmt;

pub(super) use self::render::policy;
#[cfg(feature = "testkit")]
pub(crate) use self::render::short;
use crate::actor::{
    ActorDescription, ActorSystem, ActorType, AnyActorRef, CellProtocol, DeciderTable, Supervisor,
};
use crate::base::{ActorName, SCHEME};
use crate::supervision::{ChildSpec, Strategy};

/// A snapshot of a supervision tree.
///
/// [`ActorSystem::tree`] takes it from a running system, and [`Tree::declared`] from what a type declares. `Display`
/// prints it as text, and [`to_mermaid`](Self::to_mermaid) and [`to_dot`](Self::to_dot) draw it.
///
/// ```
/// # use supervise_core::ActorSystem;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let system = ActorSystem::new("house");
/// let tree = system.tree();
/// assert_eq!(tree.nodes().map(|node| node.path()).collect::<Vec<_>>(), ["/", "/user", "/system"]);
/// print!("{tree}");
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Tree {
    /// In preorder.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    name: ActorName,
    description: ActorDescription,
    spec: Option<ChildSpec>,
    state: NodeState,
    restarts: u32,
    restarts_in_all: u32,
    /// How many messages waited in its mailbox.
    waiting: usize,
    /// The distance to its parent, in nodes. 0 for the top node.
    up: usize,
    depth: usize,
    size: usize,
}

/// The state of an actor at the moment of the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeState {
    /// Its first instance, or the next one, has not completed its start: the factory or a hook runs, or it waits for its declared
    /// children.
    Starting,
    /// It waits for messages or handles one.
    Running,
    /// It failed and has not been restarted or resumed yet, because its parent is still deciding or waits for a
    /// backoff.
    Failed,
    /// It is suspended because an actor above it failed, or a sibling that restarts together with it.
    Suspended,
    /// It was asked to stop.
    Stopping,
    /// It does not run. It is part of a tree that a type declares.
    Declared,
    /// Like `Declared`, but an actor above it has the same type. The tree shows the type's children at that
    /// actor.
    Recursive,
}

/// One word, such as `starting`.
impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Suspended => "suspended",
            Self::Stopping => "stopping",
            Self::Declared => "declared",
            Self::Recursive => "recursive",
        })
    }
}

impl ActorSystem {
    /// A snapshot of the tree: all actors from the root `/` down, including the runtime's own actors below `/system`.
    ///
    /// The snapshot is not atomic. It reads one actor after another, parents before their children, while all actors
    /// continue to run, and notes the state that each actor has at that moment. An actor that starts during the walk
    /// may be missing, and an actor that ends during the walk may still be included. Actors that had ended before they
    /// were read are left out.
    ///
    /// It takes time and memory in proportion to the number of actors. It blocks one actor at a time, for as long as it
    /// takes to list that actor's children.
    pub fn tree(&self) -> Tree {
        struct ToVisit {
            actor: AnyActorRef,
            parent: Option<usize>,
            restarts: u32,
            restarts_in_all: u32,
        }
        let mut tree = Tree { nodes: Vec::new() };
        let mut found = vec![ToVisit { actor: self.core().root(), parent: None, restarts: 0, restarts_in_all: 0 }];
        while let Some(ToVisit { actor, parent, restarts, restarts_in_all }) = found.pop() {
            let core = actor.core();
            let at = tree.nodes.len();
            let state = {
                let protocol = core.protocol();
                if protocol.has_ended() {
                    continue;
                }
                let children = protocol.children().rev().map(|(id, child)| ToVisit {
                    actor: child.clone(),
                    parent: Some(at),
                    restarts: protocol.child_info(id).map_or(0, |(_, restarts)| restarts),
                    restarts_in_all: protocol.restarts_in_all(id),
                });
                found.extend(children);
                NodeState::of(&protocol)
            };
            let name =
                if parent.is_none() { (&*format!("{SCHEME}{}/", self.name())).into() } else { core.name.clone() };
            let spec = parent.and_then(|parent| tree.nodes[parent].description.declared_child(&core.name));
            tree.push(name, core.description().clone(), spec, state, restarts, parent);
            tree.nodes[at].waiting = actor.0.waiting();
            tree.nodes[at].restarts_in_all = restarts_in_all;
        }
        tree.close()
    }
}

impl NodeState {
    pub(super) fn of(protocol: &CellProtocol) -> Self {
        if protocol.is_stopping() {
            Self::Stopping
        } else if protocol.has_failed() {
            Self::Failed
        } else if protocol.suspensions() > 0 {
            Self::Suspended
        } else if protocol.is_starting() {
            Self::Starting
        } else {
            Self::Running
        }
    }
}

impl Tree {
    /// The tree that `#[child]` fields declare below an actor of type `A`. It does not contain children that are
    /// spawned, because they are known only at run time.
    ///
    /// If a type occurs again below itself, the lower node is [`Recursive`](NodeState::Recursive) and has no
    /// children.
    pub fn declared<A: Supervisor>() -> Self {
        let mut tree = Self { nodes: Vec::new() };
        let mut found = vec![(ActorType::of::<A>(), None, None)];
        while let Some((actor, spec, parent)) = found.pop() {
            let at = tree.nodes.len();
            let recursive = tree.lineage(parent).any(|above| above.description.is(actor));
            if !recursive {
                let children = actor.declared_children().rev();
                found.extend(children.map(|(spec, child)| (child, Some(spec), Some(at))));
            }
            let state = if recursive { NodeState::Recursive } else { NodeState::Declared };
            let name = spec.map_or("", |spec: ChildSpec| spec.name);
            tree.push(name.into(), ActorDescription::from(actor), spec, state, 0, parent);
        }
        tree.close()
    }

    fn push(
        &mut self,
        name: ActorName,
        description: ActorDescription,
        spec: Option<ChildSpec>,
        state: NodeState,
        restarts: u32,
        parent: Option<usize>,
    ) {
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        let up = parent.map_or(0, |parent| self.nodes.len() - parent);
        self.nodes.push(Node {
            name,
            description,
            spec,
            state,
            restarts,
            restarts_in_all: 0,
            waiting: 0,
            up,
            depth,
            size: 1,
        });
    }

    /// Computes the sizes of the subtrees. Children come after their parents.
    fn close(mut self) -> Self {
        for at in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.parent(at) {
                self.nodes[parent].size += self.nodes[at].size;
            }
        }
        self
    }

    fn parent(&self, at: usize) -> Option<usize> {
        let up = self.nodes[at].up;
        (up > 0).then(|| at - up)
    }

    /// A node and the nodes above it.
    fn lineage(&self, from: Option<usize>) -> impl Iterator<Item = &Node> {
        std::iter::successors(from, |&at| self.parent(at)).map(|at| &self.nodes[at])
    }

    /// All actors, each before its children. Siblings are in the order in which they were started or declared.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = TreeNode<'_>> + ExactSizeIterator {
        (0..self.nodes.len()).map(|at| TreeNode { tree: self, at })
    }

    /// The top actor. `None` if the system has terminated.
    pub fn root(&self) -> Option<TreeNode<'_>> {
        self.nodes().next()
    }

    /// The actor at a path within the tree, `/user/a/b`, or at the path of an actor,
    /// [`ActorPath`](crate::ActorPath). It ignores the system's name.
    pub fn find(&self, path: impl AsRef<str>) -> Option<TreeNode<'_>> {
        let path = path.as_ref();
        let local =
            path.strip_prefix(SCHEME).map_or(path, |rest| rest.split_once('/').map_or("", |(_, local)| local));
        let mut elements = local.split('/').filter(|element| !element.is_empty());
        elements.try_fold(self.root()?, |node, element| node.children().find(|child| child.name() == element))
    }

    /// The tree as a [Mermaid](https://mermaid.js.org) flowchart.
    pub fn to_mermaid(&self) -> String {
        self.root().map_or_else(|| render::mermaid(&[]), TreeNode::to_mermaid)
    }

    /// The tree in the language of [Graphviz](https://graphviz.org).
    pub fn to_dot(&self) -> String {
        self.root().map_or_else(|| render::dot(&[]), TreeNode::to_dot)
    }
}

/// The tree as text: a line for each actor, and one for each rule of an actor that has children or a table of its own.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().map_or(Ok(()), |root| root.fmt(f))
    }
}

/// One actor of a [`Tree`], and its subtree.
///
/// `Display`, `to_mermaid` and `to_dot` show the whole subtree.
#[derive(Clone, Copy)]
pub struct TreeNode<'a> {
    tree: &'a Tree,
    at: usize,
}

impl<'a> TreeNode<'a> {
    fn node(self) -> &'a Node {
        &self.tree.nodes[self.at]
    }

    fn subtree(self) -> &'a [Node] {
        &self.tree.nodes[self.at..self.at + self.node().size]
    }

    /// The actor's name under its parent. Empty for the top actor.
    pub fn name(self) -> &'a str {
        if self.at == 0 { "" } else { &self.node().name }
    }

    /// Its path within this tree: `/user/a/b`, or `/` for the top actor.
    pub fn path(self) -> String {
        let mut names: Vec<&str> = self.tree.lineage(Some(self.at)).map(|node| &*node.name).collect();
        // The name of the top node.
        names.pop();
        names.reverse();
        format!("/{}", names.join("/"))
    }

    /// How many actors are above it.
    pub fn depth(self) -> usize {
        self.node().depth
    }

    /// The name of the actor's type, with its modules, as [`std::any::type_name`] returns it. It may change with the
    /// compiler.
    pub fn actor_type(self) -> &'static str {
        self.node().description.type_name()
    }

    /// Its strategy: which children a failure affects, and how many restarts are granted. Without the values that depend on the
    /// supervisor's instance (rule [7.12](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.12)).
    pub fn strategy(self) -> Strategy {
        self.node().description.strategy()
    }

    /// The rules by which it decides its children's failures.
    pub fn table(self) -> DeciderTable {
        self.node().description.table()
    }

    /// How its parent's type declares it, if it is the child of a field.
    pub fn spec(self) -> Option<ChildSpec> {
        self.node().spec
    }

    /// Its state.
    pub fn state(self) -> NodeState {
        self.node().state
    }

    /// How many restarts count against its parent's limit in the current window. 0 without a limit.
    pub fn restarts(self) -> u32 {
        self.node().restarts
    }

    /// How many restarts its parent has told it to do since it was made, whether a limit counts them or not.
    pub fn restarts_in_all(self) -> u32 {
        self.node().restarts_in_all
    }

    /// How many messages waited in its mailbox. The message in hand and stashed messages do not count. 0 in a declared
    /// tree.
    pub fn waiting(self) -> usize {
        self.node().waiting
    }

    /// The actor above it.
    pub fn parent(self) -> Option<TreeNode<'a>> {
        self.tree.parent(self.at).map(|at| TreeNode { tree: self.tree, at })
    }

    /// The actors below it, in the order in which they were started or declared.
    pub fn children(self) -> impl Iterator<Item = TreeNode<'a>> {
        let Self { tree, at } = self;
        let end = at + self.node().size;
        let within = move |at: usize| (at < end).then_some(at);
        std::iter::successors(within(at + 1), move |&child| within(child + tree.nodes[child].size))
            .map(move |at| TreeNode { tree, at })
    }

    /// The subtree as a [Mermaid](https://mermaid.js.org) flowchart.
    pub fn to_mermaid(self) -> String {
        render::mermaid(self.subtree())
    }

    /// The subtree in the language of [Graphviz](https://graphviz.org).
    pub fn to_dot(self) -> String {
        render::dot(self.subtree())
    }
}

/// The subtree as text.
impl fmt::Display for TreeNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render::text(self.subtree(), f)
    }
}

impl fmt::Debug for TreeNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeNode")
            .field("path", &self.path())
            .field("actor_type", &self.actor_type())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
