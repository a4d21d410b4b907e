//! A request is made and dropped: nothing is sent, and only a lint of rustc says so.

#![deny(unused_must_use)]

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the audit log is full")]
struct Full;

#[actor]
struct Audit {
    lines: Vec<String>,
}

#[actor]
impl Audit {
    #[handler]
    fn record(&mut self, line: String) -> Result<usize, Full> {
        self.lines.push(line);
        if self.lines.len() > 1000 { Err(Full) } else { Ok(self.lines.len()) }
    }
}

#[actor]
#[supervise(one_for_one, on(Full) = Restart)]
struct Bank {
    #[child(|_| || Audit { lines: Vec::new() })]
    audit: Child<Audit>,
}

#[actor]
impl Bank {
    #[handler]
    fn transfer(&mut self, cents: u64) -> u64 {
        let audit = self.audit.actor();
        audit.record(format!("transfer {cents}"));
        let _ = audit.record("done".to_owned());
        cents
    }
}

fn main() {}
