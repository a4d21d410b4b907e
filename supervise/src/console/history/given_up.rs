//! Pools and backoff supervisors that give up their last child.

use supervise_core::{During, Outcome};

use super::super::cards::above;
use super::super::sight::{Decision, GivenUp, Time};
use super::{Fall, History};

/// Why the last child was given up.
struct Why {
    /// The last child. If that was a pattern that gave up a last child of its own, this is the child of that pattern.
    child: String,
    key: u64,
    /// The actor whose code failed.
    failed: String,
    during: Option<During>,
    text: String,
    rule: Option<&'static str>,
}

impl Why {
    fn decided(decision: &Decision) -> Self {
        let Decision { key, child, origin, during, text, rule, .. } = decision;
        let failed = origin.as_ref().unwrap_or(child);
        let (child, failed, text) = (child.clone(), failed.clone(), text.clone());
        Self { child, key: *key, failed, during: *during, text, rule: *rule }
    }

    /// The child gave up its own last child.
    fn fell(fall: &Fall) -> Self {
        let Fall { origin, origin_key, during, text, rule, .. } = fall;
        let (child, text) = (origin.clone(), text.clone());
        Self { failed: child.clone(), child, key: *origin_key, during: *during, text, rule: *rule }
    }
}

impl History {
    /// A pool or a backoff supervisor is down, and with it the places of its children.
    pub(in super::super) fn gave_up(&mut self, given_up: GivenUp, now: Time) {
        let GivenUp { key, actor, actor_type, supervisor_key } = given_up;
        let failed = self.failures.iter().rev().find(|(_, decision)| decision.supervisor == actor);
        let fell = self.falls.iter().rev().find(|fall| fall.gave_up && above(fall.down()) == actor);
        let why = match (failed, fell) {
            (Some((at, decision)), fell) if fell.is_none_or(|fall| fall.at < *at) => Some(Why::decided(decision)),
            (_, fell) => fell.map(Why::fell),
        };
        let why = why.unwrap_or_else(|| Why {
            child: actor.clone(),
            key,
            failed: actor.clone(),
            during: None,
            text: String::new(),
            rule: None,
        });
        let is_below = |fall: &Fall| fall.down().strip_prefix(&*actor).is_some_and(|rest| rest.starts_with('/'));
        self.falls.retain(|fall| !is_below(fall));
        self.make_room();
        let ends_it = Decision {
            key,
            child: actor.clone(),
            child_type: actor_type,
            supervisor: above(&actor).to_owned(),
            supervisor_type: "",
            supervisor_key,
            text: why.text.clone(),
            origin: Some(why.failed.clone()),
            during: why.during,
            rule: None,
            outcome: Outcome::Stopped { children: 1 },
            attempt: 1,
            used: None,
            replaced: None,
        };
        self.places.gave_up(&ends_it, now);
        self.falls.push_back(Fall {
            during: why.during.filter(|_| why.failed == why.child),
            origin: why.child,
            origin_key: why.key,
            last_key: key,
            decider_key: key,
            down_type: actor_type,
            text: why.text,
            rule: why.rule,
            gave_up: true,
            end: Some((Outcome::Stopped { children: 1 }, actor.clone())),
            used: None,
            at: now,
            passed: vec![actor],
        });
    }
}
