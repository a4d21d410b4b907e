//! `#[async_trait]` is missing, or above `#[protocol]`.

use supervise::prelude::*;

#[protocol]
trait Storage {
    async fn put(&self) -> Result<(), AskError>;
}

#[async_trait]
#[protocol]
trait Archive {
    async fn put(&self) -> Result<(), AskError>;
}

#[protocol]
#[async_trait(?Send)]
trait Local {
    async fn put(&self) -> Result<(), AskError>;
}

fn main() {}
