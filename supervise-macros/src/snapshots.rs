//! What representative inputs expand to, formatted. `UPDATE_EXPECT=1 cargo test -p supervise-macros` rewrites them;
//! read the difference.

use expect_test::{ExpectFile, expect_file};
use proc_macro2::TokenStream;

/// Expands each `#[actor]` and `#[protocol]` item of `source`, formats the whole and compares.
fn check(source: &str, expected: &ExpectFile) {
    let file = syn::parse_file(source).expect("the input is Rust");
    let expanded: TokenStream = file
        .items
        .iter()
        .map(|item| {
            let tokens: TokenStream = quote::quote!(#item);
            let mut tokens = tokens.into_iter().peekable();
            // `#` `[actor(..)]`
            tokens.next();
            let attribute = match tokens.next() {
                Some(proc_macro2::TokenTree::Group(group)) => group.stream(),
                other => panic!("every item begins with our attribute, not with {other:?}"),
            };
            let arguments = attribute.into_iter().nth(1).map(|group| match group {
                proc_macro2::TokenTree::Group(group) => group.stream(),
                other => panic!("unexpected {other}"),
            });
            let arguments = arguments.unwrap_or_default();
            match item {
                #[cfg(feature = "protocol")]
                syn::Item::Trait(_) => crate::protocol::attribute(arguments, &tokens.collect()),
                _ => crate::expand_actor(arguments, &tokens.collect()),
            }
        })
        .collect();
    let file = syn::parse2(expanded).expect("the output is Rust");
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_type_without_a_table() {
    check(
        "#[actor(mailbox = bounded(100), stop_timeout = 1.5s)] pub struct Feed { address: u8 }",
        &expect_file!["snapshots/plain_type.rs"],
    );
}

#[test]
fn a_type_with_a_table() {
    check(
        r#"
        #[actor]
        #[supervise(
            one_for_one(max_retries = 10, within = "60s"),
            on(FeedError::Malformed { .. }) = Resume,
            on(FeedError::Timeout if |error| error.is_first()) = Restart(backoff(min = "100ms", max = "10s", jitter = 0.2)),
            on(FeedError) = Restart,
            on(io::Error) = Escalate,
            on(Panic) = Restart,
        )]
        struct Standings;
        "#,
        &expect_file!["snapshots/table.rs"],
    );
}

#[test]
fn variants_without_a_rule_for_their_type() {
    check(
        "#[actor] #[supervise(on(DbError::Timeout) = Restart, on(DbError::Gone) = Stop)] enum Db { Open, Closed }",
        &expect_file!["snapshots/variants.rs"],
    );
}

#[test]
fn a_generic_actor() {
    check(
        r"
        #[actor]
        #[supervise(on(S::Error) = Restart, on(_) = Stop)]
        pub(crate) struct Reader<S: Source, const N: usize> where S: Clone { source: S }

        #[actor]
        impl<S: Source, const N: usize> Reader<S, N> where S: Clone {
            #[handler]
            fn next(&mut self, other: Self) -> Option<S::Item> { None }
        }
        ",
        &expect_file!["snapshots/generic.rs"],
    );
}

#[test]
fn handlers_of_every_kind() {
    check(
        r"
        #[actor]
        impl Feed {
            /// Fetches.
            #[handler(redeliver = 3)]
            async fn fetch(&mut self, id: MatchId, ctx: &mut Context<Self>) -> Result<Match, FeedError> { todo }
            #[cfg(unix)]
            #[handler]
            fn read(&self) -> io::Result<u8> { todo }
            #[handler]
            fn check(&self, strict: bool) -> Reply<Result<u8, No>> { todo }
            #[handler]
            fn close(&mut self) {}
            #[handler(inline)]
            fn count(&self) -> u64 { 0 }
            fn ordinary(&self) {}
        }
        ",
        &expect_file!["snapshots/handlers.rs"],
    );
}

#[test]
fn handlers_that_answer_later() {
    check(
        r#"
        #[actor(ask_timeout = "5s")]
        struct Desk;

        #[actor]
        impl Desk {
            #[handler]
            async fn place(&mut self, order: Order, reply: ReplyTo<Receipt>) { todo }
            #[handler(redeliver = 1)]
            fn cancel(&mut self, reply: supervise::ReplyTo<()>, order: u32) -> Result<(), DbError> { todo }
        }
        "#,
        &expect_file!["snapshots/later.rs"],
    );
}

#[test]
fn handlers_of_batches() {
    check(
        r#"
        #[actor]
        impl Writer {
            #[handler(batch = 100, linger = "10ms")]
            async fn write(&mut self, orders: Vec<Order>, ctx: &mut Context<Self>) -> Result<Vec<u64>, DbError> { todo }
            #[cfg(unix)]
            #[handler(batch = 10)]
            fn note(&mut self, lines: Vec<String>) -> io::Result<()> { todo }
            #[handler]
            fn count(&self) -> u64 { 0 }
        }
        "#,
        &expect_file!["snapshots/batch.rs"],
    );
}

#[test]
fn hooks_watches_and_stash() {
    check(
        r"
        #[actor]
        impl Feed {
            #[pre_start]
            async fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> { todo }
            #[pre_restart]
            fn before(&mut self, message: Option<FeedMessage>, cause: &Failure) {}
            #[watch]
            fn one(&mut self, gone: Terminated<Other>) {}
            #[watch]
            async fn any(&mut self, ctx: &mut Context<Self>, gone: Terminated) {}
            #[stash_while]
            fn closed(&self, message: &FeedMessage) -> bool { todo }
        }
        ",
        &expect_file!["snapshots/hooks.rs"],
    );
}

#[test]
fn a_block_with_a_mistake_keeps_its_names() {
    check(
        "#[actor] impl Feed { #[handler] fn fetch(&mut self, id: u64, name: &str) -> u8 { 1 } }",
        &expect_file!["snapshots/mistake.rs"],
    );
}

#[test]
fn a_table_by_hand_and_every_setting() {
    check(
        r"
        #[actor(mailbox = bounded(10, overflow = drop_oldest), stash = 5, crate = crate::vendor::akka)]
        #[supervise(all_for_one(max_retries = 3, on_limit = Escalate), decider = Self::judge)]
        #[cfg(unix)]
        pub enum Gate { Open, Closed }
        ",
        &expect_file!["snapshots/by_hand.rs"],
    );
}

#[test]
fn failures_of_some_builds_only() {
    check(
        r"
        #[actor]
        impl Feed {
            #[handler(not_influencing)]
            fn peek(&self) {}
            #[cfg(unix)]
            #[handler]
            fn read(&mut self) -> Result<(), UnixError> { todo }
            #[cfg(windows)]
            #[pre_start]
            fn open(&mut self) -> io::Result<()> { todo }
        }
        ",
        &expect_file!["snapshots/conditional.rs"],
    );
}

#[test]
fn a_table_with_a_mistake_leaves_the_type_and_its_ref() {
    check(
        "#[actor] #[supervise(on(Panics) = Restrat)] struct Parent { name: String }",
        &expect_file!["snapshots/table_mistake.rs"],
    );
}

#[cfg(feature = "protocol")]
#[test]
fn a_protocol() {
    check(
        r"
        #[protocol]
        #[async_trait]
        /// Keeps.
        pub(crate) trait Storage<K: Send + 'static>: Named {
            /// Puts.
            async fn put(&self, key: K, value: Vec<u8>) -> Result<(), PutError>;
            fn forget(&self, key: K) -> Result<(), SendErrorReason>;
            async fn twice(&self) -> Result<(), PutError> { todo }
        }
        ",
        &expect_file!["snapshots/protocol.rs"],
    );
}

#[cfg(feature = "protocol")]
#[test]
fn a_block_that_implements_protocols() {
    check(
        r"
        #[actor(implements(ports::Storage<K>, Named))]
        impl<K: Key> Database<K> {
            #[handler]
            fn put(&mut self, key: K, value: Vec<u8>) -> Result<(), PutError> { todo }
            #[cfg(unix)]
            #[handler]
            fn forget(&mut self, key: K) {}
        }
        ",
        &expect_file!["snapshots/implements.rs"],
    );
}

#[cfg(feature = "protocol")]
#[test]
fn a_protocol_and_an_actor_joined() {
    let joined = crate::protocol::implement::implement(quote::quote! {
        [(0usize ask put (, key: K, value: Vec<u8>) (-> Result<(), PutError>)) (1usize tell forget (, key: K) (-> Sent))]
        [twice]
        [::supervise] [ports::Storage<K>] [Database] [DatabaseRef<K>] [<K: Key>] [where K: Send]
        [
            ([] put (, key: K, value: Vec<u8>) (, key, value) usable)
            ([#[cfg(unix)]] forget (, key: K) (, key) usable)
            ([] rows () () usable)
        ]
    });
    let file = syn::parse2(joined).expect("the output is Rust");
    expect_file!["snapshots/joined.rs"].assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_durable_actor() {
    crate::block::parse::stored::switch::on(|| {
        check(
            r#"
            #[actor(mailbox = durable(window = 8, crashes = 2))]
            struct Orders;

            #[actor]
            impl Orders {
                #[handler(stored_as = "order", also = ["put"], redeliver = 2)]
                fn place(&mut self, order: Order, r#type: u8) {}
                #[handler(transient)]
                fn socket(&mut self, socket: Socket) {}
                #[cfg(unix)]
                #[handler(inline)]
                fn empty(&self) {}
            }
            "#,
            &expect_file!["snapshots/durable.rs"],
        );
    });
}
