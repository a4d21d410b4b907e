//! A World Cup's tables: so far the facts, the plain fold and the feed server, without actors.

mod connection;
mod options;
mod protocol;
mod record;
mod server;
mod table;
mod tournament;

fn main() {
    println!("{}", options::USAGE);
}
