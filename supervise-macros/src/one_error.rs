//! One mistake in an attribute gives one error, and nothing that follows from it.
//!
//! The programs use every word of the grammar. Each test makes the same mistake at each place of each program.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use crate::block::parse::stored::switch;
use crate::grammar::Arguments;
use crate::grammar::Word;
use crate::grammar::arguments::*;
use crate::grammar::words::*;
use crate::robustness::edit;
use crate::settings::split;

/// Items without mistakes, each with its attribute of ours.
const PROGRAMS: &[&str] = &[
    r#"#[actor(mailbox = bounded(100, overflow = drop_oldest), stash = 3, stop_timeout = "2s", ask_timeout = "1s", crate = it)]
    struct Parent;"#,
    "#[actor(mailbox = bounded(100, overflow = fail))] struct Parent;",
    "#[actor(mailbox = bounded(100, overflow = drop_newest))] struct Parent;",
    "#[actor(mailbox = unbounded)] struct Parent;",
    r#"#[actor(mailbox = durable(capacity = 1000, window = 100, redeliver = 2, crashes = 2, keep = "1d", shared))]
    struct Parent;"#,
    r#"#[actor] #[supervise(
        one_for_one(
            max_retries = 3, within = "60s", window = sliding, on_limit = Escalate, count = supervisor, log = by_attempt(3),
            auto_shutdown = any_significant, backoff(min = "1s", max = "2s", jitter = 0.2, reset_after = manual, give_up_after = "1h"),
        ),
        on(MyError if |problem| problem.is_first()) = Resume,
        on(MyError) = Restart(max_retries = 3, within = "60s", window = tumbling, backoff(min = "1s", max = "2s")),
        on(Panic | Killed | DeathPact) = Restart,
        on(InitializationFailed) = Escalate,
        on(a::Error) = Stop,
        on(_) = Default,
    )]
    struct Parent {
        #[child(|_| || Reader, restart = transient, stop_timeout = "2s", significant, name = "reader-1")]
        one: Child<Reader>,
        #[child(|_| || Reader, restart = permanent)]
        two: Child<Reader>,
        #[child(|_| || Reader, restart = temporary, significant)]
        three: Child<Reader>,
        #[child(|_| |_: &u64| Reader, idle = "5m", limit = 10)]
        many: Children<u64, Reader>,
    }"#,
    r#"#[actor] #[supervise(
        all_for_one(max_retries = 3, on_limit = Stop, count = child, log = warn, auto_shutdown = all_significant,
            linear_backoff(window = "10s", initial = "1s")),
        on(MyError) = Restart(linear_backoff(window = "10s", initial = "1s")),
        on(Panic) = Restart,
        on(_) = Resume,
    )]
    struct Parent { #[child(|_| || Reader, significant)] one: Child<Reader> }"#,
    r#"#[actor] #[supervise(
        rest_for_one(log = off, exponential_backoff(window = "10s", initial = "1s")),
        on(MyError) = Restart(exponential_backoff(window = "10s", initial = "1s")),
    )]
    struct Parent;"#,
    r#"#[actor] #[supervise(
        one_for_one(log = error, on_limit = Escalate, backoff(min = "1s", max = "2s", give_up_after = "1h")), on(MyError) = Restart,
    )]
    struct Parent;"#,
    "#[actor] #[supervise(one_for_one(log = info, count = child), on(MyError) = Restart(max_retries = 3))] struct Parent;",
    "#[actor] #[supervise(one_for_one(log = debug), decider = path::to::decide)] struct Parent;",
    "#[actor] #[supervise(one_for_one(log = trace), on(MyError) = Resume, on(_) = Restart)] struct Parent;",
    "#[actor] #[supervise(table = Storage)] struct Parent;",
    "#[supervise(one_for_one, on(_) = Restart, crate = it)] struct Storage;",
    r#"#[actor(message(name = OrderCommand, vis = pub(crate), derive(Clone)), implements(Sells), remote = "shop", crate = it)]
    impl Parent {
        #[handler(redeliver = 3, skip_abandoned, not_influencing, sensitive, local, inline)]
        fn a(&mut self, id: u64) {}
        #[handler(batch = 100, linger = "10ms")]
        fn b(&mut self, ids: Vec<u64>) {}
        #[handler(transient)]
        fn c(&mut self) {}
        #[handler(stored_as = "refund", also = ["pay_back"])]
        fn d(&mut self) {}
        #[pre_start]
        fn e(&mut self, ctx: &mut Context<Self>) {}
        #[post_stop]
        fn f(&mut self, ctx: &mut Context<Self>) {}
        #[pre_restart]
        fn g(&mut self, ctx: &mut Context<Self>, cause: &Failure, id: Option<OrderCommand>) {}
        #[post_restart]
        fn h(&mut self, ctx: &mut Context<Self>, cause: &Failure) {}
        #[watch]
        fn i(&mut self, gone: Terminated<Reader>) {}
        #[stash_while]
        fn j(&self, next: &OrderCommand) -> bool { true }
    }"#,
    "#[protocol(crate = it)] trait Sells { fn sell(&self, id: u64) -> Result<(), SendErrorReason>; }",
];

/// Every word of the grammar.
fn words() -> Vec<&'static str> {
    [
        Part::WORDS,
        Scope::WORDS,
        Directive::WORDS,
        FailureKind::WORDS,
        Window::WORDS,
        OnLimit::WORDS,
        Count::WORDS,
        AutoShutdown::WORDS,
        LogLevel::WORDS,
        Growth::WORDS,
        RestartType::WORDS,
        MailboxKind::WORDS,
        Overflow::WORDS,
        Role::WORDS,
        ActorArguments::WORDS,
        BlockArguments::WORDS,
        MessageArguments::WORDS,
        BoundedArguments::WORDS,
        DurableArguments::WORDS,
        HandlerArguments::WORDS,
        ChildArguments::WORDS,
        ExponentialArguments::WORDS,
        LinearArguments::WORDS,
        RestartArguments::WORDS,
        ProtocolArguments::WORDS,
        StrategyArguments::WORDS,
        &["by_attempt", "manual"],
    ]
    .concat()
}

/// The messages of the errors that the item gets.
fn errors(item: &TokenStream) -> Vec<String> {
    let mut tokens = item.clone().into_iter().skip(1);
    let Some(TokenTree::Group(attribute)) = tokens.next() else { panic!("our attribute comes first: {item}") };
    let mut attribute = attribute.stream().into_iter();
    let name = attribute.next().expect("an attribute has a name").to_string();
    let arguments = match attribute.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        _ => TokenStream::new(),
    };
    let (arguments, rest) = (arguments, tokens.collect());
    let output = switch::on(|| match name.as_str() {
        "protocol" => crate::protocol::attribute(arguments, &rest),
        "supervise" => crate::supervise::attribute(&arguments, &rest),
        _ => crate::expand_actor(arguments, &rest),
    });
    let mut found = Vec::new();
    messages(output, &mut found);
    found
}

/// Adds the text of each `compile_error!` in `output`.
fn messages(output: TokenStream, found: &mut Vec<String>) {
    let mut is_error = false;
    for token in output {
        match token {
            TokenTree::Ident(word) => is_error = word == "compile_error",
            TokenTree::Group(group) if std::mem::take(&mut is_error) => found.push(group.stream().to_string()),
            TokenTree::Group(group) => messages(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn programs() -> impl Iterator<Item = TokenStream> {
    PROGRAMS.iter().map(|program| program.parse().expect("it lexes"))
}

/// All tokens in the order in which [`edit`] counts them.
fn in_order(tokens: &TokenStream) -> Vec<TokenTree> {
    let mut all = Vec::new();
    for token in tokens.clone() {
        all.push(token.clone());
        if let TokenTree::Group(group) = token {
            all.extend(in_order(&group.stream()));
        }
    }
    all
}

/// Fails if one of the `wrong` items, each with the name of its mistake, has not a number of errors that is `right`.
fn hold(wrong: impl Iterator<Item = (String, TokenStream)>, right: fn(usize) -> bool) {
    let mut failures = Vec::new();
    for (mistake, item) in wrong {
        let errors = errors(&item);
        // An error that names the mend quotes code.
        let names_the_mend = errors.iter().all(|message| message.contains('`'));
        if !right(errors.len()) || !names_the_mend {
            failures.push(format!("{mistake}\n    in {item}\n    {errors:#?}"));
        }
    }
    assert!(failures.is_empty(), "{} mistakes:\n{}", failures.len(), failures.join("\n"));
}

/// Each program once for each word of the grammar in it, with what `instead` makes of the word.
fn misspelled(instead: fn(&str) -> String) -> impl Iterator<Item = (String, TokenStream)> {
    let known = words();
    programs().flat_map(move |program| {
        let mut items = Vec::new();
        let tokens = in_order(&program);
        for (at, token) in tokens.iter().enumerate() {
            let text = token.to_string();
            // rustc reads `pub(crate)`.
            let is_visibility = at > 1 && tokens[at - 2].to_string() == "pub";
            if !known.contains(&text.as_str()) || is_visibility {
                continue;
            }
            let wrong = instead(&text);
            let item = edit(program.clone(), &mut at.clone(), &mut |token| {
                vec![TokenTree::Ident(Ident::new(&wrong, token.span()))]
            });
            items.push((format!("`{wrong}` for `{text}`"), item));
        }
        items
    })
}

#[test]
fn the_programs_have_no_errors() {
    hold(programs().map(|program| ("nothing".to_owned(), program)), |count| count == 0);
}

#[test]
fn the_programs_use_every_word() {
    let all: String = PROGRAMS.concat();
    let used: Vec<&str> = all.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    for word in words() {
        assert!(used.contains(&word), "write `{word}` in a program");
    }
}

/// The last two letters are swapped, or the last one is written twice if they are the same.
#[test]
fn a_misspelled_word_is_one_error() {
    let swapped = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        let last = letters.len() - 1;
        if letters[last] == letters[last - 1] {
            letters.push(letters[last]);
        } else {
            letters.swap(last, last - 1);
        }
        letters.into_iter().collect()
    };
    hold(misspelled(swapped), |count| count == 1);
}

/// An attribute that is like none of ours is rustc's.
#[test]
fn a_word_like_no_other_is_one_error() {
    let rustcs = [Role::WORDS, &["child"]].concat();
    // Any type may be a pattern. The name of the enum of the messages gets lost.
    let not_words = [FailureKind::WORDS, &["message", "name"]].concat();
    let ours = |(mistake, _): &(String, TokenStream)| {
        !rustcs.iter().chain(&not_words).any(|word| mistake.ends_with(&format!("`{word}`")))
    };
    hold(misspelled(|_| "xyzzy".to_owned()).filter(ours), |count| count == 1);
}

/// Each program once for each setting in it, with what `change` makes of the setting's tokens.
fn changed(
    change: &'static dyn Fn(&TokenStream) -> Vec<TokenStream>,
) -> impl Iterator<Item = (String, TokenStream)> {
    let known = words();
    programs().flat_map(move |program| {
        let mut items = Vec::new();
        for (at, token) in in_order(&program).iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            if group.delimiter() != Delimiter::Parenthesis {
                continue;
            }
            let parts = split(group.stream(), ',');
            for (number, part) in parts.iter().enumerate() {
                match part.clone().into_iter().next() {
                    Some(TokenTree::Ident(word)) if known.contains(&word.to_string().as_str()) => {}
                    _ => continue,
                }
                // A single word is a pattern, a visibility or a directive, unless it is a setting without a value.
                if part.clone().into_iter().count() == 1 && !FLAGS.contains(&part.to_string().as_str()) {
                    continue;
                }
                for instead in change(part) {
                    let mut with = parts.clone();
                    let mistake = format!("`{instead}` for `{part}`");
                    with[number] = instead;
                    let with = with.into_iter().filter(|part| !part.is_empty());
                    let changed = Group::new(Delimiter::Parenthesis, quote!(#(#with),*));
                    let item = edit(program.clone(), &mut at.clone(), &mut |_| vec![changed.clone().into()]);
                    items.push((mistake, item));
                }
            }
        }
        items
    })
}

/// The settings without a value.
const FLAGS: &[&str] =
    &["shared", "skip_abandoned", "not_influencing", "sensitive", "local", "inline", "transient", "significant"];

#[test]
fn a_setting_given_twice_is_one_error() {
    // Guards are not compared.
    let twice = &|setting: &TokenStream| {
        if setting.to_string().contains(" if ") { Vec::new() } else { vec![quote!(#setting, #setting)] }
    };
    hold(changed(twice), |count| count == 1);
}

#[test]
fn a_setting_left_out_is_at_most_one_error() {
    hold(changed(&|_| vec![TokenStream::new()]), |count| count <= 1);
}

/// A value of another kind, and a setting that the user has not finished.
#[test]
fn a_wrong_value_is_at_most_one_error() {
    let values = &|setting: &TokenStream| {
        let mut wrong = Vec::new();
        let head: TokenStream = setting
            .clone()
            .into_iter()
            .take_while(|token| !matches!(token, TokenTree::Punct(sign) if sign.as_char() == '='))
            .collect();
        for value in [
            quote!(= 1),
            quote!(= 0),
            quote!(= -1),
            quote!(= 0.5),
            quote!(= "x"),
            quote!(= true),
            quote!(= [1]),
            quote!(= xyzzy),
            quote!(= xyzzy(1)),
            quote!(= a::b),
            quote!(=),
            quote!(= =),
            quote!(1),
            quote!(: 1),
            quote!(=> 1),
            quote!(),
            quote!(()),
            quote!((1)),
        ] {
            let mut setting = head.clone();
            value.to_tokens(&mut setting);
            wrong.push(setting);
        }
        wrong
    };
    hold(changed(values), |count| count <= 1);
}
