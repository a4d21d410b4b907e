//! The rooms. A room knows who is there and what was said, and takes no risks. Its filter, which reads what users
//! write, takes all of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use supervise::prelude::*;

use super::member::{Member, MemberRef};
use super::web::line::Line;

/// How many texts a room shows to a user who joins.
const HISTORY: usize = 50;
/// How many rooms there may be at a time. Users choose the names, so they could make up any number.
const ROOMS: usize = 1000;
/// How long a room stays after its last member has left.
const EMPTY: Duration = Duration::from_millis(500);

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
#[derive(Default)]
pub(crate) struct Rooms {
    #[child(|_| |_: &String| Room::default(), limit = ROOMS)]
    rooms: Children<String, Room>,
}

#[actor]
impl Rooms {
    /// The room of this name. A refusal is an answer and not a failure, which would end all rooms.
    #[handler(inline)]
    fn room(&self, name: String) -> Reply<Result<RoomRef, SpawnError>> {
        Reply(self.rooms.get_or_spawn(name))
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
#[derive(Default)]
pub(crate) struct Room {
    #[child(|_| || Filter)]
    filter: Child<Filter>,
    members: Vec<(String, MemberRef)>,
    history: VecDeque<Arc<str>>,
    said: u64,
}

impl Room {
    /// Shows a line to all members. A member that does not read it in time is removed.
    fn show(&mut self, line: &Arc<str>) {
        for (_, member) in &self.members {
            if member.show(line.clone()).tell().is_err() {
                member.actor_ref().stop();
            }
        }
    }
}

#[actor]
impl Room {
    /// Returns the earlier texts.
    #[handler]
    fn join(&mut self, name: String, member: MemberRef, ctx: &mut Context<Self>) -> Vec<Arc<str>> {
        ctx.watch(&member);
        self.show(&text(&Line::Joined { name: name.clone() }));
        self.members.push((name, member));
        self.history.iter().cloned().collect()
    }

    /// If the filter fails, the text is refused. The room waits for its answer, so that texts keep their order.
    #[handler]
    async fn say(&mut self, from: String, said: String, member: MemberRef) {
        match self.filter.actor().clean(said).await {
            Ok(said) => {
                self.said += 1;
                let line = text(&Line::Said { number: self.said, from, text: said });
                self.history.push_back(line.clone());
                if self.history.len() > HISTORY {
                    self.history.pop_front();
                }
                self.show(&line);
            }
            Err(_failed) => {
                let why = "the filter cannot read it".to_owned();
                let _gone = member.show(text(&Line::Refused { why })).tell();
            }
        }
    }

    #[watch]
    fn left(&mut self, gone: Terminated<Member>, ctx: &mut Context<Self>) {
        let Some(at) = self.members.iter().position(|(_, member)| gone.is(member.actor_ref())) else { return };
        let (name, _) = self.members.remove(at);
        self.show(&text(&Line::Left { name }));
        ctx.start_timer("empty", EMPTY, RoomMessage::Forget);
    }

    #[handler]
    fn forget(&mut self, ctx: &mut Context<Self>) {
        if self.members.is_empty() {
            ctx.passivate();
        }
    }
}

/// Reads what users write.
#[actor]
#[derive(Default)]
struct Filter;

#[actor]
impl Filter {
    #[handler]
    fn clean(&mut self, text: String) -> String {
        assert!(!text.contains("poison"), "a bug that one text brings to light");
        text.replace("darn", "d***")
    }
}

fn text(line: &Line) -> Arc<str> {
    // Strings and numbers can always be written.
    serde_json::to_string(line).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_room_too_many_is_refused_and_the_others_stay() {
        let system = ActorSystem::new("chat");
        let rooms = system.spawn("rooms", Rooms::default).unwrap();
        let first = rooms.room("room1".to_owned()).await.unwrap().unwrap();
        for number in 2..=ROOMS {
            rooms.room(format!("room{number}")).await.unwrap().unwrap();
        }
        let refused = rooms.room("another".to_owned()).await.unwrap();
        assert!(matches!(refused, Err(SpawnError::TooManyChildren { limit: ROOMS, .. })), "{refused:?}");
        assert_eq!(rooms.room("room1".to_owned()).await.unwrap().unwrap(), first);
    }
}
