//! An ask is given to `tokio::spawn`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the picture is broken")]
struct BrokenPicture;

#[actor]
struct Resizer;

#[actor]
impl Resizer {
    #[handler]
    fn resize(&mut self, picture: Vec<u8>) -> Result<Vec<u8>, BrokenPicture> {
        if picture.is_empty() { Err(BrokenPicture) } else { Ok(picture.into_iter().step_by(2).collect()) }
    }
}

#[actor]
#[supervise(one_for_one, on(BrokenPicture) = Restart)]
struct Gallery {
    #[child(|_| || Resizer)]
    resizer: Child<Resizer>,
}

#[actor]
impl Gallery {
    #[handler]
    async fn upload(&mut self, pictures: Vec<Vec<u8>>) -> usize {
        let mut tasks = Vec::new();
        for picture in pictures {
            let resizer = self.resizer.actor();
            tasks.push(tokio::spawn(resizer.resize(picture)));
        }
        let mut done = 0;
        for task in tasks {
            if let Ok(Ok(_)) = task.await {
                done += 1;
            }
        }
        done
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("gallery");
    let gallery = system.spawn("gallery", || Gallery { resizer: Child::default() })?;
    println!("{}", gallery.upload(vec![vec![1, 2, 3]]).await?);
    system.terminate().await;
    Ok(())
}
