//! Defaults, constants and bounds on either side.

use supervise::prelude::*;

use std::fmt::Debug;
use std::marker::PhantomData;

#[actor]
struct Cache<K, V = Vec<u8>, const N: usize = 16>
where
    K: Ord,
{
    entries: std::collections::BTreeMap<K, V>,
}

#[actor]
impl<K, V, const N: usize> Cache<K, V, N>
where
    K: Ord + Send + 'static,
    V: Clone + Send + 'static,
{
    #[handler]
    fn get(&self, key: K) -> Option<V> {
        self.entries.get(&key).cloned()
    }

    #[handler(redeliver = 1)]
    fn limit(&self) -> usize {
        N
    }
}

#[actor]
struct Tag<T: Debug>(PhantomData<fn() -> T>);

#[actor]
impl<T: Debug + 'static> Tag<T> {
    #[handler]
    fn show(&self) {}
}

#[actor]
struct Buffer<const N: usize>([u8; N]);

#[actor]
impl<const N: usize> Buffer<N> {
    #[handler]
    fn fill(&mut self, with: [u8; N]) {
        self.0 = with;
    }
}

fn start(system: &ActorSystem) -> Result<(), SpawnError> {
    let cache = system.spawn("cache", || Cache::<u8> { entries: [].into() })?;
    let _ = cache.get(1).tell();
    let tag = system.spawn("tag", || Tag::<u8>(PhantomData))?;
    let _ = tag.show().tell();
    let buffer: BufferRef<4> = system.spawn("buffer", || Buffer([0; 4]))?;
    let _ = buffer.fill([1; 4]).tell();
    Ok(())
}

pub(super) fn main() {}
