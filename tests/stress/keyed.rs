//! Keyed children are passivated, restarted and requested at random while many senders send to them. Every message is
//! handled once, in order for each sender and key, and a key never has two children at once.
//!
//! Rules 18.2, 18.3, 18.4 and 18.5.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use supervise::prelude::*;
use supervise::{Event, MailboxKind, Overflow};
use tokio::runtime::Runtime;

const KEYS: usize = 24;
const SENDERS: usize = 6;
const MESSAGES: u64 = 3_000;

/// So short that some accounts are idle from time to time.
const OFTEN_IDLE: Duration = Duration::from_millis(4);

/// State that outlives the children of a key.
struct Book {
    there: AtomicBool,
    /// The last number handled, and how many were, for each sender.
    handled: [Mutex<(u64, u64)>; SENDERS],
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
struct Account {
    book: Arc<Book>,
    lives: Arc<AtomicU64>,
}

#[actor]
impl Account {
    #[pre_start]
    fn come(&self) {
        assert!(!self.book.there.swap(true, Ordering::SeqCst), "two children of one key");
        self.lives.fetch_add(1, Ordering::Relaxed);
    }

    #[post_stop]
    async fn go(&self) {
        tokio::task::yield_now().await;
        assert!(self.book.there.swap(false, Ordering::SeqCst), "it goes once");
    }

    #[handler]
    fn put(&mut self, sender: usize, number: u64) -> u64 {
        let mut handled = self.book.handled[sender].lock().unwrap();
        assert!(number > handled.0, "message {number} of sender {sender} after {}", handled.0);
        *handled = (number, handled.1 + 1);
        number
    }

    #[handler]
    fn fail(&self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    #[handler]
    fn leave(&self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[handler]
    fn flush(&self) {}
}

/// A key as a number is shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Number(usize);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Bank {
    books: Arc<Vec<Arc<Book>>>,
    lives: Arc<AtomicU64>,
    mailbox: MailboxKind,
    idle: Duration,
    accounts: Children<Number, Account>,
}

#[actor]
impl Bank {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let (books, lives) = (Arc::clone(&self.books), Arc::clone(&self.lives));
        let accounts = Children::of(move |number: &Number| Account {
            book: Arc::clone(&books[number.0]),
            lives: Arc::clone(&lives),
        });
        self.accounts = accounts.idle(self.idle).mailbox(self.mailbox).spawn(ctx, "accounts")?;
        Ok(())
    }

    #[handler]
    fn accounts(&self) -> Children<Number, Account> {
        self.accounts.clone()
    }
}

/// A bank and its accounts.
async fn open(
    system: &ActorSystem,
    books: &Arc<Vec<Arc<Book>>>,
    lives: &Arc<AtomicU64>,
    mailbox: MailboxKind,
    idle: Duration,
) -> Children<Number, Account> {
    let (books, lives) = (Arc::clone(books), Arc::clone(lives));
    let bank = system.spawn("bank", move || Bank {
        books: Arc::clone(&books),
        lives: Arc::clone(&lives),
        mailbox,
        idle,
        accounts: Children::default(),
    });
    bank.unwrap().accounts().await.unwrap()
}

fn new_books(number: usize) -> Arc<Vec<Arc<Book>>> {
    let book = || Arc::new(Book { there: AtomicBool::new(false), handled: Default::default() });
    Arc::new((0..number).map(|_| book()).collect())
}

fn threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap()
}

fn every_message_is_handled_once_and_in_order(mailbox: MailboxKind, seed: u64) {
    threads().block_on(async {
        let system = ActorSystem::new("bank");
        let mut events = system.events().subscribe();
        let (books, lives) = (new_books(KEYS), Arc::new(AtomicU64::new(0)));
        let accounts = open(&system, &books, &lives, mailbox, OFTEN_IDLE).await;

        let done = Arc::new(AtomicBool::new(false));
        let chaos = tokio::spawn({
            let (accounts, done) = (accounts.clone(), Arc::clone(&done));
            let mut random = fastrand::Rng::with_seed(seed);
            async move {
                while !done.load(Ordering::Relaxed) {
                    let number = Number(random.usize(..KEYS));
                    match random.u32(..3) {
                        0 => accounts.passivate(&number),
                        1 => drop(accounts.get_or_spawn(number).unwrap().fail().tell()),
                        _ => drop(accounts.get_or_spawn(number).unwrap().leave().tell()),
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let accounts = accounts.clone();
                let mut random = fastrand::Rng::with_seed(seed + 1 + sender as u64);
                tokio::spawn(async move {
                    let mut kept: Vec<Option<AccountRef>> = vec![None; KEYS];
                    let mut sent = vec![0; KEYS];
                    for number in 1..=MESSAGES {
                        let key = random.usize(..KEYS);
                        if random.u32(..16) == 0 {
                            accounts.passivate(&Number(random.usize(..KEYS)));
                        }
                        let to = match &kept[key] {
                            Some(kept) if random.u32(..10) > 0 => kept.clone(),
                            _ => accounts.get_or_spawn(Number(key)).unwrap(),
                        };
                        match random.u32(..8) {
                            0 => match to.put(sender, number).await {
                                Ok(handled) => assert_eq!(handled, number),
                                Err(AskError::MailboxFull) => continue,
                                Err(error) => panic!("{error}"),
                            },
                            _ => to.put(sender, number).send().await.unwrap(),
                        }
                        kept[key] = Some(to);
                        sent[key] += 1;
                    }
                    sent
                })
            })
            .collect();
        let mut sent = Vec::new();
        for sender in senders {
            sent.push(sender.await.unwrap());
        }
        done.store(true, Ordering::Relaxed);
        chaos.await.unwrap();
        for key in 0..KEYS {
            while let Err(error) = accounts.get_or_spawn(Number(key)).unwrap().flush().await {
                assert!(matches!(error, AskError::MailboxFull), "{error}");
                tokio::task::yield_now().await;
            }
        }
        let mut lost = Vec::new();
        for (sender, sent) in sent.iter().enumerate() {
            for (key, sent) in sent.iter().enumerate() {
                let handled = books[key].handled[sender].lock().unwrap().1;
                if handled != *sent {
                    lost.push((key, sender, *sent, handled));
                }
            }
        }
        let mut refused = 0;
        while let Some(event) = events.try_recv() {
            refused += u64::from(matches!(event, Event::DeadLetter(letter) if letter.message == "Put"));
        }
        assert!(lost.is_empty(), "(key, sender, sent, handled): {lost:?}; {refused} dead letters; seed {seed}");
        let lives = lives.load(Ordering::Relaxed);
        assert!(lives > 10 * KEYS as u64, "hardly anybody left: {lives} lives");
        system.terminate().await;
        assert!(books.iter().all(|book| !book.there.load(Ordering::SeqCst)), "all are gone");
    });
}

#[test]
fn key_05_no_message_is_lost_while_children_come_and_go() {
    every_message_is_handled_once_and_in_order(MailboxKind::Unbounded, fastrand::u64(..1_000_000));
}

#[test]
fn key_11_no_message_is_lost_while_children_with_little_room_come_and_go() {
    let mailbox = MailboxKind::Bounded { capacity: 3, overflow: Overflow::Fail };
    every_message_is_handled_once_and_in_order(mailbox, fastrand::u64(..1_000_000));
}

/// Rule 18.1.
#[test]
fn key_01_all_who_ask_for_a_new_key_at_once_get_the_same_child() {
    const ROUNDS: usize = 2_000;
    let runtime = threads();
    let system = runtime.block_on(async { ActorSystem::new("bank") });
    let accounts = runtime.block_on(open(
        &system,
        &new_books(ROUNDS),
        &Arc::default(),
        MailboxKind::Unbounded,
        Duration::MAX,
    ));
    let start = Barrier::new(4);
    let found: Vec<Vec<AccountRef>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let ask = |key| {
                        start.wait();
                        accounts.get_or_spawn(Number(key)).unwrap()
                    };
                    (0..ROUNDS).map(ask).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found[1..].iter().all(|others| *others == found[0]), "two children of one key");
    runtime.block_on(system.terminate());
}

/// Rules 6.6, 18.8.
#[test]
fn key_13_every_ask_resolves_when_the_runtime_goes_away() {
    for _ in 0..20 {
        let runtime = threads();
        let answers: Vec<_> = runtime.block_on(async {
            let system = ActorSystem::new("bank");
            let accounts =
                open(&system, &new_books(200), &Arc::default(), MailboxKind::Unbounded, OFTEN_IDLE).await;
            let ask = |key| {
                let account = accounts.get_or_spawn(Number(key)).unwrap();
                accounts.passivate(&Number(key));
                let answer = account.put(0, 1).ask().unwrap();
                (account, answer)
            };
            (0..200).map(ask).collect()
        });
        runtime.shutdown_background();
        let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        waiting.block_on(async {
            for (account, answer) in answers {
                let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
                let answer = answer.expect("it resolves");
                assert!(matches!(answer, Ok(1) | Err(AskError::Stopped)), "{answer:?} of {account}");
            }
        });
    }
}
