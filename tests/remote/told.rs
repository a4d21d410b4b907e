//! Tells and asks of one sender, in mixtures of lengths, limits and failures: each is handled once and in its place, or is one dead
//! letter.
//!
//! Rules 26.1, 26.2, 26.7 and 26.11.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use fastrand::Rng;
use supervise::remote::memory::Network;
use supervise::{AskError, Context, DeadLetter, Event, actor};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::fixture::{Picky, Place, drain, settle, soon};

/// An actor that notes the numbers that it gets, and ends when it gets the last one.
macro_rules! sink {
    ($name:ident, $actor:meta, $burst:ident) => {
        #[$actor]
        pub(crate) struct $name {
            log: UnboundedSender<u64>,
            last: u64,
        }

        #[actor(remote)]
        impl $name {
            #[handler]
            async fn put(&mut self, number: u64, value: Picky, padding: String, ctx: &mut Context<Self>) -> u64 {
                assert_eq!(value, Picky::Fine);
                self.log.send(number).unwrap();
                if number % 7 == 0 {
                    tokio::time::sleep(Duration::from_millis(padding.len() as u64 % 5)).await;
                }
                if number >= self.last {
                    ctx.stop_self();
                }
                number
            }
        }

        async fn $burst(random: &mut Rng, mixture: &Mixture, [here, there]: [&mut Place; 2]) -> Outcome {
            let (mut letters, mut refused) = (Vec::new(), 0);
            let (log, mut got) = unbounded_channel();
            let last = mixture.last;
            there.system.spawn("sink", move || $name { log: log.clone(), last }).unwrap();
            let sink = soon(here.node.find::<$name>(there.path("sink"))).await.unwrap();
            let mut asks = JoinSet::new();
            for number in 0..MESSAGES {
                let (value, padding) = (mixture.value(random), mixture.padding(random));
                if random.u8(..4) == 0 {
                    let asked = sink.clone();
                    let mut ask = Box::pin(async move { asked.put(number, value, padding).await });
                    let now = poll_fn(|cx| Poll::Ready(ask.as_mut().poll(cx))).await;
                    match now {
                        Poll::Pending => drop(asks.spawn(async move { (number, ask.await) })),
                        // The sender got the message back, so it does not become a dead letter.
                        Poll::Ready(Err(AskError::MailboxFull)) => refused += 1,
                        Poll::Ready(Err(AskError::Stopped)) => {}
                        Poll::Ready(answer) => panic!("{number}: {answer:?}"),
                    }
                } else {
                    let mut send = pin!(sink.put(number, value, padding).send());
                    let _lost_because_the_actor_has_ended = soon(send.as_mut()).await;
                }
                // The events of a system wait in a buffer of limited size.
                letters.extend([here.dead_letters(), there.dead_letters()].concat());
                if random.u8(..20) == 0 {
                    tokio::time::sleep(Duration::from_millis(random.u64(..10))).await;
                }
            }
            let mut answered = Vec::new();
            while let Some(asked) = soon(asks.join_next()).await {
                let (number, answer) = asked.unwrap();
                match answer {
                    Ok(answer) => {
                        assert_eq!(answer, number);
                        answered.push(number);
                    }
                    Err(AskError::Timeout(_)) => panic!("{number} has no answer: {mixture:?}"),
                    Err(_) => {}
                }
            }
            settle().await;
            settle().await;
            let got = drain(&mut got);
            assert!(answered.iter().all(|number| got.contains(number)), "{mixture:?}");
            sink.actor_ref().stop();
            settle().await;
            letters.extend([here.dead_letters(), there.dead_letters()].concat());
            Outcome { got, letters, refused }
        }
    };
}

sink!(Wide, actor, burst_of_wide);
sink!(Narrow, actor(mailbox = bounded(3)), burst_of_narrow);

/// The numbers that were handled, and the dead letters of both nodes.
struct Outcome {
    got: Vec<u64>,
    letters: Vec<DeadLetter>,
    /// How many asks a full ref refused.
    refused: usize,
}

const MESSAGES: u64 = 400;

#[derive(Debug)]
struct Mixture {
    window: u64,
    message: usize,
    limit: usize,
    /// The share of messages whose value cannot be written or read.
    faults: f64,
    last: u64,
}

impl Mixture {
    fn new(random: &mut Rng) -> Self {
        Self {
            window: [256, 300, 700, 4096, 20_000, 1 << 20][random.usize(..6)],
            message: [150, 1000, 30_000][random.usize(..3)],
            limit: [3, 10, 1000][random.usize(..3)],
            faults: [0.0, 0.1, 0.7][random.usize(..3)],
            last: if random.bool() { u64::MAX } else { random.u64(..MESSAGES) },
        }
    }

    fn value(&self, random: &mut Rng) -> Picky {
        if random.f64() >= self.faults {
            return Picky::Fine;
        }
        [Picky::CannotBeWritten, Picky::PanicsWhenWritten, Picky::PanicsWhenRead][random.usize(..3)]
    }

    fn padding(&self, random: &mut Rng) -> String {
        let length = match random.u8(..10) {
            0..5 => random.usize(..20),
            5..8 => random.usize(110..135),
            8 => random.usize(..self.message),
            _ => self.message - 12 + random.usize(..20),
        };
        "x".repeat(length)
    }
}

#[tokio::test(start_paused = true)]
async fn rem_67_each_message_of_a_mixture_is_handled_in_its_place_or_is_one_dead_letter() {
    let (mut handled, mut lost) = (0, 0);
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let (network, mixture) = (Network::new(seed), Mixture::new(&mut random));
        let Mixture { window, message, limit, .. } = mixture;
        let settings = |builder: supervise::remote::NodeBuilder| {
            builder.window(window).max_message(message).limit(limit).serve::<Wide>().serve::<Narrow>()
        };
        let mut here = Place::with(&network, "here", settings).await;
        let mut there = Place::with(&network, "there", settings).await;
        let mut events = here.system.events().subscribe();
        settle().await;
        let places = [&mut here, &mut there];
        let Outcome { got, letters, refused } = if random.bool() {
            burst_of_wide(&mut random, &mixture, places).await
        } else {
            burst_of_narrow(&mut random, &mixture, places).await
        };
        assert!(got.is_sorted_by(|one, other| one < other), "seed {seed}: {mixture:?}: {got:?}");
        let names: Vec<_> = letters.iter().filter(|letter| letter.message != "Put").collect();
        assert!(names.is_empty(), "seed {seed}: {mixture:?}: {names:?}");
        assert_eq!((got.len() + letters.len() + refused) as u64, MESSAGES, "seed {seed}: {mixture:?}");
        let downs =
            std::iter::from_fn(|| events.try_recv()).filter(|event| matches!(event, Event::NodeDown { .. }));
        assert_eq!(downs.count(), 0, "seed {seed}: {mixture:?}");
        (handled, lost) = (handled + got.len(), lost + letters.len());
    }
    assert!(handled > 5_000 && lost > 1_000, "{handled} handled, {lost} lost");
}

/// Full actors and full windows on both sides, while what one side says keeps the other waiting.
#[tokio::test(start_paused = true)]
async fn rem_67_two_floods_towards_each_other_through_small_windows_both_arrive() {
    for (window, limit) in [(256, 1), (256, 10), (1000, 3), (1 << 20, 1000)] {
        let network = Network::new(67);
        let settings = |builder: supervise::remote::NodeBuilder| {
            builder.window(window).max_message(1000).limit(limit).serve::<Narrow>()
        };
        let (here, there) =
            (Place::with(&network, "here", settings).await, Place::with(&network, "there", settings).await);
        let mut floods = JoinSet::new();
        let mut logs = Vec::new();
        for (from, to) in [(&here, &there), (&there, &here)] {
            let (log, got) = unbounded_channel();
            to.system.spawn("sink", move || Narrow { log: log.clone(), last: u64::MAX }).unwrap();
            let sink = soon(from.node.find::<Narrow>(to.path("sink"))).await.unwrap();
            logs.push(got);
            floods.spawn(async move {
                for number in 0..MESSAGES {
                    let padding = "x".repeat(usize::try_from(number * 37 % 900).unwrap());
                    sink.put(number, Picky::Fine, padding).send().await.unwrap();
                }
                sink.put(MESSAGES, Picky::Fine, String::new()).when_room().await.unwrap();
            });
        }
        while let Some(flood) = soon(floods.join_next()).await {
            flood.unwrap();
        }
        for got in &mut logs {
            assert!(drain(got).into_iter().eq(0..=MESSAGES), "window {window}, limit {limit}");
        }
    }
}
