use supervise::actor;

#[actor]
struct Player;

#[actor]
impl Player {}

#[actor]
struct Feed;

#[actor(remote)]
impl Feed {
    #[handler]
    fn subscribe(&mut self, player: PlayerRef) {
        let _ = player;
    }
}

fn main() {}
