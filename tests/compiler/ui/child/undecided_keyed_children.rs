//! Keyed children whose failure the table does not decide.

use supervise::prelude::*;

#[actor]
struct Session;

#[actor]
impl Session {
    #[handler]
    fn add(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[actor]
#[supervise(on(Panic) = Restart)]
struct Shop {
    #[child(|_| |_: &u64| Session, idle = "5m")]
    sessions: Children<u64, Session>,
}

#[actor]
impl Shop {}

fn main() {}
