use supervise::actor;

#[derive(Debug, Clone, serde::Serialize)]
struct Match;

#[derive(Debug, thiserror::Error)]
#[error("no such match")]
struct NotFound;

#[actor]
struct Feed;

#[actor(remote)]
impl Feed {
    #[handler]
    async fn fetch(&mut self, id: u64) -> Result<Match, NotFound> {
        let _ = id;
        Err(NotFound)
    }
}

fn main() {}
