//! Tests of what every service needs: it survives a dependency that is down, ends without loss, and gets errors that say what happened.

mod drain;
mod forward;
mod innocent;
mod lost;
mod starts;
