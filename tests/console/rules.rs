//! CON-11: the marked rule is the one that decided.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use supervise::console::Console;
use supervise::prelude::*;
use supervise::{ChildInfo, Directive, Event, Events, Failure, Interest};

use crate::client::{PATIENCE, said, system};

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("declined")]
    Declined,
    #[error("no line")]
    NoLine,
}

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
struct NoInk;

/// Fails in the way that it is told to.
#[actor]
struct Clerk {
    fails_to_start: bool,
}

#[actor]
impl Clerk {
    #[pre_start]
    fn begin(&mut self) -> Result<(), NoInk> {
        if self.fails_to_start { Err(NoInk) } else { Ok(()) }
    }

    #[handler]
    fn charge(&mut self, has_line: bool) -> Result<(), Refused> {
        Err(if has_line { Refused::Declined } else { Refused::NoLine })
    }

    #[handler]
    fn send(&mut self, late: bool) -> io::Result<()> {
        Err(if late { io::ErrorKind::TimedOut.into() } else { io::ErrorKind::NotFound.into() })
    }

    #[handler]
    fn stamp(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }

    #[handler]
    fn burn(&mut self) {
        panic!("as told");
    }
}

static GUARDED: AtomicU32 = AtomicU32::new(0);

fn is_late(kind: io::ErrorKind) -> bool {
    GUARDED.fetch_add(1, Ordering::Relaxed);
    kind == io::ErrorKind::TimedOut
}

fn seat(failed_starts: u32) -> impl FnMut() -> Clerk + Send + 'static {
    let mut starts = 0;
    move || {
        starts += 1;
        Clerk { fails_to_start: starts > 1 && starts <= 1 + failed_starts }
    }
}

#[actor]
#[supervise(
    on(Refused::Declined) = Resume,
    on(Refused::NoLine) = Restart,
    on(io::Error if |error| is_late(error.kind())) = Restart,
    on(io::Error) = Resume,
    on(Panic) = Restart,
    on(InitializationFailed) = Restart,
    on(_) = Restart
)]
struct Rules;

#[actor]
impl Rules {
    #[handler]
    fn clerk(
        &mut self,
        name: String,
        failed_starts: u32,
        ctx: &mut Context<Self>,
    ) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(&name, seat(failed_starts))
    }
}

/// Decides by the default table.
#[actor]
struct Plain;

#[actor]
impl Plain {
    #[handler]
    fn clerk(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", seat(0))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a decider returns a `Result`")]
fn leniently(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
    Ok(Directive::Resume)
}

#[actor]
#[supervise(decider = leniently)]
struct Function;

#[actor]
impl Function {
    #[handler]
    fn clerk(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", seat(0))
    }
}

/// Makes a clerk fail.
type Fail = fn(&ClerkRef);

async fn decided(events: &mut Events, decisions: usize) {
    let mut so_far = 0;
    while so_far < decisions {
        so_far += usize::from(matches!(events.recv().await.expect("it runs"), Event::Decided { .. }));
    }
}

#[test]
fn con_11_the_marked_rule_is_the_one_that_decided() {
    const MARK: &str = "(decided the last failure)";
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    // The console reads the events on its own thread.
    let marked = |path: &str, line: &str| {
        let request = format!("GET /text/user{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let began = Instant::now();
        loop {
            let text = said(address, request.as_bytes()).unwrap();
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.contains(&format!("{line} {MARK}")) && words.contains("Last failures:") {
                return assert_eq!(words.matches(MARK).count(), 1, "{text}");
            }
            assert!(began.elapsed() < PATIENCE, "{line} is not marked:\n{text}");
        }
    };
    runtime.block_on(async {
        let mut events = system.events().subscribe_to(Interest::FAILURES);
        let rules = system.spawn("rules", || Rules).unwrap();
        let rows: [(&str, usize, Fail); 7] = [
            ("1 Refused::Declined → Resume", 1, |clerk| clerk.charge(true).tell().unwrap()),
            ("2 Refused::NoLine → Restart", 1, |clerk| clerk.charge(false).tell().unwrap()),
            ("3 io::Error if |error| is_late(error.kind()) → Restart", 1, |clerk| {
                clerk.send(true).tell().unwrap();
            }),
            ("4 io::Error → Resume", 1, |clerk| clerk.send(false).tell().unwrap()),
            ("5 Panic → Restart", 1, |clerk| clerk.burn().tell().unwrap()),
            // It restarts, and that start fails.
            ("6 InitializationFailed → Restart", 2, |clerk| clerk.stamp().tell().unwrap()),
            ("7 anything else → Restart", 1, |clerk| clerk.stamp().tell().unwrap()),
        ];
        for (row, (line, decisions, fail)) in rows.into_iter().enumerate() {
            let failed_starts = u32::from(decisions == 2);
            let clerk = rules.clerk(format!("clerk-{row}"), failed_starts).await.unwrap();
            fail(&clerk);
            decided(&mut events, decisions).await;
            marked(&format!("/rules/clerk-{row}"), line);
        }
        assert_eq!(GUARDED.load(Ordering::Relaxed), 2, "each guard runs once");
        let clerk = system.spawn("plain", || Plain).unwrap().clerk().await.unwrap();
        clerk.stamp().tell().unwrap();
        decided(&mut events, 1).await;
        marked("/plain/clerk", "2 anything else → Restart");
        let clerk = system.spawn("function", || Function).unwrap().clerk().await.unwrap();
        clerk.stamp().tell().unwrap();
        decided(&mut events, 1).await;
        marked("/function/clerk", "1 decided by leniently");
        system.terminate().await;
    });
}
