//! Rows are written in batches, which the handler takes as a slice.

use supervise::prelude::*;

#[derive(Debug, Clone)]
struct Row {
    text: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[actor]
struct Writer {
    rows: Vec<Row>,
}

#[actor]
impl Writer {
    #[handler(batch = 500, linger = "20ms")]
    async fn write(&mut self, rows: &[Row]) -> Result<(), DiskFull> {
        tokio::task::yield_now().await;
        if self.rows.len() + rows.len() > 1_000_000 {
            return Err(DiskFull);
        }
        self.rows.extend(rows.to_vec());
        Ok(())
    }

    #[handler]
    fn last(&self) -> Option<String> {
        self.rows.last().map(|row| row.text.clone())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "1m"), on(DiskFull) = Restart)]
struct Log {
    #[child(|_| || Writer { rows: Vec::new() })]
    writer: Child<Writer>,
}

#[actor]
impl Log {
    #[handler]
    fn line(&self, text: String) {
        let _ = self.writer.actor().write(Row { text }).tell();
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("log");
    system.spawn("log", || Log { writer: Child::default() })?.line("begun".to_owned()).await?;
    system.terminate().await;
    Ok(())
}
