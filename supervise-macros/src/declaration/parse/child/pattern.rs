//! Finds a closure that makes a pool or another pattern for a field whose type does not name it:
//! `#[child(|_| Pool::round_robin(4, || Worker).props())] workers: Child<Worker>`.

use proc_macro2::Ident;
use syn::{Expr, ExprClosure, Type};

use super::{is_pattern, last};
use crate::settings::{shortened, written};

/// The functions that make a pattern's settings.
const MAKERS: [&str; 7] =
    ["around", "broadcasting", "by_key", "on_failure", "on_stop", "round_robin", "smallest_mailbox"];

/// The message about a field of the type `Child<actor>`, if `make` makes a pattern.
pub(super) fn of_another_type(make: &ExprClosure, actor: &Type) -> Option<String> {
    let (expression, is_factory) = match last(&make.body) {
        Expr::Closure(factory) => (last(&factory.body), true),
        expression => (expression, false),
    };
    let pattern = made_by(expression)?;
    let actor = written(actor);
    let ty = format!("`Child<{pattern}<{actor}>>` for `Child<{actor}>`");
    // rustc prints a closure without parameters in this way.
    let settings = shortened(&written(expression).replace("| | ", "|| "), "..");
    let is_finished = matches!(expression, Expr::MethodCall(call) if call.method == "props");
    let props = if is_finished { "" } else { ".props()" };
    let above = if is_factory || !is_finished {
        let given = make.inputs.first().map_or_else(|| "_".to_owned(), |given| written(given));
        format!(", and `#[child(|{given}| {settings}{props})]` above it")
    } else {
        String::new()
    };
    let without = if is_factory { ", without the `||` of a factory" } else { "" };
    Some(format!("this child is a `{pattern}`, and its type must say so: write {ty}{above}{without}"))
}

/// The pattern, if `expression` is a call of one of its [`MAKERS`], perhaps with calls of methods after it.
fn made_by(mut expression: &Expr) -> Option<&Ident> {
    while let Expr::MethodCall(call) = expression {
        expression = &call.receiver;
    }
    let Expr::Call(call) = expression else { return None };
    let Expr::Path(function) = &*call.func else { return None };
    let mut segments = function.path.segments.iter().rev();
    let (maker, pattern) = (&segments.next()?.ident, &segments.next()?.ident);
    (is_pattern(pattern) && MAKERS.iter().any(|name| maker == name)).then_some(pattern)
}
