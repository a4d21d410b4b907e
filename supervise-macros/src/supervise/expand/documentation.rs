//! Writes a table as Markdown. Strategies and directives appear as the user wrote them, because the attribute's own
//! documentation explains their words.

use crate::grammar::Word;
use crate::grammar::words::Directive;
use crate::markdown::{cell, row};
use crate::settings::written;
use crate::supervise::model::{Answer, Pattern, Table};

/// The table for the page of its actor.
pub(crate) fn documentation(table: &Table) -> String {
    if let Some(shared) = &table.shared.value {
        return format!("# Supervision\n\nAs [`{0}`] says.\n", written(shared));
    }
    let (strategy, scope) = (&table.strategy.text, table.strategy.scope.meaning());
    if let Some(decider) = &table.decider.value {
        let decider = written(decider);
        return format!("# Supervision\n\n`{strategy}`: {scope}\n\n`{decider}` decides about failures.\n");
    }
    let mut text = format!("# Supervision\n\n`{strategy}`: {scope}\n\n| failure | directive |\n|---|---|");
    for rule in &table.rules {
        let pattern = match rule.pattern {
            Pattern::Any => "anything else".to_owned(),
            _ => cell(&rule.text()),
        };
        row(&mut text, &[&pattern, &answer(&rule.answer)]);
    }
    if !table.decides_all() {
        row(&mut text, &["anything else", "`Escalate`"]);
    }
    text
}

fn answer(answer: &Answer) -> String {
    match answer.directive {
        Directive::Default => format!("{}: {}", cell(&answer.text), Directive::Default.meaning()),
        _ => cell(&answer.text),
    }
}
