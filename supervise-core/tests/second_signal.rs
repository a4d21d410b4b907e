//! A second signal ends the process at once. The process that gets the signals is this program, started again.

#![cfg(unix)]

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use supervise_core::{ActorSystem, Phase};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Set for the process that gets the signals.
const VICTIM: &str = "SUPERVISE_SECOND_SIGNAL";

/// Rule 16.2.
#[test]
fn a_second_signal_ends_the_process_at_once() {
    if std::env::var_os(VICTIM).is_some() {
        return be_the_victim();
    }
    for (signal, name, code) in [("-TERM", "SIGTERM", 143), ("-INT", "SIGINT", 130)] {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_second_signal_ends_the_process_at_once", "--nocapture"])
            .env(VICTIM, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
        for waits_for in ["listening", "shutting down"] {
            assert!(said.any(|line| line.contains(waits_for)), "it says that it is {waits_for}");
            let sent = Command::new("kill").args([signal, &victim.id().to_string()]).status();
            assert!(sent.unwrap().success());
        }
        assert_eq!(victim.wait().unwrap().code(), Some(code));
        let mut log = String::new();
        victim.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(log.contains(&format!("ERROR {name} again")), "{log}");
    }
}

/// Shuts down for ever, in a task that blocks the only thread of the runtime.
fn be_the_victim() {
    tracing::subscriber::set_global_default(Print).unwrap();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let system = ActorSystem::new("victim");
        system.shutdown_on_signal().unwrap();
        let shutdown = system.coordinated_shutdown();
        shutdown
            .add_task(Phase::SERVICE_UNBIND, "block", async {
                println!("shutting down");
                loop {
                    std::thread::park();
                }
                #[expect(unreachable_code, reason = "says what a task gives")]
                Ok::<(), std::fmt::Error>(())
            })
            .unwrap();
        println!("listening");
        system.when_terminated().await.unwrap();
    });
}

/// Prints what is logged.
struct Print;

impl Subscriber for Print {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Line;
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "message" {
                    eprint!(" {value:?}");
                }
            }
        }
        eprint!("{}", event.metadata().level());
        event.record(&mut Line);
        eprintln!();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
