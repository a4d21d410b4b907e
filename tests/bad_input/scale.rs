//! Many children, deep paths. The tests compare times with each other, never with a fixed limit. Four times the input
//! may take twelve times as long; quadratic code would take sixteen times as long.
//!
//! For a long run: `BAD_INPUT_CHILDREN=1_000_000`, `BAD_INPUT_DEPTH=10_000`.

use std::time::{Duration, Instant};

use supervise::prelude::*;

use crate::{Modest, ModestRef};

fn setting(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(number) => {
            number.replace('_', "").parse().unwrap_or_else(|_| panic!("{name}={number} is not a number"))
        }
        Err(_) => otherwise,
    }
}

/// Not more than linear, as far as a busy machine can tell.
fn assert_in_proportion(what: &str, size: usize, mut take: impl FnMut(usize) -> Duration) {
    let quick = |size, take: &mut dyn FnMut(usize) -> Duration| (0..3).map(|_| take(size)).min().unwrap();
    let (few, many) = (quick(size / 4, &mut take), quick(size, &mut take));
    println!("{what}: {} in {few:.1?}, {size} in {many:.1?}", size / 4);
    assert!(many <= few * 12, "{what}: {} in {few:.1?}, {size} in {many:.1?}", size / 4);
}

fn run<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(what)
}

/// Has as many children as it is told to have.
#[actor]
struct Crowd;

#[actor]
impl Crowd {
    #[handler]
    fn hire(&mut self, count: usize, ctx: &mut Context<Self>) -> ModestRef {
        (0..count).map(|child| ctx.spawn(format!("child-{child}"), Modest::new).unwrap()).last().unwrap()
    }
}

#[test]
fn many_children_start_and_stop_in_proportion() {
    let most = setting("BAD_INPUT_CHILDREN", 20_000);
    assert_in_proportion("children", most, |count| {
        run(async {
            let system = ActorSystem::new("crowd");
            let begun = Instant::now();
            let crowd = system.spawn("crowd", || Crowd).unwrap();
            let last = crowd.hire(count).await.unwrap();
            assert_eq!(last.count().await.unwrap(), 1);
            assert_eq!(system.select("/user/crowd/*").unwrap().identify().len(), count);
            assert!(system.find(format!("/user/crowd/child-{}", count / 2)).is_some());
            system.stop(&crowd);
            system.ended(&crowd).await;
            system.terminate().await;
            begun.elapsed()
        })
    });
}

/// Has one child, which has one child, and so on.
#[actor]
struct Deep {
    below: usize,
    bottom: tokio::sync::mpsc::UnboundedSender<DeepRef>,
}

#[actor]
impl Deep {
    #[pre_start]
    fn dig(&mut self, ctx: &mut Context<Self>) {
        if self.below == 0 {
            let _nobody_asks = self.bottom.send(ctx.me());
        } else {
            let (below, bottom) = (self.below - 1, self.bottom.clone());
            ctx.spawn("d", move || Deep { below, bottom: bottom.clone() }).unwrap();
        }
    }

    #[handler]
    fn depth(&self) -> usize {
        self.below
    }
}

#[test]
fn a_deep_path_prints_parses_is_found_stops_and_drops() {
    let depth = setting("BAD_INPUT_DEPTH", 2_000);
    run(async {
        let system = ActorSystem::new("deep");
        let (bottom, mut reached) = tokio::sync::mpsc::unbounded_channel();
        let top = system.spawn("d", move || Deep { below: depth - 1, bottom: bottom.clone() }).unwrap();
        let leaf = reached.recv().await.unwrap();
        let path = leaf.actor_ref().path();
        let text = path.to_string();
        assert_eq!(path.elements().count(), depth + 1);
        assert_eq!(text.parse::<supervise::ActorPath>().unwrap(), path);
        assert_eq!(system.find(&text).unwrap().uid(), leaf.actor_ref().uid());
        let wild = format!("/user{}", "/*".repeat(depth));
        assert_eq!(system.select(wild).unwrap().identify(), [leaf.actor_ref().to_any()]);
        let up = format!("{}{}", path.local(), "/..".repeat(depth - 1));
        assert_eq!(system.select(up).unwrap().identify(), [top.actor_ref().to_any()]);
        assert_eq!(leaf.depth().await.unwrap(), 0);
        let _ = format!("{leaf:?} {top:?}");
        system.stop(&top);
        system.ended(&top).await;
        assert!(leaf.actor_ref().has_ended());
        system.terminate().await;
        drop((leaf, top, system));
    });
}

#[test]
fn a_deep_tree_that_is_dropped_with_its_runtime_overflows_no_stack() {
    let depth = setting("BAD_INPUT_DEPTH", 2_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let leaf = runtime.block_on(async {
        let system = ActorSystem::new("deep");
        let (bottom, mut reached) = tokio::sync::mpsc::unbounded_channel();
        system.spawn("d", move || Deep { below: depth - 1, bottom: bottom.clone() }).unwrap();
        reached.recv().await.unwrap()
    });
    drop(runtime);
    assert!(leaf.depth().tell().is_err());
}
