//! Rules by variant, where all variants have one.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query(u32),
}

mod net {
    #[derive(Debug, thiserror::Error)]
    #[error("x")]
    pub enum NetError {
        Closed,
        Refused { port: u16 },
    }
}

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn query(&mut self, number: u32) -> Result<(), DbError> {
        Err(if number == 0 { DbError::Timeout } else { DbError::Query(number) })
    }

    #[handler]
    fn connect(&mut self, port: u16) -> Result<(), net::NetError> {
        Err(if port == 0 { net::NetError::Closed } else { net::NetError::Refused { port } })
    }
}

#[actor]
#[supervise(
    on(DbError::Query(0..=9)) = Resume,
    on(net::NetError::Closed) = Restart,
    on(DbError::Timeout | DbError::Query(_)) = Restart,
    on(net::NetError::Refused { port: 80 | 443 }) = Stop,
    on(net::NetError::Refused { .. } if |error| matches!(error, net::NetError::Refused { port } if port % 2 == 0)) = Stop,
    on(net::NetError::Refused { .. }) = Escalate,
)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("child", || Child);
    }
}

pub(super) fn main() {}
