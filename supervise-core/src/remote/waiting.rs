//! Proxies that wait for the window, in the order in which they began to wait.

use std::collections::{HashSet, VecDeque};
use std::task::Waker;

/// How many proxies are woken at a time. Each of them lets the link wake more when it has written, as long as the window is open.
const AT_ONCE: usize = 64;

/// Proxies that wait. Each of them waits once.
#[derive(Default)]
pub(super) struct Waiting {
    wakers: VecDeque<Waker>,
    /// The addresses of what they wake.
    known: HashSet<usize>,
}

impl Waiting {
    /// Lets a proxy wait, unless it does already.
    pub(super) fn add(&mut self, waker: &Waker) {
        if self.known.insert(waker.data().addr()) {
            self.wakers.push_back(waker.clone());
        }
    }

    /// Takes the first ones.
    pub(super) fn first(&mut self) -> impl Iterator<Item = Waker> {
        let most = AT_ONCE.min(self.wakers.len());
        self.wakers.drain(..most).inspect(|waker| {
            self.known.remove(&waker.data().addr());
        })
    }

    /// Takes them all.
    pub(super) fn all(&mut self) -> impl Iterator<Item = Waker> {
        self.known.clear();
        self.wakers.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    struct Proxy;

    impl Wake for Proxy {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn the_first_are_woken_first_and_each_waits_once() {
        let wakers: Vec<Waker> = (0..100).map(|_| Waker::from(Arc::new(Proxy))).collect();
        let mut waiting = Waiting::default();
        wakers.iter().chain(&wakers).for_each(|waker| waiting.add(waker));
        let first: Vec<Waker> = waiting.first().collect();
        assert!(first.len() == AT_ONCE && first.iter().zip(&wakers).all(|(one, other)| one.will_wake(other)));
        // One that waits again stands behind those that were not woken.
        waiting.add(&wakers[0]);
        let rest: Vec<Waker> = waiting.all().collect();
        let expected = wakers[AT_ONCE..].iter().chain([&wakers[0]]);
        assert!(rest.len() == 37 && rest.iter().zip(expected).all(|(one, other)| one.will_wake(other)));
        waiting.add(&wakers[0]);
        assert_eq!(waiting.first().count(), 1);
    }
}
