//! The calls into user code that the protocol makes: the factory, the declarations of fields, and the hooks.

use std::sync::Arc;

use super::{Next, Runner, UserCode, UserCodeResult};
use crate::actor::cell::effect_runner::EffectRunner;
use crate::actor::cell::user_code::Broken;
use crate::actor::definition::Actor;
use crate::actor::reply;
use crate::base::{UserValue, contained};
use crate::failure::{During, Failure};
use crate::observe::GivenUp;
use crate::supervision::{Call, Input, Returned};

const FACTORY: u16 = During::Factory.number();

impl<A: Actor> Runner<A> {
    /// Makes the call, up to user code that may wait.
    pub(super) fn call(&mut self) -> Next {
        let (code, outcome) = match self.effects.call.take() {
            None => return Next::Again,
            Some(Call::Build) => (FACTORY, self.build()),
            Some(Call::Declare(at)) => (During::Child.number(), self.declare(at)),
            Some(Call::Create) => match self.build_first() {
                Ok(Ok(())) => return Next::Call(UserCode::PreStart),
                failed => return self.built(FACTORY, failed),
            },
            Some(Call::StartNewInstance(cause)) => match self.build() {
                Ok(Ok(())) => {
                    self.effects.call = Some(Call::StartNewInstance(cause));
                    return Next::Call(UserCode::PostRestart);
                }
                failed => return self.built(FACTORY, failed),
            },
            Some(Call::PreRestart { cause, own, aborted }) => {
                if A::KEEPS_REPLIES {
                    self.effects.doomed_by(&cause);
                }
                self.cancel_timers_and_work();
                self.ctx.set_aborted(aborted);
                self.effects.call = Some(Call::PreRestart { cause, own, aborted });
                return Next::Call(UserCode::PreRestart { own });
            }
            Some(Call::PostStop { aborted }) => {
                self.cancel_timers_and_work();
                self.ctx.set_aborted(aborted);
                return Next::Call(UserCode::PostStop);
            }
        };
        self.returned(code, outcome)
    }

    /// The attempt to make a new instance is over.
    ///
    /// Rule 4.7.
    pub(super) fn built(&mut self, code: u16, outcome: UserCodeResult) -> Next {
        if matches!(outcome, Ok(Ok(()))) {
            self.effects.forget_doom();
            if A::BATCHES {
                self.effects.ungather();
            }
            self.effects.unstash_all();
            if A::REDELIVERS
                && let Some(aside) = &mut self.effects.aside
                && let Some(retry) = aside.retries.restarted(A::STASH_CAPACITY)
            {
                self.effects.quarantine(retry, GivenUp::NoRoom);
            }
            #[cfg(feature = "durable")]
            if let Some(deliveries) = self.effects.deliveries_so_far() {
                deliveries.restarted();
            }
            if let Some(timers) = self.ctx.timers_mut() {
                timers.rearm_idle();
            }
        }
        self.returned(code, outcome)
    }

    /// Code of this [number](During::number) returned.
    // Not in debug builds, where each copy costs time to compile.
    #[cfg_attr(
        not(debug_assertions),
        expect(
            clippy::inline_always,
            reason = "each start and each end goes this way; a call costs a two-hundredth of it"
        ),
        inline(always)
    )]
    pub(super) fn returned(&mut self, code: u16, outcome: UserCodeResult) -> Next {
        self.settle_replies(EffectRunner::why_replies_are_dropped);
        self.step(Input::Returned(match outcome {
            Ok(Ok(())) => Returned::Ok,
            Ok(Err(failure)) => Returned::Err(self.left_hook(code, failure)),
            Err(Broken::Panicked(payload)) => Returned::Err(self.left_hook(code, Failure::panic(payload))),
            Err(Broken::Aborted) => Returned::Aborted,
        }));
        Next::Again
    }

    /// Cancels the timers and the work of the instance. Cancelled work drops the reply slots that it holds.
    fn cancel_timers_and_work(&mut self) {
        if A::KEEPS_REPLIES {
            reply::dropping(self.effects.why_replies_are_dropped(), || self.ctx.cancel_timers_and_work());
        } else {
            self.ctx.cancel_timers_and_work();
        }
    }

    /// A copy of the message that failed, if it is kept for another delivery.
    pub(super) fn failed_message(&self) -> Option<A::Message> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() }
            && let Some(deliveries) = self.effects.aside.as_ref()?.deliveries.as_ref()
            && let Some(ticket) = deliveries.last_failed()
        {
            return crate::actor::stored::decoded::<A>(ticket).ok();
        }
        if !A::REDELIVERS {
            return None;
        }
        let message = self.effects.aside.as_ref()?.retries.last_failed()?;
        contained(|| A::duplicate(message)).ok().flatten()
    }

    /// Runs the factory for an actor that has not started yet. Clears what a failed attempt has set.
    fn build_first(&mut self) -> UserCodeResult {
        self.ctx.cancel_receive_timeout();
        self.build()
    }

    /// Runs the factory, unless it has run.
    fn build(&mut self) -> UserCodeResult {
        if self.instance.is_some() {
            return Ok(Ok(()));
        }
        match contained(&mut *self.factory) {
            Ok(Ok(instance)) if A::CONFIGURED.is_some() => self.configure(instance),
            Ok(built) => Ok(built.map(|instance| self.instance = Some(instance))),
            Err(payload) => Err(Broken::Panicked(payload)),
        }
    }

    /// Resolves what the table takes from the new instance, and keeps the instance if that is allowed.
    fn configure(&mut self, instance: A) -> UserCodeResult {
        let instance = UserValue::new(instance);
        match contained(|| instance.configure()) {
            Ok(Ok(configuration)) => {
                let configuration = Arc::new(configuration);
                self.ctx.set_configuration(Arc::clone(&configuration));
                self.effects.configure(configuration);
            }
            Ok(Err(invalid)) => return Ok(Err(Failure::new(invalid))),
            Err(payload) => return Err(Broken::Panicked(payload)),
        }
        self.instance = Some(instance.into_inner());
        Ok(Ok(()))
    }

    /// Lets the instance declare the child of a field.
    fn declare(&mut self, at: usize) -> UserCodeResult {
        let (instance, _, effects) = self.parts();
        let name = A::CHILDREN[at].name;
        match contained(|| instance.declare_child(name, effects.declaration(at))) {
            Err(payload) => Err(Broken::Panicked(payload)),
            Ok(()) => Ok(effects.declared(at).map_err(Failure::new)),
        }
    }
}
