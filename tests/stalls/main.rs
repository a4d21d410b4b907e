//! Tests that nothing stalls or grows, however badly actors behave: groups that restart while actors wait for each other, a topic
//! with very many subscribers, and very many keyed children.

mod below;
mod code;
mod groups;
mod keyed;
mod random;
mod topics;
