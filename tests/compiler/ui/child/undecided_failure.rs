//! A declared child can fail with something its parent's table does not name.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
struct ReadError;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self) -> Result<u8, ReadError> {
        Err(ReadError)
    }
}

#[actor]
#[supervise(on(std::io::Error) = Restart)]
struct Library {
    #[child(|_| || Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {
    let _ = Library { reader: Child::default() };
}
