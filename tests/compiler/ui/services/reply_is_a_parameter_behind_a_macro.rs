//! A generic actor comes from a `macro_rules!` that is given what it replies with: an associated type, which may be a `Result`.

use supervise::prelude::*;

trait Source: Send + 'static {
    type Row: Send + 'static;

    fn row(&self) -> Self::Row;
}

macro_rules! reader {
    ($reply:ty) => {
        #[actor]
        struct Reader<S> {
            source: S,
        }

        #[actor]
        impl<S: Source> Reader<S> {
            #[handler]
            fn read(&mut self) -> $reply {
                self.source.row()
            }
        }
    };
}

reader!(S::Row);

fn main() {}
