//! A rule misspells its type.

use std::io::Error as IoError;

use supervise::prelude::*;

#[actor]
#[supervise(on(IoEror) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn fail(&mut self) -> Result<(), IoError> {
        Err(IoError::other("failed"))
    }
}

fn main() {}
