//! Tests that nothing stalls or grows, however badly actors behave: a group that restarts while its members wait for each other, a topic
//! with very many subscribers, and very many keyed children.

mod groups;
mod keyed;
mod topics;
