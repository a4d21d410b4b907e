//! Reads `#[supervise(..)]` into a [`Table`].

mod rule;
pub(crate) mod strategy;

use proc_macro2::{Span, TokenStream};
use syn::parse::Parse;
use syn::{DeriveInput, Generics, Path};

use super::model::Table;
use crate::declaration::parse::module;
use crate::errors::Errors;
use crate::grammar::words::{Directive, Part, Scope};
use crate::grammar::{Argument, Word, meant};
use crate::settings::{self, Setting, written};
use crate::spelling::{closest, listed, misspelled_elsewhere, unknown};

/// Reads the arguments of the attribute on this item.
pub(crate) fn table(tokens: TokenStream, item: &DeriveInput, errors: &mut Errors) -> Table {
    let before = errors.count();
    let mut reader = Reader {
        table: Table::default(),
        scope: None,
        at: item.ident.span(),
        generics: &item.generics,
        rules: 0,
        configured: 0,
    };
    let mut misplaced = Vec::new();
    for setting in settings::parse(tokens, errors) {
        if reader.read(&setting, errors) {
            continue;
        }
        if strategy::WORDS.contains(&setting.name.to_string().as_str()) {
            misplaced.push(setting);
            continue;
        }
        errors.add(stray(&setting, reader.scope));
        if let Some(meant) = meant(&setting, &[Part::WORDS, Scope::WORDS].concat()) {
            reader.read(&meant, &mut Errors::new());
        }
    }
    let Reader { mut table, scope, at, .. } = reader;
    if let Some(first) = misplaced.first() {
        errors.add(outside_strategy(first, &misplaced, scope));
    }
    if let Some(shared) = table.shared.given()
        && (scope.is_some() || !table.rules.is_empty() || table.decider.given().is_some())
    {
        errors.add(shared.error(
            "`table` takes the strategy and the rules of another type: remove the other settings, or write them there",
        ));
    }
    let decides = !table.rules.is_empty() || table.decider.given().is_some() || table.shared.given().is_some();
    if !decides && errors.count() == before {
        let message = "this table has no rules, so it does not say what happens when a child fails: add a rule for each failure type of your \
                       children, such as `on(std::io::Error) = Restart`, or add `on(_) = Default`, which restarts a failed child as an actor \
                       without `#[supervise]` does";
        errors.at_span(at, message);
    }
    table.has_mistakes = errors.count() > before;
    table
}

/// A table, as far as it is read.
struct Reader<'a> {
    table: Table,
    scope: Option<Scope>,
    /// Where the strategy is or, if there is none, the name of the item.
    at: Span,
    generics: &'a Generics,
    /// The number of rules.
    rules: u16,
    /// The number of rules whose answers depend on the supervisor's settings.
    configured: usize,
}

impl Reader<'_> {
    /// Reads a part of the table. Returns `false` if `setting` is none.
    fn read(&mut self, setting: &Setting, errors: &mut Errors) -> bool {
        let name = setting.name.to_string();
        let table = &mut self.table;
        match (Part::named(&name), Scope::named(&name)) {
            (Some(Part::Rule), _) => self.read_rule(setting, errors),
            (Some(Part::Decider), _) => path(&mut table.decider, setting, "decider = path::to::function", errors),
            (Some(Part::Table), _) => path(&mut table.shared, setting, "table = Storage", errors),
            (Some(Part::Crate), _) => table.krate.set(setting, module, "crate = path::to::supervise", errors),
            (None, Some(scope)) => self.read_strategy(scope, setting, errors),
            (None, None) => return false,
        }
        true
    }

    fn read_rule(&mut self, setting: &Setting, errors: &mut Errors) {
        let rules = rule::rules(setting, self.generics, errors);
        let mut rules = errors.keep(rules).unwrap_or_default();
        let from_settings = rules.iter().any(|rule| rule.answer.this().is_some());
        for rule in &mut rules {
            rule.answer.rule = self.rules;
            rule.answer.configured = from_settings.then_some(self.configured);
        }
        self.rules += 1;
        self.configured += usize::from(from_settings);
        self.table.rules.append(&mut rules);
    }

    fn read_strategy(&mut self, scope: Scope, setting: &Setting, errors: &mut Errors) {
        if self.scope == Some(scope) {
            let message = format!(
                "`{0}` is given twice: write the arguments that you mean into the first `{0}(..)`, and remove this one",
                scope.word()
            );
            errors.add(setting.error(message));
            return;
        }
        if let Some(first) = self.scope {
            let message = format!(
                "a table has one strategy, and this table has two, `{}` and `{}`: remove one of the two (`one_for_one` applies a \
                 directive to the child that failed, `all_for_one` to all children)",
                first.word(),
                scope.word()
            );
            errors.add(setting.error(message));
            return;
        }
        self.scope = Some(scope);
        self.at = setting.name.span();
        let strategy = strategy::strategy(scope, setting, errors);
        self.table.strategy = errors.keep(strategy).unwrap_or_default();
    }
}

/// The error for arguments of the strategy that stand beside it.
fn outside_strategy(first: &Setting, all: &[Setting], scope: Option<Scope>) -> syn::Error {
    let (mut names, mut arguments) = (String::new(), String::new());
    for setting in all {
        if !names.is_empty() {
            names.push_str(", ");
            arguments.push_str(", ");
        }
        names.push('`');
        names.push_str(&setting.name.to_string());
        names.push('`');
        arguments.push_str(&written(setting.tokens()));
    }
    let are = if all.len() == 1 { "is an argument" } else { "are arguments" };
    let mend = match scope {
        Some(scope) => format!("move `{arguments}` into `{}(..)`", scope.word()),
        None => format!("write `one_for_one({arguments})`"),
    };
    syn::Error::new(first.span(), format!("{names} {are} of the strategy: {mend}"))
}

fn path(argument: &mut Argument<Path>, setting: &Setting, example: &'static str, errors: &mut Errors) {
    argument.set(setting, |setting, example, _| setting.value(Path::parse, example), example, errors);
}

/// Words for all other failures, which is `_` here.
const CATCH_ALL: &[&str] = &["default", "else", "other", "otherwise", "any", "all", "rest"];

/// The error for a setting that is neither a strategy nor a part of a table.
fn stray(setting: &Setting, scope: Option<Scope>) -> syn::Error {
    let name = setting.name.to_string();
    let arguments = strategy::WORDS;
    if let ("strategy", Some(value)) = (name.as_str(), &setting.value)
        && let Some(scope) = closest(written(value).trim_matches('"'), Scope::WORDS)
    {
        return setting.error(format!("a strategy has no `strategy =` before it: write `{scope}`"));
    }
    if Directive::named(&name).is_some() && setting.value.is_none() {
        let message = format!("a rule needs a pattern: write `on(MyError) = {name}`");
        return syn::Error::new(setting.span(), message);
    }
    if let (Some(value), None) = (&setting.value, &setting.arguments)
        && let Some(directive) = value.clone().into_iter().next()
        && Directive::named(&directive.to_string()).is_some()
    {
        let pattern = if CATCH_ALL.contains(&name.to_lowercase().as_str()) { "_" } else { &name };
        let message =
            format!("the pattern of a rule stands in `on(..)`: write `on({pattern}) = {}`", written(value));
        return setting.error(message);
    }
    if let (Some(argument), Some(value), None) = (closest(&name, arguments), &setting.value, &setting.arguments) {
        let mut value = written(value);
        if argument == "within" && value.bytes().all(|byte| byte.is_ascii_digit()) {
            value = format!("\"{value}s\"");
        }
        let message = format!(
            "unknown strategy or setting `{name}`: the strategy has a setting `{argument}`, write \
             `{}({argument} = {value})`",
            scope.map_or("one_for_one", Scope::word)
        );
        return syn::Error::new(setting.span(), message);
    }
    let known = [Part::WORDS, Scope::WORDS, arguments].concat();
    match closest(&name, &known) {
        Some(close) => match misspelled_elsewhere(&name, close, Scope::WORDS) {
            Some((theirs, ours)) => syn::Error::new(
                setting.span(),
                format!(
                    "unknown {} `{name}`: did you mean `{close}` or `{ours}` (Erlang's `{theirs}`)?",
                    Part::KIND
                ),
            ),
            None => unknown(Part::KIND, &setting.name, &known),
        },
        None => syn::Error::new(
            setting.span(),
            format!(
                "unknown {} `{name}`: expected {}, a rule `on(..) = ..` or `decider = ..`",
                Part::KIND,
                listed(Scope::WORDS)
            ),
        ),
    }
}
