//! Values that a system has, one for each type.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

type Extension = Arc<dyn Any + Send + Sync>;

/// The values, in the order in which they were first wanted. There are few: one for each type that the program names.
#[derive(Default)]
pub(crate) struct Extensions(Mutex<Vec<(TypeId, Extension)>>);

impl Extensions {
    /// The value of this type. The first call makes it. `T::default` runs under a lock, so it must not be user code.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let wanted = TypeId::of::<T>();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| Arc::clone(value));
        let value = known.unwrap_or_else(|| {
            let value: Extension = Arc::new(T::default());
            all.push((wanted, Arc::clone(&value)));
            value
        });
        match value.downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("it is stored under its own type"),
        }
    }

    /// Takes all of them out. The caller drops them.
    pub(crate) fn take(&self) -> impl Send + use<> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
