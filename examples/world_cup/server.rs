//! The feed server. It serves the matches over TCP, one line each, and misbehaves.
//!
//! The seed, the question and the number of earlier requests for it determine which request goes wrong, and how. Timing does not
//! matter, with one exception: the effect of an outage on the *other* connections depends on when it happens.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::protocol::Question;
use crate::tournament::Match;

/// How long an answer takes when nothing goes wrong.
const LATENCY: Duration = Duration::from_millis(5);

/// How long a client without an answer is kept waiting, unless it closes the connection first.
const HANG: Duration = Duration::from_secs(2);

/// How long a temporary outage lasts.
const OUTAGE: Duration = Duration::from_millis(200);

/// How badly the server behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) seed: u64,
    /// How many requests go wrong, in per cent.
    pub(crate) faults: u8,
    /// How many matches the server serves before it goes down for good.
    pub(crate) dies_after: Option<u32>,
}

/// What the server does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Close the connection.
    Refuse,
    /// Say nothing.
    Hang,
    /// Stop in the middle of the line.
    Cut,
    /// Answer nonsense.
    Garbage,
    /// Close the listener and every connection, and open again later.
    GoDown,
}

/// A running server. Dropping the value ends the server.
#[derive(Debug)]
pub(crate) struct FeedServer {
    address: SocketAddr,
    running: JoinHandle<()>,
}

impl FeedServer {
    /// Starts a server for these matches on a free port of the loopback device.
    ///
    /// # Errors
    ///
    /// If no port is available.
    pub(crate) async fn start(matches: &[Match], manners: Manners) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (closing, closed) = mpsc::channel(1);
        let service = Arc::new(Service::new(matches, manners, closing)?);
        let running = tokio::spawn(serve(listener, address, service, closed));
        Ok(Self { address, running })
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for FeedServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Why the listener has to close.
#[derive(Debug)]
enum Closing {
    ForAWhile,
    ForGood,
}

/// Opens the listener, accepts clients until it has to close, and starts again.
async fn serve(
    mut listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    mut closed: mpsc::Receiver<Closing>,
) {
    loop {
        let closing = let_in(&listener, &service, &mut closed).await;
        drop(listener);
        match closing {
            Closing::ForAWhile => sleep(OUTAGE).await,
            Closing::ForGood => return,
        }
        listener = loop {
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                // An outgoing connection of another process has the port, but not for long.
                Err(_) => sleep(LATENCY).await,
            }
        };
    }
}

/// Serves clients until the listener has to close. All connections end with this future.
async fn let_in(listener: &TcpListener, service: &Arc<Service>, closed: &mut mpsc::Receiver<Closing>) -> Closing {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            Some(closing) = closed.recv() => return closing,
            Ok((stream, _)) = listener.accept() => {
                let service = Arc::clone(service);
                clients.spawn(async move { service.attend(stream).await });
            }
            Some(_) = clients.join_next() => {}
            else => sleep(LATENCY).await,
        }
    }
}

/// The state that all connections share.
struct Service {
    answers: HashMap<Question, String>,
    manners: Manners,
    tally: Mutex<Tally>,
    closing: mpsc::Sender<Closing>,
}

#[derive(Default)]
struct Tally {
    asked: HashMap<Question, u64>,
    served: u32,
}

impl Service {
    fn new(matches: &[Match], manners: Manners, closing: mpsc::Sender<Closing>) -> io::Result<Self> {
        let ids: Vec<_> = matches.iter().map(|game| game.id).collect();
        let mut answers = HashMap::from([(Question::Index, serde_json::to_string(&ids)?)]);
        for game in matches {
            answers.insert(Question::Get(game.id), serde_json::to_string(game)?);
        }
        Ok(Self { answers, manners, tally: Mutex::default(), closing })
    }

    /// Answers one client's questions until either side closes the connection. An error affects that client only.
    async fn attend(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufStream::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 0 {
            let Some(question) = Question::parse(&line) else { return Ok(()) };
            line.clear();
            sleep(LATENCY).await;
            let answer = self.answers.get(&question).map_or("null", String::as_str);
            match self.fault(question) {
                None => {
                    write(&mut stream, &[answer.as_bytes(), b"\n"]).await?;
                    if self.was_the_last(question) {
                        return self.close(Closing::ForGood).await;
                    }
                }
                Some(Fault::Garbage) => write(&mut stream, &[b"<html>502 Bad Gateway</html>\n"]).await?,
                Some(Fault::Cut) => return write(&mut stream, &[&answer.as_bytes()[..answer.len() / 2]]).await,
                Some(Fault::Refuse) => return Ok(()),
                Some(Fault::Hang) => {
                    // Anything that the client sends, or the end of its connection, ends the silence early.
                    let _ = tokio::time::timeout(HANG, stream.fill_buf()).await;
                    return Ok(());
                }
                Some(Fault::GoDown) => return self.close(Closing::ForAWhile).await,
            }
        }
        Ok(())
    }

    /// Whether this request goes wrong, and how.
    fn fault(&self, question: Question) -> Option<Fault> {
        let asked = {
            let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            let asked = tally.asked.entry(question).or_default();
            *asked += 1;
            *asked
        };
        self.manners.fault(question, asked)
    }

    /// Counts a served match. Returns whether it was the last one that will be served.
    fn was_the_last(&self, question: Question) -> bool {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        if let Question::Get(_) = question {
            tally.served += 1;
        }
        self.manners.dies_after.is_some_and(|last| tally.served >= last)
    }

    /// Makes the listener close. This ends the connection on which it is called.
    async fn close(&self, closing: Closing) -> io::Result<()> {
        let _ = self.closing.send(closing).await;
        std::future::pending().await
    }
}

async fn write(stream: &mut BufStream<TcpStream>, parts: &[&[u8]]) -> io::Result<()> {
    for part in parts {
        stream.write_all(part).await?;
    }
    stream.flush().await
}

impl Manners {
    fn fault(self, question: Question, asked: u64) -> Option<Fault> {
        let mut key = String::new();
        let _ = write!(key, "{question}/{asked}");
        let mut random = fastrand::Rng::with_seed(key.bytes().fold(self.seed, mix));
        if random.u8(0..100) >= self.faults {
            return None;
        }
        Some(match random.u8(0..20) {
            0..=4 => Fault::Refuse,
            5..=8 => Fault::Hang,
            9..=13 => Fault::Cut,
            14..=18 => Fault::Garbage,
            _ => Fault::GoDown,
        })
    }
}

/// Mixes one byte in, so that neighbouring seeds and questions give unrelated draws (FNV-1a's step).
fn mix(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Connection, FeedError};
    use crate::tournament::{MatchId, Tournament};

    const GOOD: Manners = Manners { seed: 1, faults: 0, dies_after: None };
    const BAD: Manners = Manners { faults: 100, ..GOOD };

    async fn start(manners: Manners) -> FeedServer {
        let tournament = Tournament::shipped().expect("the shipped file is readable");
        FeedServer::start(&tournament.matches, manners).await.expect("loopback has a free port")
    }

    async fn connect(server: &FeedServer) -> Connection {
        Connection::open(server.address()).await.expect("the server listens")
    }

    /// A server whose first answer to the returned question is `fault`.
    async fn server_with(fault: Fault) -> (FeedServer, Question) {
        let question = (1..=64)
            .map(|id| Question::Get(MatchId(id)))
            .find(|question| BAD.fault(*question, 1) == Some(fault))
            .expect("each fault happens to one of 64 matches");
        (start(BAD).await, question)
    }

    async fn failure(fault: Fault) -> FeedError {
        let (server, question) = server_with(fault).await;
        connect(&server).await.ask::<Match>(question).await.expect_err("the fault shows")
    }

    #[tokio::test]
    async fn a_well_behaved_server_serves_what_it_has() {
        let server = start(GOOD).await;
        let mut connection = connect(&server).await;
        let index: Vec<MatchId> = connection.ask(Question::Index).await.expect("the index");
        assert_eq!(index.len(), 64);
        for game in Tournament::shipped().expect("the shipped file is readable").matches {
            let answer: Match = connection.ask(Question::Get(game.id)).await.expect("the match");
            assert_eq!(answer, game);
        }
    }

    #[tokio::test]
    async fn a_match_that_does_not_exist_is_garbage() {
        let server = start(GOOD).await;
        let answer = connect(&server).await.ask::<Match>(Question::Get(MatchId(65))).await;
        assert!(matches!(answer, Err(FeedError::Malformed(_))), "{answer:?}");
    }

    #[tokio::test]
    async fn each_fault_shows_as_what_it_is() {
        let closed = failure(Fault::Refuse).await;
        assert_eq!(closed.cause(), "connection closed", "{closed}");
        assert_eq!(failure(Fault::Hang).await.cause(), "no answer in time");
        assert_eq!(failure(Fault::Cut).await.cause(), "answer cut off");
        assert_eq!(failure(Fault::Garbage).await.cause(), "answer is garbage");
    }

    #[tokio::test]
    async fn an_outage_refuses_everybody_and_ends() {
        let (server, question) = server_with(Fault::GoDown).await;
        let error = connect(&server).await.ask::<Match>(question).await.expect_err("the server goes down");
        assert_eq!(error.cause(), "connection closed", "{error}");
        let refused = Connection::open(server.address()).await.expect_err("nobody listens");
        assert_eq!(refused.cause(), "connection refused", "{refused}");
        while Connection::open(server.address()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_server_that_dies_stays_dead() {
        let server = start(Manners { dies_after: Some(2), ..GOOD }).await;
        let mut connection = connect(&server).await;
        for id in [1, 2] {
            let _: Match = connection.ask(Question::Get(MatchId(id))).await.expect("two matches are served");
        }
        assert!(connection.ask::<Match>(Question::Get(MatchId(3))).await.is_err());
        sleep(2 * OUTAGE).await;
        let refused = Connection::open(server.address()).await.expect_err("nobody listens");
        assert_eq!(refused.cause(), "connection refused", "{refused}");
    }

    #[test]
    fn the_seed_decides_the_faults() {
        let faults = |seed| -> Vec<_> {
            let manners = Manners { seed, faults: 30, dies_after: None };
            (1..=64).map(|id| manners.fault(Question::Get(MatchId(id)), 1)).collect()
        };
        assert_eq!(faults(1), faults(1));
        assert_ne!(faults(1), faults(2));
    }

    #[test]
    fn the_rate_is_about_what_was_asked_for() {
        let manners = Manners { seed: 5, faults: 30, dies_after: None };
        let faults = (1..=10_000).filter(|asked| manners.fault(Question::Index, *asked).is_some()).count();
        assert!((2_700..=3_300).contains(&faults), "{faults}");
    }
}
