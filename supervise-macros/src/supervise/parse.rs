//! Reads `#[supervise(..)]` into a [`Table`].

mod rule;
pub(crate) mod strategy;

use proc_macro2::TokenStream;
use syn::parse::Parse;
use syn::{Generics, Path};

use super::model::Table;
use crate::declaration::parse::module;
use crate::errors::Errors;
use crate::grammar::words::{Directive, Part, Scope};
use crate::grammar::{Argument, Word};
use crate::settings::{self, Setting, written};
use crate::spelling::{closest, listed, unknown};

/// Reads the arguments of the attribute on an item with these generics.
pub(crate) fn table(tokens: TokenStream, generics: &Generics, errors: &mut Errors) -> Table {
    let mut table = Table::default();
    let mut scope: Option<Scope> = None;
    let (mut number, mut configured) = (0, 0);
    for setting in &settings::parse(tokens, errors) {
        let name = setting.name.to_string();
        match (Part::named(&name), Scope::named(&name)) {
            (Some(Part::Rule), _) => {
                let rules = rule::rules(setting, generics, errors);
                let mut rules = errors.keep(rules).unwrap_or_default();
                let from_settings = rules.iter().any(|rule| rule.answer.this().is_some());
                for rule in &mut rules {
                    rule.answer.rule = number;
                    rule.answer.configured = from_settings.then_some(configured);
                }
                number += 1;
                configured += usize::from(from_settings);
                table.rules.append(&mut rules);
            }
            (Some(Part::Decider), _) => path(&mut table.decider, setting, "decider = path::to::function", errors),
            (Some(Part::Table), _) => path(&mut table.shared, setting, "table = Storage", errors),
            (Some(Part::Crate), _) => table.krate.set(setting, module, "crate = path::to::supervise", errors),
            (None, Some(given)) => {
                if let Some(first) = scope {
                    let message = format!(
                        "a table has one strategy, and this table has two, `{}` and `{}`: remove one of the two (`one_for_one` applies a \
                         directive to the child that failed, `all_for_one` to all children)",
                        first.word(),
                        given.word()
                    );
                    errors.add(setting.error(message));
                    continue;
                }
                scope = Some(given);
                let strategy = strategy::strategy(given, setting, errors);
                table.strategy = errors.keep(strategy).unwrap_or_default();
            }
            (None, None) => errors.add(stray(setting)),
        }
    }
    if let Some(shared) = table.shared.given()
        && (scope.is_some() || !table.rules.is_empty() || table.decider.given().is_some())
    {
        errors.add(shared.error(
            "`table` takes the strategy and the rules of another type: remove the other settings, or write them there",
        ));
    }
    table
}

fn path(argument: &mut Argument<Path>, setting: &Setting, example: &'static str, errors: &mut Errors) {
    argument.set(setting, |setting, example, _| setting.value(Path::parse, example), example, errors);
}

/// Words for all other failures, which is `_` here.
const CATCH_ALL: &[&str] = &["default", "else", "other", "otherwise", "any", "all", "rest"];

/// The error for a setting that is neither a strategy nor a part of a table.
fn stray(setting: &Setting) -> syn::Error {
    let name = setting.name.to_string();
    let arguments = strategy::WORDS;
    if arguments.contains(&name.as_str()) {
        let message =
            format!("`{name}` is an argument of the strategy: write `one_for_one({})`", written(setting.tokens()));
        return syn::Error::new(setting.span(), message);
    }
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
            "unknown strategy or setting `{name}`: the strategy has an argument `{argument}`, write \
             `one_for_one({argument} = {value})`"
        );
        return syn::Error::new(setting.span(), message);
    }
    let known = [Part::WORDS, Scope::WORDS, arguments].concat();
    match closest(&name, &known) {
        Some(_) => unknown(Part::KIND, &setting.name, &known),
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
