//! The simulated devices, in a process of their own.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use supervise_examples::service::say;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt as _;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Encoder as _, FramedRead};

use crate::protocol::{Codec, Frame, FrameError};
use crate::session::{POISON, SILENCE};

/// How many devices connect at a time in the beginning. In the storms, more connect at once.
const AT_A_TIME: usize = 200;
/// The interval between two readings. There is a heartbeat between them.
const INTERVAL: Duration = Duration::from_secs(3);
/// How long after all devices have connected the stormy ones drop their connections, all at once.
const STORMS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];
/// How long a device waits for an answer. If many connect at once, the kernel tries again after 1, 3, 7 and 15 s.
const PATIENCE: Duration = Duration::from_secs(40);

/// How a device behaves. Half of all devices are calm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Never misbehaves. It must not notice the others.
    Calm,
    /// Drops its connection together with all others of its kind, and reconnects.
    Stormy,
    /// Sends bytes that are not a frame.
    Garbage,
    /// Sends the value that makes its session panic.
    Poison,
    /// Falls silent and keeps its connection open.
    Silent,
    /// Breaks off in the middle of a frame.
    Cut,
    /// Comes back while its old connection is still open, as after a loss of power.
    Twin,
}

impl Manner {
    fn of(device: u32) -> Self {
        match device % 20 {
            0 => Self::Garbage,
            1 => Self::Poison,
            2 => Self::Silent,
            3 => Self::Cut,
            4 => Self::Twin,
            5..=9 => Self::Stormy,
            _ => Self::Calm,
        }
    }
}

/// The value of a device's reading.
pub(crate) fn value(device: u32, number: u32) -> i32 {
    let mixed = device.wrapping_mul(0x9e37_79b9).rotate_left(number % 32) ^ number;
    i32::try_from(mixed % 2001).map_or(0, |value| value - 1000)
}

/// Counts of what the devices did and saw, by name.
#[derive(Debug, Clone, Default)]
struct Book(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Book {
    /// Counts, and returns how many there are now.
    fn add(&self, what: &'static str) -> u64 {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = book.entry(what).or_default();
        *count += 1;
        *count
    }

    fn longest(&self, what: &'static str, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = book.entry(what).or_default();
        *longest = millis.max(*longest);
    }
}

/// Runs `DEVICES` devices that send `READINGS` readings each to the server at `ADDRESS`. Then it prints its counts.
pub(crate) async fn run(arguments: impl Iterator<Item = OsString>) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = arguments.filter_map(|argument| argument.into_string().ok()).collect();
    let [address, devices, readings] = arguments.as_slice() else {
        return Err("expected `fleet ADDRESS DEVICES READINGS`".into());
    };
    let (server, devices, readings) = (address.parse()?, devices.parse()?, readings.parse()?);
    let book = Book::default();
    let (storm, storms) = watch::channel(0);
    let (announce, mut all_here) = watch::channel(false);
    let arrivals =
        Arc::new(Arrivals { places: Semaphore::new(AT_A_TIME), missing: AtomicU32::new(devices), announce });
    let mut running = JoinSet::new();
    for number in 0..devices {
        let device = Device {
            number,
            manner: Manner::of(number),
            server,
            readings,
            book: book.clone(),
            storms: storms.clone(),
            arrivals: arrivals.clone(),
            all_here: all_here.clone(),
            misbehaves_at: readings / 2,
            connected_before: false,
        };
        running.spawn(device.live());
    }
    tokio::spawn(async move {
        drop(all_here.wait_for(|all| *all).await);
        let began = Instant::now();
        for moment in STORMS {
            sleep(moment.saturating_sub(began.elapsed())).await;
            storm.send_modify(|storms| *storms += 1);
        }
        storm.closed().await;
    });
    while running.join_next().await.transpose()?.is_some() {}
    for (what, count) in &*book.0.lock().unwrap_or_else(PoisonError::into_inner) {
        say(&format!("{what} {count}"));
    }
    Ok(())
}

/// The beginning of a run: devices connect, and wait until all have connected.
struct Arrivals {
    places: Semaphore,
    missing: AtomicU32,
    announce: watch::Sender<bool>,
}

struct Device {
    number: u32,
    manner: Manner,
    server: SocketAddr,
    readings: u32,
    book: Book,
    storms: watch::Receiver<u32>,
    arrivals: Arc<Arrivals>,
    all_here: watch::Receiver<bool>,
    /// After how many readings the device misbehaves once.
    misbehaves_at: u32,
    connected_before: bool,
}

/// Why a connection ended before the device was done.
#[derive(Debug)]
enum Left {
    /// The device closed it.
    OnPurpose,
    /// The server closed it, or the network failed.
    Broken(String),
}

impl From<FrameError> for Left {
    fn from(error: FrameError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Device {
    async fn live(mut self) {
        loop {
            match self.visit().await {
                Ok(()) => return,
                Err(Left::OnPurpose) => {}
                Err(Left::Broken(why)) => {
                    if self.manner == Manner::Calm && self.book.add("calm_hurt") <= 5 {
                        eprintln!("the calm device {} lost its connection: {why}", self.number);
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Connects, and stays until all readings are counted.
    async fn visit(&mut self) -> Result<(), Left> {
        let (mut line, mut last) = self.arrive().await?;
        self.storms.mark_unchanged();
        while last < self.readings {
            if last == self.misbehaves_at {
                // Once.
                self.misbehaves_at = u32::MAX;
                line = self.misbehave(line, last).await?;
            }
            let asked = Instant::now();
            let reading = Frame::Reading { number: last + 1, value: value(self.number, last + 1) };
            line.send(reading).await?;
            line.expect(&Frame::Counted { number: last + 1 }).await?;
            last += 1;
            if self.manner == Manner::Calm {
                self.book.longest("slowest_answer_ms", asked.elapsed());
            }
            self.pause().await?;
            line.send(Frame::Heartbeat).await?;
            self.pause().await?;
        }
        Ok(())
    }

    /// Connects. The first time, it then waits until all devices are there, and up to an interval more.
    async fn arrive(&mut self) -> Result<(Line, u32), Left> {
        if self.connected_before {
            let began = Instant::now();
            let arrived = self.connect().await?;
            self.book.add("reconnected");
            self.book.longest("slowest_reconnection_ms", began.elapsed());
            return Ok(arrived);
        }
        let (mut line, last) = {
            let _place = self.arrivals.places.acquire().await;
            self.connect().await?
        };
        self.connected_before = true;
        if self.arrivals.missing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.arrivals.announce.send_replace(true);
        }
        while timeout(INTERVAL, self.all_here.wait_for(|all| *all)).await.is_err() {
            line.send(Frame::Heartbeat).await?;
        }
        sleep(INTERVAL.mul_f64(fastrand::f64())).await;
        Ok((line, last))
    }

    async fn connect(&self) -> Result<(Line, u32), Left> {
        let socket = timeout(PATIENCE, TcpStream::connect(self.server)).await;
        let socket = socket.map_err(|_| Left::Broken("no connection in time".to_owned()))?;
        let mut line = Line(FramedRead::new(socket.map_err(FrameError::from)?, Codec));
        line.send(Frame::Hello { device: self.number }).await?;
        match line.receive().await? {
            Frame::Welcome { last } => Ok((line, last)),
            frame => Err(Left::Broken(format!("{frame:?} instead of a welcome"))),
        }
    }

    /// Half an interval, unless a storm comes.
    async fn pause(&mut self) -> Result<(), Left> {
        if self.manner != Manner::Stormy {
            sleep(INTERVAL / 2).await;
            return Ok(());
        }
        match timeout(INTERVAL / 2, self.storms.changed()).await {
            Ok(Ok(())) => {
                self.book.add("storm");
                Err(Left::OnPurpose)
            }
            Ok(Err(_no_more_storms)) => {
                sleep(INTERVAL / 2).await;
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    async fn misbehave(&mut self, mut line: Line, last: u32) -> Result<Line, Left> {
        match self.manner {
            Manner::Calm | Manner::Stormy => return Ok(line),
            Manner::Garbage => {
                let bytes: &[u8] = match self.number / 20 % 3 {
                    0 => &[0xff; 64],
                    1 => &[0, 2, 0x63, 0xaa ^ 0x63],
                    _ => &[0, 2, 0, 0],
                };
                line.0.get_mut().write_all(bytes).await.map_err(FrameError::from)?;
                line.closed().await?;
                self.book.add("garbage");
            }
            Manner::Poison => {
                line.send(Frame::Reading { number: last + 1, value: POISON }).await?;
                line.closed().await?;
                self.book.add("poison");
            }
            Manner::Silent => {
                let silent = Instant::now();
                line.closed().await?;
                self.book.add(if silent.elapsed() + Duration::from_secs(2) < SILENCE {
                    "hasty"
                } else {
                    "silent"
                });
            }
            Manner::Cut => {
                line.0.get_mut().write_all(&[0, 10, 3, 0]).await.map_err(FrameError::from)?;
                // The server gets a reset instead of an orderly close.
                let _orderly_end = line.0.get_ref().set_zero_linger();
                self.book.add("cut");
            }
            Manner::Twin => {
                let (newer, at) = self.connect().await?;
                line.closed().await?;
                self.book.add(if at == last { "twin" } else { "forgotten" });
                return Ok(newer);
            }
        }
        Err(Left::OnPurpose)
    }
}

/// A connection.
struct Line(FramedRead<TcpStream, Codec>);

impl Line {
    async fn send(&mut self, frame: Frame) -> Result<(), FrameError> {
        let mut bytes = BytesMut::new();
        Codec.encode(frame, &mut bytes)?;
        Ok(self.0.get_mut().write_all(&bytes).await?)
    }

    async fn receive(&mut self) -> Result<Frame, Left> {
        match timeout(PATIENCE, self.0.next()).await {
            Ok(Some(Ok(frame))) => Ok(frame),
            Ok(Some(Err(error))) => Err(error.into()),
            Ok(None) => Err(Left::Broken("the server closed the connection".to_owned())),
            Err(_) => Err(Left::Broken("no answer in time".to_owned())),
        }
    }

    async fn expect(&mut self, frame: &Frame) -> Result<(), Left> {
        let received = self.receive().await?;
        if received == *frame { Ok(()) } else { Err(Left::Broken(format!("{received:?} instead of {frame:?}"))) }
    }

    /// Waits until the server closes the connection.
    async fn closed(&mut self) -> Result<(), Left> {
        match timeout(PATIENCE, self.0.next()).await {
            Ok(None | Some(Err(FrameError::Broken(_)))) => Ok(()),
            _ => Err(Left::Broken("the server does not close the connection".to_owned())),
        }
    }
}
