//! A slot is answered once, with the type that it names, by a reply that can travel.

use std::rc::Rc;

use supervise::prelude::*;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn twice(&mut self, reply: ReplyTo<u32>) {
        reply.answer(1);
        reply.answer(2);
    }

    #[handler]
    fn other_type(&mut self, reply: ReplyTo<u32>) {
        reply.answer("text");
    }

    #[handler]
    fn handed_on(&mut self, reply: ReplyTo<u32>, ctx: &mut Context<Self>) {
        ctx.me().text().reply_to(reply);
    }

    #[handler]
    fn text(&self) -> String {
        String::new()
    }
}

#[actor]
struct Local;

#[actor]
impl Local {
    #[handler]
    fn shared(&mut self, reply: ReplyTo<Rc<u32>>) {
        drop(reply);
    }
}

fn main() {}
