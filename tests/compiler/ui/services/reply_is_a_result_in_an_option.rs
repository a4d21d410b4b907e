//! A handler replies with a `Result` inside an `Option` (and one inside a tuple, as `handle_call` does).

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
    fn take(&mut self, row: usize) -> Option<Result<String, Locked>> {
        self.rows.get(row).map(|text| if text.is_empty() { Err(Locked) } else { Ok(text.clone()) })
    }

    #[handler]
    fn status(&self) -> (Result<usize, Locked>, bool) {
        (if self.rows.is_empty() { Err(Locked) } else { Ok(self.rows.len()) }, true)
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
        Ok(self.rows.actor().take(0).await?.is_some() && self.rows.actor().status().await?.1)
    }
}

fn main() {}
