//! Protocols of every shape, and actors that implement them from other modules.

#![deny(warnings, missing_docs, unreachable_pub, private_interfaces, private_bounds)]
#![allow(dead_code, clippy::non_minimal_cfg, clippy::unused_async, reason = "the program shows what compiles")]

use std::fmt::Debug;

use supervise::prelude::*;

use renamed::{Kept, Named, Notes, NotesRef, StoreRef};

mod ports {
    use std::fmt::{Debug, Display};

    use supervise::SendErrorReason;
    use supervise::prelude::*;

    #[derive(Debug, thiserror::Error)]
    #[error("not kept")]
    pub(crate) struct NotKept(#[from] AskError);

    /// An alias, and errors that only this module knows.
    pub(crate) type Kept<T> = Result<T, NotKept>;

    /// Not a protocol.
    pub(crate) trait Named {
        fn name(&self) -> String;
    }

    #[protocol]
    #[async_trait]
    pub(crate) trait Store<K: Clone, const N: usize>: Debug
    where
        K: Send + Sync + 'static,
    {
        /// Puts.
        #[must_use]
        async fn put(&self, key: K, r#type: [u8; N]) -> Kept<Option<K>>;

        fn note(&self, _: &'static str) -> Result<(), SendErrorReason>;

        fn size() -> usize
        where
            Self: Sized,
        {
            N
        }

        async fn put_all(&self, keys: &[K], value: [u8; N]) -> Kept<()> {
            for key in keys {
                self.put(key.clone(), value).await?;
            }
            Ok(())
        }
    }

    /// It only tells, so it needs no `async_trait`.
    #[protocol]
    pub(crate) trait Notes: Named {
        fn note(&self, text: &'static str) -> Result<(), AskError>;
    }

    #[protocol]
    #[async_trait]
    trait Private<T: Display + Send + 'static> {
        async fn show(&self, what: T) -> Result<String, AskError>;
    }

    #[protocol]
    pub(super) trait Empty {}

    #[actor]
    pub(super) struct Printer;

    #[actor(implements(Private<u8>, self::Empty))]
    impl Printer {
        #[cfg(all())]
        #[handler]
        fn show(&self, what: u8) -> String {
            what.to_string()
        }

        #[cfg(any())]
        #[handler]
        fn show(&self, what: Nothing) -> String {
            what
        }
    }

    pub(super) async fn print(printer: PrinterRef) -> Result<String, AskError> {
        let _empty = EmptyRef::from(printer.clone());
        PrivateRef::new(printer).show(1).await
    }
}

mod renamed {
    pub(crate) use super::ports::{Named, Notes, NotesRef, Store as Kept, StoreRef};
}

#[actor]
struct Shelf<K>(Vec<K>);

#[actor(implements(Kept<K, 2>, Notes))]
impl<K: Debug + Clone + Send + Sync + 'static> Shelf<K> {
    #[handler]
    async fn put(&mut self, key: K, r#type: [u8; 2]) -> Option<K> {
        self.0.push(key);
        (r#type == [0, 0]).then(|| self.0[0].clone())
    }

    #[deprecated]
    #[handler]
    fn note(&mut self, _text: &'static str) -> Result<u8, std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

impl<K> Named for ShelfRef<K> {
    fn name(&self) -> String {
        self.to_string()
    }
}

async fn keep(shelf: ShelfRef<u8>) -> StoreRef<u8, 2> {
    let notes: NotesRef = shelf.clone().into();
    println!("{} {:?} {}", notes.name(), notes.note("a"), notes == notes.clone());
    let store = StoreRef::new(shelf);
    println!("{:?} {:?}", store.put(1, [1, 2]).await, store.put_all(&[1, 2], [0, 0]).await);
    store
}

fn main() {
    /// In a function, and as public as can be.
    #[allow(unreachable_pub)]
    #[protocol]
    #[async_trait]
    pub trait Inner {
        /// Counts.
        async fn count(&self) -> Result<usize, AskError>;
    }

    #[actor]
    struct Counter;

    #[actor(implements(Inner))]
    impl Counter {
        #[handler(inline)]
        fn count(&self) -> usize {
            1
        }
    }

    let _ = (keep, ports::print, |counter: CounterRef| InnerRef::from(counter));
    let _ = |printer: ports::PrinterRef| drop(printer);
}
