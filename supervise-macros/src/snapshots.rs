//! What representative inputs expand to.
