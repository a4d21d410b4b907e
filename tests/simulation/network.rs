//! The association of two nodes explored without a runtime or a transport: every interleaving of small worlds of two and three
//! nodes, whose packets are delivered, dropped, repeated and reordered, and long random runs.

mod explore;
mod history;
mod random;
mod small_worlds;
mod world;
