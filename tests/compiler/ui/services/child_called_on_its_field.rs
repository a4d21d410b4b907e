//! A handler of a declared child is called on the field, and not on the child's ref.

use supervise::prelude::*;

#[actor]
struct Reader {
    lines: Vec<String>,
}

#[actor]
impl Reader {
    #[handler]
    fn next_line(&mut self) -> Option<String> {
        self.lines.pop()
    }
}

#[actor]
struct Importer {
    #[child(|_| || Reader { lines: vec!["tea".to_owned()] })]
    reader: Child<Reader>,
}

#[actor]
impl Importer {
    #[handler]
    async fn import(&mut self) -> Option<String> {
        self.reader.next_line().await.ok().flatten()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let importer = system.spawn("importer", || Importer { reader: Child::default() })?;
    println!("{:?}", importer.import().await?);
    system.terminate().await;
    Ok(())
}
