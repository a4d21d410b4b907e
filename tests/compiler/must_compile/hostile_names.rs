//! The user may define names that generated code also uses.

use supervise::{Context, actor, supervise};

#[derive(Debug)]
struct Option;
#[derive(Debug)]
struct Some;
#[derive(Debug)]
struct Ok;
#[derive(Debug)]
struct Err;
trait Send {}
trait Clone {}
#[allow(non_camel_case_types)]
struct str;
#[allow(non_camel_case_types)]
struct bool;
#[allow(non_camel_case_types)]
struct usize;
#[allow(non_camel_case_types)]
struct u32;

mod core {}
mod std {}

#[actor(stash = 3)]
#[supervise(on(_) = Stop)]
struct Result(u8);

#[actor]
impl Result {
    #[handler(redeliver = 1, not_influencing)]
    fn message(&mut self, ctx: u8, held: u8, reply: u8, error: u8, message: u8) -> u8 {
        self.0 + ctx + held + reply + error + message
    }

    #[handler]
    async fn handle(&mut self, context: &mut Context<Self>, failure: u8, gone: u8) {
        let _ = (context.path(), failure, gone);
    }
}

#[allow(unused)]
fn unused(_: (Option, Some, Ok, Err, str, bool, usize, u32)) {}

pub(super) fn main() {
    let _ = Result(1);
}
