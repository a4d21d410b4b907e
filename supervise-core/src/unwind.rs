//! Running user code so that its panic stops here. Dropping a user's value is user code too.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code`; its panic becomes the error.
///
/// The state it touched may be half-updated: whoever calls this must not show it to user code again, unless a
/// table says so in words.
pub(crate) fn contained<T>(code: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Drops a user's value. A panic is logged, and its payload is forgotten rather than dropped.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = contained(move || drop(value)) {
        std::mem::forget(payload);
        crate::observe::drop_panicked(std::any::type_name::<T>());
    }
}
