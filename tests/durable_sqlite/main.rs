//! Does the store in a SQLite file keep what it has accepted?
//!
//! The names of cases begin with their number in the table of durable mailboxes. Cases that need actors stand elsewhere.

mod bounds;
mod child;
mod contract;
mod damage;
mod ends;
mod fixture;
mod full;
#[cfg(unix)]
mod gone;
mod kill;
mod lock;
mod refuse;
mod rig;
mod sync;
