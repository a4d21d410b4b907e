//! `crate = path` for programs that import `supervise` under another name.
#![allow(dead_code, unreachable_pub, clippy::unused_async, reason = "the program shows what compiles")]

mod vendor {
    pub extern crate supervise as akka;
}

use vendor::akka::{actor, supervise};

#[actor(crate = crate::vendor::akka)]
#[supervise(one_for_one(max_retries = 3), on(std::io::Error) = Restart, on(_) = Escalate)]
struct Renamed;

#[actor(crate = crate::vendor::akka)]
impl Renamed {
    #[handler(redeliver = 1)]
    async fn go(&mut self, text: String) -> Result<u8, std::io::Error> {
        let _ = text;
        Ok(1)
    }

    #[watch]
    fn gone(&mut self, _gone: vendor::akka::Terminated) {}
}

fn main() {}
