//! The workloads, which each framework runs through a [`Client`], and the words in which a side talks to the program that measures.
//!
//! A side is one framework in a program of its own: `side-NAME server` prints `ready ADDRESS` and ends with its input;
//! `side-NAME client ADDRESS` prints `ready` and then carries out the commands that it reads. A further argument `ct` asks for a
//! current-thread runtime, and `impatient` for less patience with a silent server.
//!
//! | command | what it prints |
//! |---|---|
//! | `ask N` | the median time of N asks by one asker, in nanoseconds |
//! | `asks N` | the time of 64 askers' N asks each, divided by all asks, in nanoseconds |
//! | `tell N` | the time until the last of N told numbers has been handled, divided by N, in nanoseconds |
//! | `watch` | `watching`, and `told` when the framework says that the server is gone |

use std::env;
use std::error::Error;
use std::future::Future;
use std::io::{Read as _, stdin};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, BufReader};

/// How many askers ask at the same time.
pub const ASKERS: u64 = 64;

/// The result of a side.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A client of the server's only actor.
pub trait Client: Send + Sync + Sized + 'static {
    /// Asks for the successor of a number.
    fn ask(&self, number: u64) -> impl Future<Output = Outcome<u64>> + Send;

    /// Tells a number, and waits while the queue is full.
    fn tell(&self, number: u64) -> impl Future<Output = Outcome<()>> + Send;

    /// How many numbers have been told and their sum, after those that this client told before.
    fn told(&self) -> impl Future<Output = Outcome<(u64, u64)>> + Send;

    /// Begins to watch the server. The future that it returns resolves when the server is gone.
    fn watch(&self) -> impl Future<Output = Outcome<impl Future<Output = ()> + Send>> + Send;
}

/// What the server's only actor has been told.
#[derive(Debug, Default, Clone, Copy)]
pub struct Told {
    count: u64,
    sum: u64,
}

impl Told {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += number;
    }

    /// How many numbers there were, and their sum.
    pub fn get(self) -> (u64, u64) {
        (self.count, self.sum)
    }
}

/// Whether the side is to run on a current-thread runtime.
pub fn is_current_thread() -> bool {
    env::args().any(|argument| argument == "ct")
}

/// How long a silent server is waited for, where the framework lets a program say so.
pub fn patience() -> Duration {
    Duration::from_secs(if env::args().any(|argument| argument == "impatient") { 2 } else { 10 })
}

/// What this process is to do.
#[derive(Debug, Clone)]
pub enum Role {
    /// Listen, and serve until the input ends.
    Server,
    /// Connect to the server at this address.
    Client(String),
    /// Something that only this side can do, so many times.
    Own(String, u64),
}

/// Tells so many numbers, and waits until the last has been handled. Nothing is printed.
///
/// # Errors
///
/// If the client fails, or the server did not handle them all.
pub async fn count_told(client: &impl Client, count: u64) -> Outcome<()> {
    tell(client, count).await.map(drop)
}

/// Reads the arguments.
///
/// # Errors
///
/// If they are wrong.
pub fn role() -> Outcome<Role> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", ..] => Ok(Role::Server),
        ["client", address, ..] => Ok(Role::Client(address.to_owned())),
        [own, count] => Ok(Role::Own(own.to_owned(), count.parse()?)),
        _ => Err("usage: side-NAME server | client ADDRESS".into()),
    }
}

/// An address on loopback with a port that is free now.
///
/// # Errors
///
/// If there is none.
pub fn free_address() -> Outcome<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Blocks until the input ends.
///
/// # Errors
///
/// If it cannot be read.
pub fn until_input_ends() -> Outcome<()> {
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Carries out commands until the input ends.
///
/// # Errors
///
/// If the client fails, or the server did not do what it was asked and told.
pub async fn run<C: Client>(client: C) -> Outcome<()> {
    let client: &'static C = Box::leak(Box::new(client));
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (command, count) = line.split_once(' ').unwrap_or((&line, "0"));
        let count = count.parse()?;
        match command {
            "ask" => println!("{}", ask(client, count).await?),
            "asks" => println!("{}", asks(client, count).await?),
            "tell" => println!("{}", tell(client, count).await?),
            "watch" => {
                let gone = client.watch().await?;
                println!("watching");
                gone.await;
                println!("told");
            }
            other => return Err(format!("no command `{other}`").into()),
        }
    }
    Ok(())
}

async fn ask(client: &impl Client, count: u64) -> Outcome<u128> {
    let mut times = Vec::new();
    for number in 0..count {
        let start = Instant::now();
        let answer = client.ask(number).await?;
        times.push(start.elapsed().as_nanos());
        expect(answer, number + 1)?;
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

async fn asks<C: Client>(client: &'static C, count: u64) -> Outcome<u128> {
    let start = Instant::now();
    let askers = (0..ASKERS).map(|asker| {
        tokio::spawn(async move {
            let mut sum = 0;
            for number in 0..count {
                sum += client.ask(asker * count + number).await?;
            }
            Outcome::Ok(sum)
        })
    });
    let mut sum = 0;
    for asker in askers.collect::<Vec<_>>() {
        sum += asker.await??;
    }
    let time = start.elapsed();
    let all = ASKERS * count;
    expect(sum, all * (all + 1) / 2)?;
    Ok(time.as_nanos() / u128::from(all))
}

async fn tell(client: &impl Client, count: u64) -> Outcome<u128> {
    let before = client.told().await?;
    let start = Instant::now();
    for number in 0..count {
        client.tell(number).await?;
    }
    let after = client.told().await?;
    let time = start.elapsed();
    expect(after.0 - before.0, count)?;
    expect(after.1 - before.1, count * (count - 1) / 2)?;
    Ok(time.as_nanos() / u128::from(count))
}

fn expect(is: u64, expected: u64) -> Outcome<()> {
    if is == expected { Ok(()) } else { Err(format!("expected {expected}, got {is}").into()) }
}
