//! A handler may have the name of a method that every ref has.

use supervise::prelude::*;

#[actor]
struct Thing;

#[actor]
impl Thing {
    #[handler]
    fn stop(&mut self) {}

    #[handler]
    fn path(&mut self) -> String {
        String::new()
    }

    #[handler]
    fn tell(&mut self, text: String) {
        drop(text);
    }

    #[handler]
    fn ask(&mut self) {}

    #[handler]
    fn send(&mut self) {}

    #[handler]
    fn kill(&mut self) {}

    #[handler]
    fn uid(&mut self) {}

    #[handler]
    fn to_any(&mut self) {}

    #[handler]
    fn message_name(&mut self) {}

    #[handler]
    fn handle_it(&mut self) {}

    #[handler]
    fn new(&mut self) {}
}

async fn talk(thing: ThingRef, system: ActorSystem) {
    let _: Result<String, AskError> = thing.path().await;
    let _ = thing.actor_ref().path();
    let _ = thing.tell("x".to_owned()).tell();
    system.stop(&thing);
}

pub(super) fn main() {}
