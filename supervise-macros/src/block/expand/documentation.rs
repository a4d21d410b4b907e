//! Writes the messages as Markdown.

use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue};

use crate::block::model::{Block, Reply};
use crate::block::parse::batch;
use crate::markdown::{cell, row, without_bars};
use crate::settings::written;

/// The table of messages for the actor's page.
pub(super) fn documentation(block: &Block) -> String {
    let mut table = "# Messages\n\n| request | what it does | reply | fails with |\n|---|---|---|---|".to_owned();
    for handler in &block.handlers {
        let mut request = format!("{}(", handler.ident);
        let mut comma = "";
        for field in &handler.fields {
            let field = format!("{comma}{}: {}", field.ident, written(&field.ty));
            request.push_str(&field);
            comma = ", ";
        }
        let request = cell(&(request + ")"));
        let (mut reply, failure) = spoken(&handler.reply);
        if handler.batch.is_some() {
            reply = spoken_each(&handler.reply);
        }
        let (reply, failure) = (code_cell(reply), code_cell(failure));
        row(&mut table, &[&request, &first_line(&handler.docs), &reply, &failure]);
    }
    table
}

fn code_cell(ty: Option<String>) -> String {
    match ty {
        Some(ty) => cell(&ty),
        None => String::new(),
    }
}

/// The first line of documentation, if a table can contain it.
fn first_line(docs: &[Attribute]) -> String {
    for attribute in docs {
        if let Meta::NameValue(MetaNameValue {
            value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), path, ..
        }) = &attribute.meta
            && path.is_ident("doc")
        {
            let text = text.value();
            let line = text.trim_start().lines().next().unwrap_or_default();
            if !line.is_empty() {
                return without_bars(line.trim_end());
            }
        }
    }
    String::new()
}

/// The type of the reply to one message of a batch, if it is known.
fn spoken_each(reply: &Reply) -> Option<String> {
    let each = batch::replies(reply).and_then(batch::each)?;
    Some(written(each)).filter(|each| each != "()")
}

/// The types of the reply and of the failure, as far as they are known.
fn spoken(reply: &Reply) -> (Option<String>, Option<String>) {
    match reply {
        Reply::Unit => (None, None),
        Reply::Plain(ty) | Reply::Wrapped(ty) => (Some(written(ty)), None),
        Reply::Fallible(fallible) => fallible.spoken(),
        Reply::Later(later) => (
            Some(written(&later.ty)).filter(|ty| ty != "()"),
            reply.fallible().and_then(|fallible| fallible.spoken().1),
        ),
    }
}
