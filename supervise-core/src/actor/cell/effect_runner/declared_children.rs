//! The children that the actor declares as fields.

use std::sync::Arc;

use super::{EffectRunner, Rare};
use crate::actor::child::{AnyDeclaration, Declare, UndeclaredChild};
use crate::actor::definition::Actor;

impl<A: Actor> EffectRunner<A> {
    /// The [`Declare`] with which a new instance declares a field.
    pub(in crate::actor::cell) fn declaration(&mut self, at: usize) -> Declare<'_, A> {
        let survivor = self.cell.core.protocol().child_of_field(at).cloned();
        let Rare { slots, configuration, .. } = self.rare();
        if slots.is_empty() {
            *slots = vec![None; A::CHILDREN.len()];
        }
        Declare::new(slots.get_mut(at), survivor, configuration.clone())
    }

    /// Whether a new instance has declared a field.
    pub(in crate::actor::cell) fn declared(&self, at: usize) -> Result<(), UndeclaredChild> {
        match self.slot(at) {
            Some(_) => Ok(()),
            None => Err(UndeclaredChild { name: A::CHILDREN.get(at).map_or("", |spec| spec.name) }),
        }
    }

    fn slot(&self, at: usize) -> Option<&Arc<dyn AnyDeclaration>> {
        self.rare.as_ref()?.slots.get(at)?.as_ref()
    }

    pub(super) fn start_child(&self, at: usize) {
        if let (Some(slot), Some(spec)) = (self.slot(at), A::CHILDREN.get(at)) {
            Arc::clone(slot).start(&self.me(), at, spec);
        }
    }
}
