//! For any input, the macros do not panic, their output parses, and their errors point into the input. The inputs are valid
//! programs with tokens dropped, doubled, swapped, replaced or moved.

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// How many inputs each test makes.
const CASES: u32 = 4_000;

const TYPES: &[&str] = &[
    "pub struct Feed { address: SocketAddr, #[cfg(unix)] socket: Option<Socket> }",
    "#[supervise(one_for_one(max_retries = 10, within = \"60s\"), on(FeedError::Malformed { .. }) = Resume, \
     on(a::Error if |e| e.kind() == 1) = Restart(backoff(min = 100ms, max = \"10s\", jitter = 0.2)), \
     on(Panic | Killed) = Stop, on(_) = Escalate)] struct Standings<S: Source, const N: usize> where S: Clone { s: S }",
    "#[supervise(decider = path::to::decide)] #[derive(Debug)] enum Door { Open { wide: bool }, Closed(u8) }",
];

const BLOCKS: &[&str] = &[
    "impl Feed { #[handler(redeliver = 3, not_influencing)] async fn fetch(&mut self, id: MatchId, \
     ctx: &mut Context<Self>) -> Result<Match, FeedError> { self.read(id).await? } \
     #[cfg(unix)] #[handler] fn read(&self, text: &'static str) -> io::Result<u8> { 1 } \
     #[handler] fn check(&self) -> Reply<Result<u8, No>> { x } fn ordinary(&self) {} const A: u8 = 1; }",
    "impl<S: Source, const N: usize> Reader<S, N> where S: Clone { \
     #[pre_start] async fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> { Ok(()) } \
     #[pre_restart] fn before(&mut self, message: Option<ReaderMessage>, cause: &Failure) {} \
     #[watch] fn one(&mut self, gone: Terminated<Other>) {} #[watch] async fn any(&mut self, gone: Terminated) {} \
     #[stash_while] fn closed(&self, message: &ReaderMessage) -> bool { true } #[handler] fn next(&mut self, s: S) {} }",
];

const SETTINGS: &[&str] = &[
    "",
    "mailbox = bounded(100, overflow = drop_oldest), stop_timeout = \"2s\", stash = 3",
    "crate = path::to::it",
    "implements(Storage, path::to::Source<Self, 3>), crate = it",
];

const TABLES: &[&str] = &[
    "rest_for_one(max_retries = 3, within = 1m, window = sliding, on_limit = Escalate, count = supervisor, log = off, \
     auto_shutdown = any_significant, linear_backoff(window = \"10s\", initial = 1s)), \
     on(Box<dyn Error + Send>) = Default, on(InitializationFailed) = Stop, on(Db::Query(1..=9) | Db::Gone) = Resume, \
     on(<T as Source>::Error) = Restart(linear_backoff(window = 1s, initial = 1s)), on(_) = Stop",
];

#[cfg(feature = "protocol")]
const TRAITS: &[&str] = &[
    "#[async_trait] pub trait Storage<K: Send + 'static, const N: usize>: Named + Send where K: Clone { \
     async fn put(&self, key: K, _: [u8; N]) -> Result<(), PutError>; fn forget(&self, r#type: &'static str) -> Sent; \
     async fn twice(&self, keys: &[K]) -> u8 where Self: Sized { 1 } }",
    "#[async_trait(?Send)] unsafe trait Clock<'a>: Clone { type Hour; const A: u8; #[cfg(unix)] async fn hour<T>(&mut self, \
     (a, b): (u8, &str), c: impl Fn()) where T: Copy; fn open() -> Self; fn actor(&self); m!(); }",
];

#[cfg(feature = "protocol")]
const JOINED: &[&str] = &["[(0usize ask put (, key: K) (-> Result<(), E>)) (1usize tell forget () ())] [twice] \
     [::supervise] [a::Storage<K>] [Database] [DatabaseRef<K>] [<K: Key>] [where K: Send] \
     [([#[cfg(unix)]] put (, key: K) (, key) usable) ([] forget () () mistaken) ([] twice () () usable)]"];

/// Tokens that mean something somewhere.
const WORDS: &[&str] = &[
    "on",
    "_",
    "=",
    "=>",
    ",",
    "|",
    "if",
    "::",
    "<",
    ">",
    "&",
    "mut",
    "self",
    "Self",
    "#",
    "async",
    "fn",
    "impl",
    "struct",
    "60s",
    "0",
    "1.5",
    "\"1m\"",
    "'a",
    "-",
    "Result",
    "Context",
    "Terminated",
    "dyn",
    "r#type",
    "()",
    "{}",
    "[handler]",
    "!",
    ";",
    "unsafe",
    "for",
    "where",
    "crate",
    "union",
    "1e400s",
    "99999999999999999999",
    "b'x'",
];

/// One change to a token stream.
#[derive(Debug, Clone)]
enum Change {
    Drop(Index),
    Double(Index),
    Swap(Index, Index),
    Replace(Index, Index),
    Insert(Index, Index),
    Unwrap(Index),
    CutOff(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Change::Drop),
        at().prop_map(Change::Double),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), at()).prop_map(|(at, word)| Change::Replace(at, word)),
        (at(), at()).prop_map(|(at, word)| Change::Insert(at, word)),
        at().prop_map(Change::Unwrap),
        at().prop_map(Change::CutOff),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 0..5)
}

/// Changes the stream at one place, groups included. Does nothing if there is nothing to change.
fn apply(tokens: TokenStream, change: &Change) -> TokenStream {
    let count = size(&tokens);
    if count == 0 {
        return tokens;
    }
    let word = |at: &Index| parse(WORDS[at.index(WORDS.len())]).into_iter().collect::<Vec<_>>();
    match change {
        Change::Drop(at) => edit(tokens, &mut at.index(count), &mut |_| Vec::new()),
        Change::Double(at) => edit(tokens, &mut at.index(count), &mut |token| vec![token.clone(), token]),
        Change::Replace(at, with) => edit(tokens, &mut at.index(count), &mut |_| word(with)),
        Change::Insert(at, what) => edit(tokens, &mut at.index(count), &mut |token| {
            let mut both = word(what);
            both.push(token);
            both
        }),
        Change::Unwrap(at) => edit(tokens, &mut at.index(count), &mut |token| match token {
            TokenTree::Group(group) => group.stream().into_iter().collect(),
            token => vec![TokenTree::Group(Group::new(Delimiter::Parenthesis, token.into()))],
        }),
        Change::CutOff(at) => tokens.into_iter().take(at.index(count)).collect(),
        Change::Swap(a, b) => {
            let (mut a, mut b) = (a.index(count), b.index(count));
            let (mut first, mut second) = (None, None);
            let same = edit(tokens, &mut a.clone(), &mut |token| {
                first = Some(token.clone());
                vec![token]
            });
            let same = edit(same, &mut b.clone(), &mut |token| {
                second = Some(token.clone());
                vec![token]
            });
            let swapped = edit(same, &mut a, &mut |_| second.clone().into_iter().collect());
            edit(swapped, &mut b, &mut |_| first.clone().into_iter().collect())
        }
    }
}

/// Replaces the token that is `at` in reading order.
pub(crate) fn edit(
    tokens: TokenStream,
    at: &mut usize,
    replace: &mut dyn FnMut(TokenTree) -> Vec<TokenTree>,
) -> TokenStream {
    let mut edited = Vec::new();
    for token in tokens {
        let here = *at == 0;
        *at = at.wrapping_sub(1);
        match token {
            token if here => edited.extend(replace(token)),
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), edit(group.stream(), at, replace));
                inner.set_span(group.span());
                edited.push(TokenTree::Group(inner));
            }
            token => edited.push(token),
        }
    }
    edited.into_iter().collect()
}

fn size(tokens: &TokenStream) -> usize {
    let of = |token| if let TokenTree::Group(group) = token { 1 + size(&group.stream()) } else { 1 };
    tokens.clone().into_iter().map(of).sum()
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("it lexes")
}

fn mutated(seeds: &'static [&'static str]) -> impl Strategy<Value = TokenText> {
    (any::<Index>(), changes()).prop_map(move |(seed, changes)| {
        let tokens = parse(seeds[seed.index(seeds.len())]);
        TokenText(changes.iter().fold(tokens, apply).to_string())
    })
}

/// Tokens as text, because a `TokenStream` cannot go where a failing case is kept.
#[derive(Debug, Clone)]
struct TokenText(String);

/// Runs a macro on pairs of inputs and checks the output.
fn hold(
    arguments: impl Strategy<Value = TokenText>,
    items: impl Strategy<Value = TokenText>,
    expand: fn(TokenStream, TokenStream) -> TokenStream,
) {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(arguments, items), |(arguments, item)| check(&arguments.0, &item.0, expand));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Runs a macro on one pair of inputs and checks the output.
fn check(
    arguments: &str,
    item: &str,
    expand: fn(TokenStream, TokenStream) -> TokenStream,
) -> Result<(), TestCaseError> {
    // Both in one text, so that their spans differ from spans that point nowhere.
    let Ok(input) = format!("({arguments}) {{{item}}}").parse::<TokenStream>() else {
        return Ok(());
    };
    let [arguments, item] = halves(input.clone());
    // rustc passes an attribute only items that it can parse. The macro may return others unchanged.
    let parses = syn::parse2::<syn::Item>(item.clone()).is_ok();
    let output = expand(arguments, item);
    if parses {
        for span in complaints(&output) {
            let inside = span.start().column > 0 && span.start() < end(&input);
            prop_assert!(inside, "an error outside the input in {}", output);
        }
        let text = output.to_string();
        prop_assert!(syn::parse2::<syn::File>(output).is_ok(), "not a file: {}", text);
    }
    Ok(())
}

fn halves(input: TokenStream) -> [TokenStream; 2] {
    let mut groups = input.into_iter().map(|token| match token {
        TokenTree::Group(group) => group.stream(),
        other => panic!("two groups, not {other}"),
    });
    [(); 2].map(|()| groups.next().unwrap_or_default())
}

fn end(tokens: &TokenStream) -> LineColumn {
    tokens.clone().into_iter().map(|token| token.span().end()).max().unwrap_or(Span::call_site().end())
}

/// Where each `compile_error!` of `tokens` points.
fn complaints(tokens: &TokenStream) -> Vec<Span> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    for token in tokens.clone() {
        match &token {
            TokenTree::Group(group) => found.extend(complaints(&group.stream())),
            TokenTree::Punct(punct) if punct.as_char() == '!' && before.as_deref() == Some("compile_error") => {
                found.push(punct.span());
            }
            _ => {}
        }
        before = Some(token.to_string());
    }
    found
}

fn actor(arguments: TokenStream, item: TokenStream) -> TokenStream {
    crate::expand_actor(arguments, &item)
}

#[test]
fn actor_on_types_holds() {
    hold(mutated(SETTINGS), mutated(TYPES), actor);
}

#[test]
fn actor_on_blocks_holds() {
    hold(mutated(SETTINGS), mutated(BLOCKS), actor);
}

/// Empty or incomplete input has no place of its own for an error.
#[test]
fn empty_clauses_and_unfinished_settings_hold() {
    check("", "#[supervise(decider = path :: < to :: decide)] struct Door;", actor).unwrap();
    for block in [
        "impl Feed { #[handler] fn fetch(&mut self) where {} }",
        "impl Feed { #[handler] fn fetch<>(&mut self) {} }",
        "impl Feed { #[stash_while] fn is_closed() -> bool { true } }",
    ] {
        check("", block, actor).unwrap();
    }
}

#[test]
fn a_path_through_a_type_is_not_a_crate() {
    let [ty, block] = ["struct Feed;", "impl Feed { #[handler] fn fetch(&mut self) {} }"];
    check("crate = Self::to::it", ty, actor).unwrap();
    check("crate = Self::to::it", block, actor).unwrap();
}

#[test]
fn an_actor_may_have_a_raw_name() {
    check("", "struct r#type;", actor).unwrap();
    check("", "impl r#type { #[handler] fn fetch(&mut self) -> Result<(), Missing> { Ok(()) } }", actor).unwrap();
}

#[test]
fn supervise_holds() {
    hold(mutated(TABLES), mutated(&["#[actor] struct Parent<T>(T);"]), |arguments, item| {
        crate::supervise::attribute(&arguments, &item)
    });
}

#[test]
fn tables_hold() {
    let item = any::<()>().prop_map(|()| TokenText("struct Parent<T: Source>(T);".to_owned()));
    hold(mutated(TABLES), item, |table, item| {
        crate::expand_actor(TokenStream::new(), &quote::quote!(#[supervise(#table)] #item))
    });
}

#[cfg(feature = "protocol")]
#[test]
fn an_empty_clause_of_a_protocol_holds() {
    let clock = "trait Clock { fn hour(&self) where; fn open() -> Self where; }";
    check("", clock, |arguments, item| crate::protocol::attribute(arguments, &item)).unwrap();
}

#[cfg(feature = "protocol")]
#[test]
fn protocols_hold() {
    hold(mutated(&["", "crate = path::to::it"]), mutated(TRAITS), |arguments, item| {
        crate::protocol::attribute(arguments, &item)
    });
}

/// Only our own macros call this one, so it must not panic, but its errors may point anywhere.
#[cfg(feature = "protocol")]
#[test]
fn joining_holds() {
    hold(mutated(JOINED), mutated(&["struct Nothing;"]), |joined, item| {
        crate::protocol::implement::implement(joined);
        item
    });
}

#[test]
fn test_holds() {
    let tests = mutated(&["#[should_panic] async fn restarts(system: &TestSystem) -> Result<(), Error> { 1 }"]);
    hold(mutated(&["", "x"]), tests, |arguments, item| crate::test::attribute(&arguments, item));
}
