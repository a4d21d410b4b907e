use supervise::actor;

struct Socket;

#[actor]
struct Feed;

#[actor(remote)]
impl Feed {
    #[handler]
    fn attach(&mut self, name: String, socket: Socket) {
        let _ = (name, socket);
    }
}

fn main() {}
