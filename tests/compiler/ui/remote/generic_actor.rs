use supervise::actor;

#[actor]
struct Feed<T: Send + 'static> {
    last: Option<T>,
}

#[actor(remote)]
impl<T: Send + 'static> Feed<T> {
    #[handler]
    fn clear(&mut self) {
        self.last = None;
    }
}

fn main() {}
