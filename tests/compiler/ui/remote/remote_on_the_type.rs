use supervise::actor;

#[actor(remote)]
struct Feed;

#[actor(remote = Feed)]
impl Feed {}

#[actor]
struct Other;

#[actor(remote = "")]
impl Other {}

fn main() {}
