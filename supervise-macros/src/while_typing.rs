//! Checks what an editor sees while the user types: an unfinished attribute or body does not remove the actor's
//! names.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{File, Item};

fn expand(arguments: &str, item: &str) -> File {
    let [arguments, item] = [arguments, item].map(|text| text.parse::<TokenStream>().expect("it lexes"));
    let output = crate::expand_actor(arguments, &item);
    let text = output.to_string();
    syn::parse2(output).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The names of the types that `file` declares.
fn types(file: &File) -> Vec<String> {
    let name = |item: &Item| match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        _ => None,
    };
    file.items.iter().filter_map(name).collect()
}

/// The names of the methods in the impl blocks of `ty`.
fn methods(file: &File, ty: &str) -> Vec<String> {
    let of = file.items.iter().filter_map(|item| match item {
        Item::Impl(item) if item.trait_.is_none() && item.self_ty.to_token_stream().to_string() == ty => {
            Some(item)
        }
        _ => None,
    });
    of.flat_map(|item| &item.items)
        .filter_map(|item| match item {
            syn::ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        })
        .collect()
}

fn complains(file: &File) -> bool {
    file.to_token_stream().to_string().contains("compile_error")
}

#[test]
fn an_unfinished_setting_leaves_the_type_and_its_ref() {
    for arguments in
        ["m", "mailbox", "mailbox =", "mailbox = b", "mailbox = bounded(", "stop_timeout = \"\"", "crate =", ","]
    {
        // An open bracket is closed by the compiler before a macro sees it.
        let closed = format!("{arguments}{}", if arguments.ends_with('(') { ")" } else { "" });
        let file = expand(&closed, "pub struct Feed { address: u8 }");
        assert_eq!(types(&file), ["Feed", "FeedRef"], "{arguments}");
        assert_eq!(complains(&file), arguments != ",", "{arguments}");
    }
}

#[test]
fn an_unfinished_table_leaves_the_type_and_its_ref() {
    for table in [
        "o",
        "on",
        "on()",
        "on(Pan)",
        "on(Panic)",
        "on(Panic) =",
        "on(Panic) = Re",
        "on(a::)",
        "on(a::) = Stop",
        "on(E if) = Stop",
        "on(E if |e|) = Stop",
        "on(E { }) = Restart()",
        "one_for_one(",
        "one_for_one(max_retries =",
        "on(_) = Restart(backoff(min =",
    ] {
        let open = table.matches('(').count() - table.matches(')').count();
        let item = format!("#[supervise({table}{})] struct Parent;", ")".repeat(open));
        let file = expand("", &item);
        assert_eq!(types(&file), ["Parent", "ParentRef"], "{table}");
        assert!(complains(&file), "{table}");
    }
}

#[test]
fn an_unfinished_body_is_not_an_error() {
    for body in ["self.", "let x =", "if", "match x { A => }", "ctx.spawn(\"feed\", ||)", "for"] {
        let file = crate::expand_actor(
            TokenStream::new(),
            &format!("impl Feed {{ #[handler] fn fetch(&mut self, ctx: &mut Context<Self>) -> u8 {{ {body} }} }}")
                .parse()
                .expect("it lexes"),
        );
        let text = file.to_string();
        assert!(!text.contains("compile_error"), "{body}: {text}");
        for kept in ["impl Feed {", "enum FeedMessage", "impl FeedRef"] {
            assert!(text.contains(kept), "{body}: {kept} in {text}");
        }
    }
}

#[test]
fn an_unfinished_method_leaves_the_others() {
    for unfinished in [
        "#[handle] fn next(&mut self) {}",
        "#[handler(re)] fn next(&mut self) {}",
        "#[handler(redeliver =)] fn next(&mut self) {}",
        "#[handler] fn next() {}",
        "#[handler] fn next(self) {}",
        "#[handler] fn next(&mut self, _: u8) {}",
        "#[handler] fn next(&mut self) -> &str { \"\" }",
        "#[watch] fn next(&mut self) {}",
        "#[pre_start] fn next(&mut self) -> u8 { 1 }",
        "#[stash_while] fn next(&self) {}",
        "#[handler] #[watch] fn next(&mut self, gone: Terminated) {}",
    ] {
        let block = format!(
            "impl Feed {{ #[handler] fn fetch(&self, id: u64) -> u8 {{ 1 }} {unfinished} fn more(&self) {{}} }}"
        );
        let file = expand("", &block);
        assert!(complains(&file), "{unfinished}");
        assert_eq!(types(&file), ["FeedMessage"], "{unfinished}");
        assert_eq!(methods(&file, "Feed"), ["fetch", "next", "more"], "{unfinished}");
        assert!(methods(&file, "FeedRef").starts_with(&["fetch".to_owned()]), "{unfinished}");
    }
}
