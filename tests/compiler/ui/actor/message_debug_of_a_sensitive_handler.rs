//! A derived `Debug` would show what a handler hides.

use supervise::prelude::*;

#[actor]
struct Vault;

#[actor(message(derive(Clone, Debug)))]
impl Vault {
    #[handler(sensitive)]
    fn unlock(&mut self, password: String) -> bool {
        password.is_empty()
    }
}

fn main() {}
