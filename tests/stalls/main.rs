//! What must not stall or grow, however badly actors behave: a group that restarts while its members wait for each other, and watches
//! that come and go.

mod groups;
