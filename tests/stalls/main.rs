//! Tests that nothing stalls or grows, however badly actors behave: groups that restart while actors wait for each other, a topic
//! with very many subscribers, and very many keyed children.
//!
//! Four modules are about actors that wait for each other (rule 14.8):
//! - `groups`: in a group of siblings that restarts or stops in field order
//! - `below`: for an actor above, or for a sibling of one
//! - `waits`: everything else that waits, in a file for each direction, with actors that run what a test gives them
//! - `random`: in random trees

mod below;
mod groups;
mod keyed;
mod random;
mod topics;
mod waits;
