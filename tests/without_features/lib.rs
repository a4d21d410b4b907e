//! Programs that need features of `supervise` which are off.
