//! Three accounts come from one `macro_rules!`, which is given what a payment returns: a `Result` under the service's own name.
//! Others write the type in parentheses, or get it from a macro.

#![allow(unused_parens)]

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the account has no money")]
struct Overdrawn;

type Paid = Result<u64, Overdrawn>;

macro_rules! paid {
    () => {
        Result<u64, Overdrawn>
    };
}

macro_rules! account {
    ($name:ident, $paid:ty) => {
        #[actor]
        struct $name {
            cents: u64,
        }

        #[actor]
        impl $name {
            #[handler]
            fn pay(&mut self, cents: u64) -> $paid {
                self.cents = self.cents.checked_sub(cents).ok_or(Overdrawn)?;
                Ok(self.cents)
            }
        }
    };
}

account!(Checking, Paid);
account!(Savings, Paid);

#[actor]
struct Wallet;

#[actor]
impl Wallet {
    #[handler]
    fn pay(&mut self) -> (paid!()) {
        Err(Overdrawn)
    }

    #[handler]
    fn balances(&self) -> Vec<tokio::task::JoinHandle<Result<u64, Overdrawn>>> {
        Vec::new()
    }
}

#[actor]
#[supervise(one_for_one, on(Overdrawn) = Restart)]
struct Bank {
    #[child(|_| || Checking { cents: 0 })]
    checking: Child<Checking>,
    #[child(|_| || Savings { cents: 0 })]
    savings: Child<Savings>,
    #[child(|_| || Wallet)]
    wallet: Child<Wallet>,
}

#[actor]
impl Bank {}

fn main() {}
