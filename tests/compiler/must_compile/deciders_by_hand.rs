//! A table by hand, as a path to a function, plain or generic.

use supervise::prelude::*;

fn by_count(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
    if child.restarts < 3 { Ok(Directive::Restart) } else { Err(failure.clone()) }
}

#[actor]
#[supervise(one_for_one(max_retries = 10), decider = by_count)]
struct First;

#[actor]
impl First {}

mod deciders {
    use supervise::prelude::*;

    pub(super) fn default<T>(failure: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        let _ = failure.downcast_ref::<std::io::Error>();
        Ok(Directive::Stop)
    }
}

#[actor]
#[supervise(decider = deciders::default::<u8>, rest_for_one)]
struct Second;

#[actor]
impl Second {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("third", || Third);
    }
}

#[actor]
#[supervise(decider = Self::decide_for_all)]
struct Third;

#[actor]
impl Third {
    fn decide_for_all(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        Ok(Directive::Escalate)
    }
}

pub(super) fn main() {}
