//! A map of the tree: which actor stands where and what it does about its children's failures, from a running system
//! or from the types alone, before anything runs.
//!
//! How a map is drawn is in `tree/render`, what a type says about itself in `tree/description`. Nothing here changes
//! the tree or waits for an actor.
//!
//! ```text
//!   index   0       1        2        3          4          preorder: a node comes before its subtree
//!   node    /    ─► user  ─► a     ─► b       ─► system
//!   size    5       3        1        1          1          of the subtree, the node included
//!   up      0       1        1        2          4          where the parent is
//! ```
//!
//! 1. A node's children are the first nodes of the subtrees behind it, as far as its own goes.
//! 2. A subtree is a slice, and looks the same as a tree: whatever refers to another node says how far away it is.
//! 3. Nothing recurses, so that a tree may be as deep as it likes.

mod render;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::actor::{
    ActorDescription, ActorSystem, ActorType, AnyActorRef, CellProtocol, DeciderTable, Supervisor,
};
use crate::base::{ActorName, SCHEME};
use crate::supervision::{ChildSpec, Strategy};

/// A supervision tree, as it was when it was looked at.
///
/// From a running system, with [`ActorSystem::tree`], or from what a type declares, with [`Tree::declared`]. It prints
/// itself as text, and draws itself with [`to_mermaid`](Self::to_mermaid) and [`to_dot`](Self::to_dot).
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
    /// How many messages waited.
    waiting: usize,
    /// How many nodes before this one its parent is. 0 on top.
    up: usize,
    depth: usize,
    size: usize,
}

/// How an actor was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeState {
    /// Its first instance, or the next one, has not completed its start: the factory or a hook runs, or it waits for its declared
    /// children.
    Starting,
    /// It waits for messages or handles one.
    Running,
    /// It failed, and has not been restarted or resumed yet: its parent decides, or waits for a backoff.
    Failed,
    /// An actor above it, or a sibling that takes it along, failed, and that is not settled yet.
    Suspended,
    /// It was told to stop.
    Stopping,
    /// It does not run: a type declares it.
    Declared,
    /// A type declares it, and its type is among those above it. What it declares is shown there.
    Recursive,
}

impl ActorSystem {
    /// The tree as it is now: all actors from the root `/` down, the runtime's own below `/system` included.
    ///
    /// The snapshot is not atomic. Each actor is looked at for itself, parents before their children, while all of
    /// them go on; its state is the one it had then. An actor that was started meanwhile may be missing, one that has
    /// ended may still be there. Actors that had ended when they were looked at are left out.
    ///
    /// Takes time and memory in proportion to the number of actors and holds up one of them at a time, for as long as it
    /// takes to list its children.
    pub fn tree(&self) -> Tree {
        struct Found {
            actor: AnyActorRef,
            parent: Option<usize>,
            restarts: u32,
            restarts_in_all: u32,
        }
        let mut tree = Tree { nodes: Vec::new() };
        let mut found = vec![Found { actor: self.core().root(), parent: None, restarts: 0, restarts_in_all: 0 }];
        while let Some(Found { actor, parent, restarts, restarts_in_all }) = found.pop() {
            let core = actor.core();
            let at = tree.nodes.len();
            let state = {
                let protocol = core.protocol();
                if protocol.has_ended() {
                    continue;
                }
                let children = protocol.children().rev().map(|(id, child)| Found {
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
    fn of(protocol: &CellProtocol) -> Self {
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
    /// The tree that `#[child]` fields declare below an actor of type `A`. Children that are spawned are not in it: who
    /// spawns whom is known only when it happens.
    ///
    /// A type that occurs again below itself is [`Recursive`](NodeState::Recursive) there and not unfolded once more.
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

    /// Counts: children come behind their parents.
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

    /// A node and those above it.
    fn lineage(&self, from: Option<usize>) -> impl Iterator<Item = &Node> {
        std::iter::successors(from, |&at| self.parent(at)).map(|at| &self.nodes[at])
    }

    /// All actors, each before its children, siblings in the order in which they were started or declared.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = TreeNode<'_>> + ExactSizeIterator {
        (0..self.nodes.len()).map(|at| TreeNode { tree: self, at })
    }

    /// The actor on top. `None` in a system that has terminated.
    pub fn root(&self) -> Option<TreeNode<'_>> {
        self.nodes().next()
    }

    /// The actor at a path within the tree, `/user/a/b`, or at the path of an actor,
    /// [`ActorPath`](crate::ActorPath). The system's name is not looked at.
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

/// The tree as text, a line for each actor and one for each rule of those that have children or a table of their own.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().map_or(Ok(()), |root| root.fmt(f))
    }
}

/// One actor of a [`Tree`], and what is below it.
///
/// Printed and drawn, it is its subtree.
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

    /// The actor's name under its parent. Empty on top.
    pub fn name(self) -> &'a str {
        if self.at == 0 { "" } else { &self.node().name }
    }

    /// Where it stands in this tree: `/user/a/b`, and `/` on top.
    pub fn path(self) -> String {
        let mut names: Vec<&str> = self.tree.lineage(Some(self.at)).map(|node| &*node.name).collect();
        // The top's.
        names.pop();
        names.reverse();
        format!("/{}", names.join("/"))
    }

    /// How many actors are above it.
    pub fn depth(self) -> usize {
        self.node().depth
    }

    /// The name of the actor's type, modules and all, as [`std::any::type_name`] has it. Not stable between compilers.
    pub fn actor_type(self) -> &'static str {
        self.node().description.type_name()
    }

    /// Who is affected when one of its children fails, and how often restarts are granted.
    pub fn strategy(self) -> Strategy {
        self.node().description.strategy()
    }

    /// What is done about which failure of a child.
    pub fn table(self) -> DeciderTable {
        self.node().description.table()
    }

    /// How its parent's type declares it, if it is the child of a field.
    pub fn spec(self) -> Option<ChildSpec> {
        self.node().spec
    }

    /// How it was.
    pub fn state(self) -> NodeState {
        self.node().state
    }

    /// How many restarts the current window of its parent's limit has seen; 0 where there is no limit.
    pub fn restarts(self) -> u32 {
        self.node().restarts
    }

    /// How many restarts its parent has told it to do since it was made, whether a limit counts them or not.
    pub fn restarts_in_all(self) -> u32 {
        self.node().restarts_in_all
    }

    /// How many messages waited for it, besides one that it was handling and those in its stash. 0 where a type declares it.
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
