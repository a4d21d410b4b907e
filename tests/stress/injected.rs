//! The failure that the driver injects. It carries the decision about it, and which failures must follow.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::Directive;

use crate::profile::Profile;

/// The error of a node. Clones share how many failures must follow, because all actors that the failure
/// reaches share it.
#[derive(Clone, thiserror::Error)]
pub(crate) struct Injected {
    /// What the supervisor at depth 0 must decide.
    pub(crate) directive: Box<Directive>,
    /// Whether it must stop the child instead, if the profile allows that.
    pub(crate) stop: bool,
    /// How many supervisors must escalate it first.
    pub(crate) depth: u32,
    /// How many of the next factory calls fail.
    pub(crate) fail_constr: u32,
    /// How many children a restart stops.
    pub(crate) stop_kids: usize,
    left: Arc<Left>,
}

/// How often hooks must still fail.
struct Left {
    pre: AtomicU32,
    post: AtomicU32,
}

impl Injected {
    /// Draws a failure from the profile.
    pub(crate) fn draw(profile: &Profile, rng: &mut fastrand::Rng) -> Self {
        Self {
            directive: Box::new(profile.directives.draw(rng)),
            stop: profile.stop.draw(rng) > 0,
            depth: profile.depth.draw(rng),
            fail_constr: profile.fail_constr.draw(rng),
            stop_kids: match profile.stop_kids.draw(rng) {
                0 => 0,
                1 => rng.usize(0..(profile.breadth / 2).max(1)),
                _ => usize::MAX,
            },
            left: Arc::new(Left {
                pre: AtomicU32::new(profile.fail_pre.draw(rng)),
                post: AtomicU32::new(profile.fail_post.draw(rng)),
            }),
        }
    }

    /// The same with counts of its own.
    pub(crate) fn copy(&self) -> Self {
        let pre = AtomicU32::new(self.left.pre.load(Ordering::Relaxed));
        let post = AtomicU32::new(self.fails_post());
        Self { left: Arc::new(Left { pre, post }), ..self.clone() }
    }

    /// The error of a supervisor that escalates it.
    pub(crate) fn escalated(&self) -> Self {
        Self { depth: self.depth - 1, ..self.copy() }
    }

    /// What remains after a factory call failed with it.
    pub(crate) fn constr_failed(&self) -> Self {
        Self { fail_constr: self.fail_constr - 1, ..self.copy() }
    }

    /// Whether this `pre_restart` must fail.
    pub(crate) fn take_pre(&self) -> bool {
        take(&self.left.pre)
    }

    /// Whether this `post_restart` must fail.
    pub(crate) fn take_post(&self) -> bool {
        take(&self.left.post)
    }

    /// How many more of them must fail.
    pub(crate) fn fails_post(&self) -> u32 {
        self.left.post.load(Ordering::Relaxed)
    }
}

fn take(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directive, stop, depth, fail_constr, stop_kids, left } = self;
        let (pre, post) = (left.pre.load(Ordering::Relaxed), left.post.load(Ordering::Relaxed));
        write!(
            f,
            "{directive:?} at depth {depth}, stop {stop}, kids to stop {stop_kids}, to fail: pre_restart {pre}, \
             post_restart {post}, factory {fail_constr}"
        )
    }
}

impl fmt::Debug for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
