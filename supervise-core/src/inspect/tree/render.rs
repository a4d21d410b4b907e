//! Drawing a map: as text, for Mermaid, for Graphviz. Each function gets the nodes of a subtree in preorder.

use std::fmt::{self, Write};
use std::time::Duration;

use super::{Node, NodeState};
use crate::actor::{ActorDescription, DeciderTable, Rule};
use crate::supervision::{
    AutoShutdown, Backoff, Count, Directive, Growth, Limit, OnLimit, Reset, RestartType, Scope, Strategy, Window,
};

/// How many levels of the text are drawn as branches. Deeper nodes begin with their depth as a number, because the
/// indentation of a tree that is one long chain would grow with the square of its depth.
const BRANCHES: usize = 40;

/// A tree for the terminal.
pub(super) fn text(subtree: &[Node], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // At each depth, where the subtree of the current node's ancestor ends.
    let mut ends: Vec<usize> = Vec::new();
    let top = subtree.first().map_or(0, |top| top.depth);
    for (at, node) in subtree.iter().enumerate() {
        let depth = node.depth - top;
        let end = at + node.size;
        ends.truncate(depth);
        // A branch continues below a node if its parent's subtree does.
        let goes_on = |level: usize| ends.get(level + 1).unwrap_or(&end) < &ends[level];
        if depth > BRANCHES {
            write!(f, "[{depth}] ")?;
        } else {
            for level in 0..depth.saturating_sub(1) {
                f.write_str(if goes_on(level) { "│  " } else { "   " })?;
            }
            if let Some(level) = depth.checked_sub(1) {
                f.write_str(if goes_on(level) { "├─ " } else { "└─ " })?;
            }
        }
        let mut words = vec![node.title().join(": ")];
        words.extend(node.remarks());
        if node.is_supervisor() {
            words.push(node.strategy());
        }
        writeln!(f, "{}", one_line(&words.join(", ")))?;
        for rule in node.rules() {
            if depth > BRANCHES {
                f.write_str("   ")?;
            } else {
                for level in 0..depth {
                    f.write_str(if goes_on(level) { "│  " } else { "   " })?;
                }
            }
            let stem = if node.has_children() { "│" } else { " " };
            writeln!(f, "{stem}    {}", one_line(&rule))?;
        }
        ends.push(end);
    }
    Ok(())
}

/// A flowchart in Mermaid's language.
pub(super) fn mermaid(subtree: &[Node]) -> String {
    let mut graph = "flowchart TD\n".to_owned();
    for (at, node) in subtree.iter().enumerate() {
        let lines: Vec<String> = node.lines().iter().map(|line| for_mermaid(line)).collect();
        let _infallible = writeln!(graph, "    n{at}[\"{}\"]", lines.join("<br/>"));
        if at > 0 {
            let _infallible = writeln!(graph, "    n{} --> n{at}", at - node.up);
        }
    }
    graph
}

/// A directed graph in Graphviz' language.
pub(super) fn dot(subtree: &[Node]) -> String {
    let mut graph = "digraph tree {\n    node [shape=box]\n".to_owned();
    for (at, node) in subtree.iter().enumerate() {
        let lines: String = node.lines().iter().map(|line| for_dot(line) + "\\l").collect();
        let _infallible = writeln!(graph, "    n{at} [label=\"{lines}\"]");
        if at > 0 {
            let _infallible = writeln!(graph, "    n{} -> n{at}", at - node.up);
        }
    }
    graph.push_str("}\n");
    graph
}

// ---- the text of a node -----------------------------------------------------------------------------------------

impl Node {
    /// Its name, if it has one, and its type.
    fn title(&self) -> Vec<String> {
        let actor = short(self.description.type_name());
        if self.name.is_empty() { vec![actor] } else { vec![self.name.to_string(), actor] }
    }

    fn has_children(&self) -> bool {
        self.size > 1
    }

    /// Further facts about the actor.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        match self.state {
            NodeState::Running | NodeState::Declared => {}
            NodeState::Starting | NodeState::Failed | NodeState::Suspended | NodeState::Stopping => {
                remarks.push(self.state.to_string());
            }
            NodeState::Recursive => remarks.push("as above".to_owned()),
        }
        match self.restarts {
            0 => {}
            1 => remarks.push("1 restart".to_owned()),
            restarts => remarks.push(format!("{restarts} restarts")),
        }
        match self.waiting {
            0 => {}
            1 => remarks.push("1 message waits".to_owned()),
            waiting => remarks.push(format!("{waiting} messages wait")),
        }
        if let Some(spec) = self.spec {
            match spec.restart {
                RestartType::Transient => {}
                RestartType::Permanent => remarks.push("permanent".to_owned()),
                RestartType::Temporary => remarks.push("temporary".to_owned()),
            }
            if spec.significant {
                remarks.push("significant".to_owned());
            }
        }
        remarks
    }

    /// Whether it has children, or declares how it would supervise them.
    fn is_supervisor(&self) -> bool {
        let default = self.description.table() == DeciderTable::Default
            && self.description.strategy() == Strategy::one_for_one();
        self.state != NodeState::Recursive && (self.has_children() || !default)
    }

    fn strategy(&self) -> String {
        strategy_of(&self.description)
    }

    /// The table, a line for each rule.
    fn rules(&self) -> Vec<String> {
        if self.is_supervisor() { table(self.description.table()) } else { Vec::new() }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.title();
        let remarks = self.remarks();
        if !remarks.is_empty() {
            lines.push(remarks.join(", "));
        }
        if self.is_supervisor() {
            lines.push(self.strategy());
        }
        lines.extend(self.rules());
        lines
    }
}

/// How a type supervises its children: the strategy, and a line for each rule.
pub(in crate::inspect) fn policy(description: &ActorDescription) -> (String, Vec<String>) {
    (strategy_of(description), table(description.table()))
}

/// The strategy, with values as the attribute writes them if they depend on the instance.
fn strategy_of(description: &ActorDescription) -> String {
    match description.configured() {
        Some(text) => text.to_owned(),
        None => strategy(&description.strategy()),
    }
}

fn table(table: DeciderTable) -> Vec<String> {
    let arrow = |what: &str, directive: &str| format!("{what} → {directive}");
    match table {
        DeciderTable::Default => {
            vec![arrow("killed, death pact", "Stop"), arrow("anything else", "Restart")]
        }
        DeciderTable::Rules(rules) => {
            let line = |rule: &Rule| {
                let what = if rule.pattern == "_" { "anything else" } else { rule.pattern };
                match (rule.configured, rule.directive) {
                    (Some(text), _) => arrow(what, text),
                    (None, Some(known)) => arrow(what, &directive(known)),
                    (None, None) => arrow(what, "as by default"),
                }
            };
            let mut lines: Vec<String> = rules.iter().map(line).collect();
            if rules.iter().all(|rule| rule.pattern != "_") {
                lines.push(arrow("anything else", "Escalate"));
            }
            lines
        }
        DeciderTable::Function(path) => vec![format!("decided by {path}")],
        DeciderTable::AtRunTime => vec!["decided by a function given at run time".to_owned()],
    }
}

fn directive(directive: Directive) -> String {
    match directive {
        Directive::Resume => "Resume".to_owned(),
        Directive::Restart => "Restart".to_owned(),
        Directive::RestartOn(terms) => {
            let mut arguments = limit(&terms.limit);
            arguments.extend(terms.backoff.as_ref().map(backoff));
            format!("Restart({})", arguments.join(", "))
        }
        Directive::RestartAfter(delay) => format!("Restart({})", backoff(&delay)),
        Directive::Stop => "Stop".to_owned(),
        Directive::Escalate => "Escalate".to_owned(),
    }
}

/// A strategy as its attribute would write it, without default settings and without the log level.
fn strategy(strategy: &Strategy) -> String {
    let scope = match strategy.scope {
        Scope::OneForOne => "one_for_one",
        Scope::AllForOne => "all_for_one",
        Scope::RestForOne => "rest_for_one",
    };
    let mut arguments = limit(&strategy.limit);
    if strategy.on_limit == OnLimit::Escalate {
        arguments.push("on_limit = Escalate".to_owned());
    }
    if strategy.count == Count::Supervisor {
        arguments.push("count = supervisor".to_owned());
    }
    match strategy.auto_shutdown {
        AutoShutdown::Never => {}
        AutoShutdown::AnySignificant => arguments.push("auto_shutdown = any_significant".to_owned()),
        AutoShutdown::AllSignificant => arguments.push("auto_shutdown = all_significant".to_owned()),
    }
    arguments.extend(strategy.backoff.as_ref().map(backoff));
    if arguments.is_empty() { scope.to_owned() } else { format!("{scope}({})", arguments.join(", ")) }
}

fn limit(limit: &Limit) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(retries) = limit.max_retries {
        arguments.push(format!("max_retries = {retries}"));
    }
    if let Some(within) = limit.within {
        arguments.push(format!("within = {}", time(within)));
    }
    if limit.window == Window::Sliding {
        arguments.push("window = sliding".to_owned());
    }
    arguments
}

fn backoff(backoff: &Backoff) -> String {
    match backoff.growth {
        Growth::Exponential { min, max, jitter } => {
            let mut arguments = vec![format!("min = {}", time(min)), format!("max = {}", time(max))];
            if jitter > 0.0 {
                arguments.push(format!("jitter = {jitter:?}"));
            }
            match backoff.reset {
                Reset::After(quiet) if quiet == max => {}
                Reset::After(quiet) => arguments.push(format!("reset_after = {}", time(quiet))),
                Reset::Manual => arguments.push("reset_after = manual".to_owned()),
            }
            arguments.extend(backoff.give_up_after.map(|limit| format!("give_up_after = {}", time(limit))));
            format!("backoff({})", arguments.join(", "))
        }
        Growth::Linear { initial, window } => {
            format!("linear_backoff(window = {}, initial = {})", time(window), time(initial))
        }
    }
}

/// A duration as the attributes write it: `60s`, `1.5s`, `250ms`.
fn time(duration: Duration) -> String {
    format!("{duration:?}")
}

/// A type's name without its modules and without those of its parameters.
pub(crate) fn short(name: &str) -> String {
    let mut shortened = String::new();
    let mut word = String::new();
    let mut rest = name.chars().peekable();
    while let Some(character) = rest.next() {
        if character == ':' && rest.next_if_eq(&':').is_some() {
            word.clear();
        } else if character.is_alphanumeric() || character == '_' {
            word.push(character);
        } else {
            shortened.push_str(&word);
            shortened.push(character);
            word.clear();
        }
    }
    shortened + &word
}

// ---- escaping -----------------------------------------------------------------------------------------------------

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Mermaid reads a label as HTML with its own entities, such as `#60;`, and with a further markup language inside. So
/// everything but letters, digits and harmless characters becomes an entity. Mermaid treats two words as statements
/// even within quotes, and then loses some of the entities after them.
fn for_mermaid(line: &str) -> String {
    let mut escaped = String::new();
    for character in one_line(line).chars() {
        if character.is_alphanumeric() || " _.,:()/-=→".contains(character) {
            escaped.push(character);
        } else {
            let _infallible = write!(escaped, "#{};", u32::from(character));
        }
    }
    escaped.replace("style", "#115;tyle").replace("classDef", "#99;lassDef")
}

/// In Graphviz a backslash begins an escape and an ampersand a character entity.
fn for_dot(line: &str) -> String {
    one_line(line).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
