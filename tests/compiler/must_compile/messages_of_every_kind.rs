//! What a message may carry.

use supervise::prelude::*;

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

type Job = Box<dyn FnOnce(&mut u8) -> String + Send>;

#[derive(Clone)]
struct Point<T> {
    x: T,
}

/// It may be sent, whatever its parameter is.
struct Kind<T: ?Sized>(PhantomData<fn(Box<T>)>);

#[actor]
struct Everything(u8);

#[actor]
impl Everything {
    #[handler]
    fn closures(&mut self, job: Job, callback: Arc<dyn Fn(u8) + Send + Sync>, plain: fn(u8) -> u8) -> String {
        callback(plain(self.0));
        job(&mut self.0)
    }

    #[handler]
    fn collections(&mut self, map: HashMap<String, Vec<Option<(u8, [u8; 3])>>>, text: &'static [&'static str]) -> usize {
        map.len() + text.len()
    }

    #[handler]
    fn closures_of_a_type_that_can_be_sent(&self, kind: Kind<dyn FnOnce()>, boxed: Kind<Box<dyn Fn() -> u8>>) {
        let _: (PhantomData<fn(_)>, PhantomData<fn(_)>) = (kind.0, boxed.0);
    }

    #[handler]
    fn no_arguments(&self) {}

    #[handler]
    fn mutable(&mut self, mut numbers: Vec<u8>) -> Vec<u8> {
        numbers.sort_unstable();
        numbers
    }

    #[handler(redeliver = 2)]
    fn generic(&mut self, point: Point<u8>, impl_of: Arc<dyn std::any::Any + Send + Sync>) -> Point<u8> {
        drop(impl_of);
        Point { x: point.x + self.0 }
    }

    #[handler]
    async fn channels(&mut self, sender: tokio::sync::oneshot::Sender<u8>, never: std::convert::Infallible) {
        let _ = sender;
        match never {}
    }

    #[handler]
    fn unused(&mut self, _ignored: u8, r#type: u8) -> u8 {
        r#type
    }
}

pub(super) fn main() {}
