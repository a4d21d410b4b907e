//! Bounds may stand on the type, on the impl block, or on both.

use supervise::prelude::*;

trait Source: Send + 'static {
    type Error: std::error::Error + Send + Sync + 'static;
    type Item: Send + 'static;

    fn next(&mut self) -> Result<Self::Item, Self::Error>;
}

#[actor]
struct Reader<S> {
    source: S,
}

#[actor]
impl<S: Source> Reader<S> {
    #[handler]
    fn next(&mut self) -> Result<S::Item, S::Error> {
        self.source.next()
    }

    #[handler]
    async fn reset(&mut self, source: S) {
        self.source = source;
    }
}

#[actor]
#[supervise(on(S::Error) = Restart)]
struct Parent<S: Source + Clone> {
    source: S,
}

#[actor]
impl<S> Parent<S>
where
    S: Source + Clone,
{
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let source = self.source.clone();
        let reader = ctx.spawn("reader", move || Reader { source: source.clone() })?;
        ctx.watch(&reader);
        Ok(())
    }

    #[watch]
    fn closed(&mut self, _gone: Terminated<Reader<S>>) {}
}

#[actor]
struct Ring<T, const N: usize>([Option<T>; N]);

#[actor]
impl<T: Send + 'static, const N: usize> Ring<T, N> {
    #[handler]
    fn put(&mut self, at: usize, value: T) {
        self.0[at] = Some(value);
    }
}

async fn talk<S: Source>(reader: ReaderRef<S>, ring: RingRef<u8, 4>) {
    let _ = reader.next().await;
    let _ = ring.put(0, 1).tell();
    let _ = reader.clone() == reader;
}

pub(super) fn main() {}
