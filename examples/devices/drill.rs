//! The server, the fleet, and the ledger.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise_examples::service::process::resident_kib;
use supervise_examples::service::{Ledger, Values, hide_bugs, say};
use tokio::process::Command;
use tokio::time::{interval, sleep, timeout};

use crate::fleet::value;
use crate::gate::{Gate, GateRef, Traffic};
use crate::registry::{Count, Registry, RegistryRef};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many file descriptors a process needs in addition to its connections.
const OTHER_FILES: u64 = 100;
/// How long the fleet may take in addition to the time of its readings.
const PATIENCE: Duration = Duration::from_secs(60);

/// The interval between two measurements of the traffic.
const LOOK: Duration = Duration::from_millis(500);

/// The table of `/user`. If the gate cannot listen, the user has chosen a wrong port.
#[supervise(on(_) = Escalate)]
struct Top;

pub(crate) async fn run(values: Values) -> Outcome<Ledger> {
    let (wanted, readings): (u64, u32) = (values.get("--devices"), values.get("--readings"));
    let devices = within_the_limit(wanted)?;
    hide_bugs();
    let own = std::process::id();
    let memory_before = resident_kib(own);

    let system = ActorSystem::builder("devices").supervised_by::<Top>().start()?;
    let most = usize::try_from(devices)?;
    let registry = system.spawn("registry", move || Registry::new(most))?;
    let (known, port) = (registry.clone(), values.get("--port"));
    let gate = system.spawn("gate", move || Gate::new(known.clone(), port, most * 2))?;
    let address = match gate.address().await {
        Ok(address) => address.ok_or("the gate is not bound")?,
        Err(error) => {
            let cause = error.failure().map_or_else(|| error.to_string(), ToString::to_string);
            return Err(format!("cannot listen on 127.0.0.1:{port}: {cause}").into());
        }
    };
    say(&format!("{devices} devices connect to {address}"));
    let began = Instant::now();
    let fleet = Command::new(std::env::current_exe()?)
        .args(["fleet".to_owned(), address.to_string(), devices.to_string(), readings.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let patience = PATIENCE + Duration::from_secs(6) * readings;
    let mut ended = pin!(timeout(patience, fleet.wait_with_output()));
    let mut looks = interval(LOOK);
    let mut peak = Peak::default();
    let output = loop {
        tokio::select! {
            output = &mut ended => break output.map_err(|_| "the fleet does not end")??,
            _ = looks.tick() => peak.look(&gate, began).await?,
        }
    };
    if !output.status.success() {
        return Err("the fleet failed".into());
    }
    let text = String::from_utf8(output.stdout)?;
    let fleet: HashMap<&str, usize> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(what, n)| Some((what, n.parse().ok()?)))
        .collect();

    let traffic = all_gone(&gate).await?;
    let left = gate_children(&system);
    let devices = u32::try_from(devices)?;
    let counts = counts(&registry, devices).await?;
    system.terminate().await;
    system.when_terminated().await?;
    Ok(ledger(&counts, readings, &fleet, &traffic, &peak, memory_before, left))
}

/// The highest number of sessions at one time.
#[derive(Default)]
struct Peak {
    looks: u32,
    sessions: usize,
    memory: u64,
}

impl Peak {
    async fn look(&mut self, gate: &GateRef, began: Instant) -> Result<(), AskError> {
        let traffic = gate.traffic().await?;
        if traffic.open() > self.sessions {
            self.sessions = traffic.open();
            self.memory = resident_kib(std::process::id());
        }
        if self.looks.is_multiple_of(6) {
            let ended: Vec<_> = traffic.ended.iter().map(|(how, times)| format!("{how} {times}")).collect();
            let ended = if ended.is_empty() { String::new() } else { format!("; ended: {}", ended.join(", ")) };
            say(&format!("{:2} s: {} sessions{ended}", began.elapsed().as_secs(), traffic.open()));
        }
        self.looks += 1;
        Ok(())
    }
}

/// Waits until the gate has heard of the end of all sessions.
async fn all_gone(gate: &GateRef) -> Outcome<Traffic> {
    let began = Instant::now();
    loop {
        let traffic = gate.traffic().await?;
        if traffic.open() == 0 || began.elapsed() > Duration::from_secs(10) {
            return Ok(traffic);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// How many actors are below the gate.
fn gate_children(system: &ActorSystem) -> usize {
    let mut children = 0;
    system.look(|actor| children += usize::from(actor.actor().path().local().starts_with("/user/gate/")));
    children
}

async fn counts(registry: &RegistryRef, devices: u32) -> Outcome<Vec<Count>> {
    let mut counts = Vec::new();
    for device in 0..devices {
        counts.push(registry.device(device).await??.count().await?);
    }
    Ok(counts)
}

fn ledger(
    counts: &[Count],
    readings: u32,
    fleet: &HashMap<&str, usize>,
    traffic: &Traffic,
    peak: &Peak,
    memory_before: u64,
    left: usize,
) -> Ledger {
    let fleet = |what| fleet.get(what).copied().unwrap_or(0);
    let mut ledger = Ledger::default();
    ledger.note("devices", counts.len());
    ledger.demand("most sessions at once", peak.sessions, "nearly all", peak.sessions * 20 >= counts.len() * 19);
    let each = peak.memory.saturating_sub(memory_before) * 1024 / (peak.sessions as u64).max(1);
    ledger.note("memory of the server for each session and its device", format!("{each} bytes"));
    ledger.note("connections accepted", traffic.accepted);
    ledger.none("connections refused", traffic.refused);

    let expected = u64::from(readings) * counts.len() as u64;
    let counted: u64 = counts.iter().map(|count| u64::from(count.last)).sum();
    ledger.demand("readings counted", counted, "all of them", counted == expected);
    let wrong = counts.iter().zip(0..).filter(|(count, device)| {
        let sum: i64 = (1..=readings).map(|number| i64::from(value(*device, number))).sum();
        (count.last, count.sum) != (readings, sum)
    });
    ledger.none("devices with a wrong sum", wrong.count());
    ledger.note(
        "readings that came twice and were counted once",
        counts.iter().map(|count| count.repeated).sum::<u32>(),
    );

    ledger.none("calm devices: connections lost", fleet("calm_hurt"));
    ledger.note("calm devices: slowest answer", format!("{} ms", fleet("slowest_answer_ms")));
    let replaced: u32 = counts.iter().map(|count| count.replaced).sum();
    for (what, did, ended) in [
        ("bad frames", fleet("garbage"), traffic.ended("bad frame")),
        ("values that panic", fleet("poison"), traffic.ended("panicked")),
    ] {
        let met = did == ended && did > 0;
        ledger.demand(format!("{what}, and sessions ended"), format!("{did}, {ended}"), "the same, not 0", met);
    }
    // On a busy machine, the server may close the old connection of a device as silent before the device comes
    // back. A device may also come back from a storm before the server notices that its connection is gone.
    let (left_open, ended) = (fleet("silent") + fleet("twin"), traffic.ended("silent") + replaced as usize);
    ledger.demand(
        "connections that a device left open, and that the server ended",
        format!("{left_open}, {ended}"),
        "all, not 0",
        (1..=ended).contains(&left_open),
    );
    ledger.some("connections broken off in the middle of a frame", fleet("cut"));
    ledger.some("connections dropped in the storms", fleet("storm"));
    ledger.note("reconnections", fleet("reconnected"));
    ledger.note("slowest reconnection", format!("{} ms", fleet("slowest_reconnection_ms")));
    ledger.none("reconnections to a server that had forgotten readings", fleet("forgotten"));
    ledger.none("silent devices disconnected too early", fleet("hasty"));
    let rare = ["deaf", "unexpected frame", "no answer from the device's actor", "refused", "otherwise"];
    ledger.none("sessions ended for another reason", rare.iter().map(|how| traffic.ended(how)).sum());
    ledger.none("sessions left", traffic.open() + left);
    ledger
}

/// How many devices the limit of open files allows. If only the soft limit is too low, this process starts itself
/// again with a higher one.
fn within_the_limit(wanted: u64) -> Outcome<u64> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let line =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")).ok_or("no limit of open files")?;
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap_or(u64::MAX));
    let (Some(soft), Some(hard)) = (numbers.next(), numbers.next()) else {
        return Err("no limit of open files".into());
    };
    // In the storms, connections that were dropped may still be there when their devices come back.
    let needed = |devices: u64| devices + devices / 2 + OTHER_FILES;
    if needed(wanted) <= soft {
        return Ok(wanted);
    }
    if soft < hard {
        let mut again = std::process::Command::new("sh");
        again.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", &needed(wanted).min(hard).to_string()]);
        return Err(again.arg(std::env::current_exe()?).args(std::env::args_os().skip(1)).exec().into());
    }
    let devices = (soft.saturating_sub(OTHER_FILES)) * 2 / 3;
    if devices < 40 {
        return Err(format!("the limit of open files, {soft}, is too low (ulimit -n)").into());
    }
    say(&format!("only {devices} of {wanted} devices, because the limit of open files is {soft} (ulimit -n)"));
    Ok(devices)
}
