//! A future is piped, and nothing says which message its output becomes.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the archive is broken")]
struct Broken;

async fn unpack(archive: Vec<u8>) -> usize {
    tokio::task::yield_now().await;
    archive.len()
}

#[actor]
struct Importer {
    files: usize,
}

#[actor]
impl Importer {
    #[handler]
    fn import(&mut self, archive: Vec<u8>, ctx: &mut Context<Self>) -> Result<(), Broken> {
        if archive.is_empty() {
            return Err(Broken);
        }
        ctx.pipe(unpack(archive));
        Ok(())
    }

    #[handler]
    fn imported(&mut self, files: usize) {
        self.files += files;
    }
}

#[actor]
#[supervise(one_for_one, on(Broken) = Resume)]
struct Backup {
    #[child(|_| || Importer { files: 0 })]
    importer: Child<Importer>,
}

#[actor]
impl Backup {
    #[handler]
    async fn restore(&self, archive: Vec<u8>) -> Option<()> {
        self.importer.actor().import(archive).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("backup");
    println!("{:?}", system.spawn("backup", || Backup { importer: Child::default() })?.restore(vec![1]).await?);
    system.terminate().await;
    Ok(())
}
