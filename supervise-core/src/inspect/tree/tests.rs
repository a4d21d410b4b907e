//! What maps look like, and that names and rules cannot break them.

use std::time::Duration;

use super::*;
use crate::actor::{ActorRef, Rule, Supervisor};
use crate::supervision::{Backoff, Directive, OnLimit, RestartType};

#[derive(Debug)]
struct Office;
#[derive(Debug)]
struct Reader<T>(T);

const HOSTILE: DeciderTable = DeciderTable::Rules(&[
    Rule::new(r#"E::Named("a\n\"b\"", '<') | E::Other"#, Directive::Restart),
    Rule::new("style::Error if |e| e.is(\"classDef x:#1;\")", Directive::Stop),
    Rule::new("E::Amp('&', \"&lt;\nline\")", Directive::Resume),
    Rule::by_default("Panic"),
]);

impl Supervisor for Office {
    type Ref = ActorRef<Self>;
    const STRATEGY: Strategy = Strategy::rest_for_one()
        .max_retries(3)
        .within(Duration::from_secs(90))
        .on_limit(OnLimit::Escalate)
        .backoff(
            Backoff::exponential(Duration::from_millis(100), Duration::from_secs(10))
                .jitter(0.2)
                .give_up_after(Duration::from_secs(600)),
        );
    const CHILDREN: &'static [ChildSpec] =
        &[ChildSpec::new("reader").restart(RestartType::Permanent).significant(), ChildSpec::new("annex")];
    const CHILD_TYPES: &'static [ActorType] = &[ActorType::of::<Reader<Option<u8>>>(), ActorType::of::<Office>()];
    const TABLE: DeciderTable = HOSTILE;
}

impl<T: 'static> Supervisor for Reader<T> {
    type Ref = ActorRef<Self>;
}

#[test]
fn a_declared_tree_ends_where_a_type_occurs_again() {
    let tree = Tree::declared::<Office>();
    let seen: Vec<_> = tree.nodes().map(|node| (node.path(), node.state())).collect();
    assert_eq!(
        seen,
        [
            ("/".to_owned(), NodeState::Declared),
            ("/reader".to_owned(), NodeState::Declared),
            ("/annex".to_owned(), NodeState::Recursive),
        ]
    );
    let annex = tree.find("/annex").expect("declared");
    assert_eq!(annex.strategy(), Office::STRATEGY);
    assert_eq!(annex.children().count(), 0);
}

#[test]
fn text_shows_what_one_would_have_written() {
    assert_eq!(
        Tree::declared::<Office>().to_string(),
        "\
Office, rest_for_one(max_retries = 3, within = 90s, on_limit = Escalate, backoff(min = 100ms, max = 10s, jitter = 0.2, give_up_after = 600s))
│    E::Named(\"a\\n\\\"b\\\"\", '<') | E::Other → Restart
│    style::Error if |e| e.is(\"classDef x:#1;\") → Stop
│    E::Amp('&', \"&lt; line\") → Resume
│    Panic → as by default
│    anything else → Escalate
├─ reader: Reader<Option<u8>>, permanent, significant
└─ annex: Office, as above
"
    );
}

#[test]
fn mermaid_gets_entities_for_all_that_it_could_take_for_its_own() {
    assert_eq!(
        Tree::declared::<Office>().to_mermaid(),
        "\
flowchart TD
    n0[\"Office<br/>rest_for_one(max_retries = 3, within = 90s, on_limit = Escalate, backoff(min = 100ms, max = 10s, \
jitter = 0.2, give_up_after = 600s))<br/>E::Named(#34;a#92;n#92;#34;b#92;#34;#34;, #39;#60;#39;) #124; E::Other → \
Restart<br/>#115;tyle::Error if #124;e#124; e.is(#34;#99;lassDef x:#35;1#59;#34;) → \
Stop<br/>E::Amp(#39;#38;#39;, #34;#38;lt#59; line#34;) → Resume<br/>Panic → as by default<br/>anything else → \
Escalate\"]
    n1[\"reader<br/>Reader#60;Option#60;u8#62;#62;<br/>permanent, significant\"]
    n0 --> n1
    n2[\"annex<br/>Office<br/>as above\"]
    n0 --> n2
"
    );
}

#[test]
fn dot_gets_escapes_for_quotes_backslashes_and_character_entities() {
    assert_eq!(
        Tree::declared::<Office>().to_dot(),
        r#"digraph tree {
    node [shape=box]
    n0 [label="Office\lrest_for_one(max_retries = 3, within = 90s, on_limit = Escalate, backoff(min = 100ms, max = 10s, jitter = 0.2, give_up_after = 600s))\lE::Named(\"a\\n\\\"b\\\"\", '<') | E::Other → Restart\lstyle::Error if |e| e.is(\"classDef x:#1;\") → Stop\lE::Amp('&amp;', \"&amp;lt; line\") → Resume\lPanic → as by default\lanything else → Escalate\l"]
    n1 [label="reader\lReader<Option<u8>>\lpermanent, significant\l"]
    n0 -> n1
    n2 [label="annex\lOffice\las above\l"]
    n0 -> n2
}
"#
    );
}

#[test]
fn a_subtree_is_drawn_like_a_tree() {
    let tree = system_like(&[("", 0), ("user", 1), ("a", 2), ("b", 3), ("c", 2), ("system", 1)]);
    let user = tree.find("/user").expect("it was just made");
    assert_eq!(user.to_string(), user_like("user"));
    assert_eq!(user.to_mermaid().lines().filter(|line| line.contains("-->")).count(), 3);
    assert!(user.to_mermaid().contains("n1 --> n2\n"));
    assert_eq!(user.children().map(TreeNode::name).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(tree.find("/user/a/b").and_then(TreeNode::parent).map(TreeNode::path).as_deref(), Some("/user/a"));
    assert_eq!(tree.find("supervise://anywhere/user/c").map(TreeNode::path).as_deref(), Some("/user/c"));
    assert!(tree.find("/user/c/b").is_none());
}

fn user_like(top: &str) -> String {
    format!(
        "\
{top}: Reader<()>, one_for_one
│    killed, death pact → Stop
│    anything else → Restart
├─ a: Reader<()>, one_for_one
│  │    killed, death pact → Stop
│  │    anything else → Restart
│  └─ b: Reader<()>
└─ c: Reader<()>
"
    )
}

/// Names with their depths, in preorder.
fn system_like(names: &[(&str, usize)]) -> Tree {
    let mut tree = Tree { nodes: Vec::new() };
    let mut lineage: Vec<usize> = Vec::new();
    for &(name, depth) in names {
        lineage.truncate(depth);
        let at = tree.nodes.len();
        let parent = lineage.last().copied();
        tree.push(name.into(), ActorDescription::of::<Reader<()>>(), None, NodeState::Running, 0, parent);
        lineage.push(at);
    }
    tree.close()
}

#[test]
fn a_deep_tree_is_drawn_without_the_stack_and_without_a_square_of_blanks() {
    const DEPTH: usize = 10_000;
    let names: Vec<(&str, usize)> = (0..DEPTH).map(|depth| ("a", depth)).collect();
    let tree = system_like(&names);
    let text = tree.to_string();
    assert!(text.lines().any(|line| line == format!("[{}] a: Reader<()>", DEPTH - 1)), "the last is there");
    assert!(text.len() < DEPTH * 300, "{} bytes", text.len());
    assert_eq!(tree.to_mermaid().lines().count(), 2 * DEPTH);
    assert_eq!(tree.to_dot().lines().count(), 2 * DEPTH + 2);
    assert_eq!(tree.nodes().next_back().map(TreeNode::depth), Some(DEPTH - 1));
}

#[test]
fn a_wide_tree_is_drawn() {
    const WIDTH: usize = 100_000;
    let mut names = vec![("", 0)];
    names.extend((0..WIDTH).map(|_| ("a", 1)));
    let tree = system_like(&names);
    assert_eq!(tree.root().map(|root| root.children().count()), Some(WIDTH));
    assert_eq!(tree.to_string().lines().count(), WIDTH + 3);
}

#[test]
fn remarks_say_what_is_the_matter() {
    let mut tree = system_like(&[("", 0), ("a", 1), ("b", 1), ("c", 1)]);
    tree.nodes[1].state = NodeState::Failed;
    tree.nodes[1].restarts = 1;
    tree.nodes[2].state = NodeState::Suspended;
    tree.nodes[2].restarts = 7;
    tree.nodes[2].waiting = 12;
    tree.nodes[3].state = NodeState::Stopping;
    let text = tree.to_string();
    let branches: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(
        branches,
        [
            "├─ a: Reader<()>, failed, 1 restart",
            "├─ b: Reader<()>, suspended, 7 restarts, 12 messages wait",
            "└─ c: Reader<()>, stopping"
        ]
    );
}
