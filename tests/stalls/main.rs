//! What must not stall or grow, however badly actors behave: a group that restarts while its members wait for each other, and
//! a topic with very many subscribers.

mod groups;
mod keyed;
mod topics;
