//! The signatures that the message of `services/reply_is_a_result_in_an_option` proposes.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the row is locked")]
struct Locked;

#[actor]
struct Rows {
    rows: Vec<String>,
}

#[actor]
impl Rows {
    #[handler]
    fn take(&mut self, row: usize) -> Result<Option<String>, Locked> {
        self.rows.get(row).map(|text| if text.is_empty() { Err(Locked) } else { Ok(text.clone()) }).transpose()
    }

    #[handler]
    fn status(&self) -> Result<(usize, bool), Locked> {
        if self.rows.is_empty() { Err(Locked) } else { Ok((self.rows.len(), true)) }
    }

    #[handler]
    fn look(&self, row: usize) -> Reply<Option<Result<String, Locked>>> {
        let value = self.rows.get(row).map(|text| if text.is_empty() { Err(Locked) } else { Ok(text.clone()) });
        Reply(value)
    }
}

#[actor]
#[supervise(one_for_one, on(Locked) = Restart)]
struct Database {
    #[child(|_| || Rows { rows: Vec::new() })]
    rows: Child<Rows>,
}

#[actor]
impl Database {
    #[handler]
    async fn first(&self) -> Result<bool, AskError> {
        let rows = self.rows.actor();
        Ok(rows.take(0).await?.is_some() && rows.status().await?.1 && rows.look(0).await?.is_some())
    }
}

pub(super) fn main() {}
