//! What every service needs: a dependency that is down, ends without loss, and errors that say what happened.

mod drain;
mod forward;
mod full;
mod innocent;
mod lost;
mod starts;
